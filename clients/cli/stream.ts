// `perp stream`: a live table on a terminal, elsewhere one event a line.
import type { LiveRequest } from '../typescript/src/index.ts';
import { UsageError } from './exit.ts';
import { cleanText, formatJson } from './output.ts';
import { makeRequest, type Run, readLayers, readNumberOption } from './run.ts';
import { watch } from './watch.ts';

const readStreamRequest = (run: Run): LiveRequest => {
  const { options } = run;
  return makeRequest<LiveRequest>(run, {
    layers: readLayers(options),
    depth: readNumberOption(options, 'depth'),
    timeframe: options['timeframe'],
    ...(options['allowStale'] === true && { allow_stale: true }),
    ...(options['rules'] === true && { rules: true }),
  });
};

/** A live table on a terminal; elsewhere one event a line. */
export const printStream = (run: Run): Promise<void> => {
  const { client, world, format } = run;
  if (format === 'table' && world.out.isTTY === true) return watch(client, readStreamRequest(run), world);
  if (format !== 'json') throw new UsageError(`A stream has no ${format} here.`, 'Use --json, or a terminal.');
  return writeEvents(run);
};

/** Events of the connection go to standard error. */
const writeEvents = async (run: Run): Promise<void> => {
  const { client, world } = run;
  const events = client.live(readStreamRequest(run), {
    signal: world.signal,
    onConnection: (one) =>
      one.state === 'lost' &&
      world.err.write(`${cleanText(one.error.message)}; again in ${Math.round(one.waitMs)} ms\n`),
  });
  for await (const event of events) {
    if (!world.out.write(`${formatJson(event)}\n`)) await new Promise((resume) => world.out.once('drain', resume));
  }
};
