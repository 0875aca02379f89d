#!/usr/bin/env node
// `perp`: perpetual-futures market data in the terminal.
import { EXIT } from './exit.ts';
import { runPerp } from './program.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)));
// The reader of the output may close it early: `perp stream | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const { env, stdin: input, stdout: out, stderr: err } = process;
const code = await runPerp(process.argv.slice(2), { env, input, out, err, signal: stop.signal });
// What an interrupted run still waits for is not waited for.
if (code === EXIT.interrupted) process.exit(code);
process.exitCode = code;
