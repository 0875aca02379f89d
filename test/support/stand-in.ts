/** Replaces the service behind `npm run demo`: three small processes under the supervisor of the real one, one of them slow to start. */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { openDataDir } from '../../infra/dev/engines/data-dir.ts';
import { createSupervisor, type ProcessSpec } from '../../infra/dev/engines/supervisor.ts';
import { createProgress } from '../../infra/dev/local/progress.ts';
import { runUntilStopped } from '../../infra/dev/local/until-stopped.ts';

/** Records the request to stop and, some work later, its end. */
const CHILD = `
  const { appendFileSync } = require('node:fs');
  const [file, name] = process.argv.slice(1);
  const write = (what) => appendFileSync(file, name + ' ' + what + '\\n');
  process.on('SIGTERM', () => {
    write('stops');
    setTimeout(() => { write('ended'); process.exit(0); }, 100);
  });
  setInterval(() => {}, 1000);
  write('runs');
`;

const { STAND_IN_DIR: dir = '' } = process.env;
const events = join(dir, 'events');
const progress = createProgress((text) => process.stdout.write(text));

runUntilStopped(progress, async (signal) => {
  const dataDir = await openDataDir(dir, progress.print);
  const supervisor = createSupervisor(dataDir, progress.print);
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    dataDir.release();
  };
  signal.addEventListener('abort', () => void supervisor.stop());
  appendFileSync(events, `stand-in ${process.pid}\n`);
  try {
    for (const name of ['engine', 'collector', 'server']) await supervisor.start(makeSpec(name));
  } catch (error) {
    await stop();
    throw error;
  }
  appendFileSync(events, 'all run\n');
  return stop;
});

function makeSpec(name: string): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: ['-e', CHILD, events, name],
    readyTimeoutMs: 600_000,
    // The last one is ready once the test allows it: until then the start continues.
    isReady: async () => name !== 'server' || existsSync(join(dir, 'go')),
  };
}
