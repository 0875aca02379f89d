#!/usr/bin/env node
// `perp`: perpetual-futures market data in the terminal.
import { EXIT } from './exit.ts';
import { stopAtSignals } from './interrupts.ts';
import { runPerp } from './program.ts';

const { env, stdin: input, stdout: out, stderr: err } = process;
const signal = stopAtSignals({ on: (name, act) => process.on(name, act), exit: (code) => process.exit(code) }, () =>
  performance.now(),
);
// The reader of the output may close it early: `perp stream | head`. Anything else, such as a full disk, loses rows.
out.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') err.write(`Standard output cannot be written: ${error.message}\n`);
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.usage);
});
// Nobody reads what is told; the output and the exit code are as they are.
err.on('error', () => undefined);

const code = await runPerp(process.argv.slice(2), { env, input, out, err, signal });
// What an interrupted run still waits for is not waited for.
if (code === EXIT.interrupted) process.exit(code);
process.exitCode = code;
