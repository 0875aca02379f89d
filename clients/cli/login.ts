// `perp login` and `perp logout`: the key in the file of the settings.
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { createClient } from '../typescript/src/index.ts';
import { UsageError } from './exit.ts';
import { waitUnlessStopped } from './interrupts.ts';
import { cleanText } from './output.ts';
import type { Run } from './run.ts';
import { removeConfig, writeConfig } from './settings.ts';

/** Typed without being shown; a pipe gives its text. */
const readKey = async ({ world }: Run): Promise<string> => {
  const { input, err } = world;
  if (input.isTTY !== true) return (await readAll(input)).trim();
  err.write('API key: ');
  const lines = createInterface({ input, terminal: true });
  try {
    return await new Promise((resolve) => {
      lines.once('line', (line) => resolve(line.trim()));
      // Ctrl-C, or the end of the input.
      lines.once('close', () => resolve(''));
    });
  } finally {
    lines.close();
    err.write('\n');
  }
};

/** The key is tried before it is kept. */
export const logIn = async (run: Run): Promise<void> => {
  const { world, settings } = run;
  const key = await waitUnlessStopped(world, readKey(run));
  if (key === '') throw new UsageError('No key was given.', 'Pipe it in: perp login < key.txt');
  const { plan } = await createClient({ baseUrl: settings.baseUrl, key }).account({}, { signal: world.signal });
  world.err.write(`${cleanText(plan.name)}; kept in ${writeConfig({ base_url: settings.baseUrl, key }, world.env)}\n`);
};

export const logOut = (run: Run): void => removeConfig(run.world.env);
