// Ends the supervised processes in order when their supervisor is gone, for any cause (kill -9 included): its stdin closes then.
// Lines read: a record of a process that runs, or `{"name": …, "run": null}` for one that has ended. It needs no file: the folder may be gone.
import { createInterface } from 'node:readline';
import { endInOrder, type RunRecord } from './process-identity.ts';

const runs = new Map<string, RunRecord>();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { name, run } = JSON.parse(line) as { name: string; run: RunRecord | null };
  if (run === null) runs.delete(name);
  else runs.set(name, run);
});
lines.on('close', () => void endInOrder([...runs.values()]));
