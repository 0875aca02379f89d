// Commands that do more than one request: streams, files, proofs, the doctor, the key's file.
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import {
  type AnchorProofRequest,
  type ArchiveRequest,
  createClient,
  type LiveRequest,
} from '../typescript/src/index.ts';
import { type DownloadOptions, downloadArchive, verifyProof } from '../typescript/src/node.ts';
import { main as verifyFiles } from '../typescript/src/verify.mjs';
import { examine, findExit, toFindingRows } from './doctor.ts';
import { Ended, EXIT, UsageError } from './exit.ts';
import { cleanText, formatJson } from './output.ts';
import { formatCount, toFileRows } from './rows.ts';
import { makeRequest, print, type Run, readLayers, readNumberOption, readTextOption } from './run.ts';
import { removeConfig, writeConfig } from './settings.ts';
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

const readArchiveRequest = (run: Run): ArchiveRequest => {
  const { layer, from, to } = run.options;
  return makeRequest<ArchiveRequest>(run, { layer, from, to });
};

export const listFiles = async (run: Run): Promise<void> => {
  const items = [];
  for await (const page of run.client.pages('archive', readArchiveRequest(run), { signal: run.world.signal }))
    items.push(...page.items);
  const bytes = items.reduce((sum, file) => sum + file.bytes, 0);
  print(run, {
    objects: items,
    rows: toFileRows(items),
    note: `${formatCount(items.length, 'file')}, ${(bytes / 1e6).toFixed(1)} MB`,
  });
};

/** Paths go to standard output, progress to standard error. */
export const fetchFiles = async (run: Run, folder: string): Promise<void> => {
  const { world, client } = run;
  const isShown = world.err.isTTY === true;
  const format = readTextOption(run.options, 'format') as DownloadOptions['format'];
  const files = await downloadArchive(client, readArchiveRequest(run), {
    folder,
    ...(format !== undefined && { format }),
    signal: world.signal,
    onProgress: ({ path, bytes, total, state }) => {
      if (isShown) world.err.write(`\r\x1b[K${state} ${path} ${Math.round((100 * bytes) / Math.max(1, total))} %`);
      else if (state !== 'fetching') world.err.write(`${state} ${path}\n`);
    },
  });
  if (isShown) world.err.write('\r\x1b[K');
  for (const { path } of files) world.out.write(`${path}\n`);
  world.err.write(`${formatCount(files.length, 'file')}, each with the hash that the service states\n`);
};

const readProofRequest = (run: Run): AnchorProofRequest => {
  const { venue, symbol, layer, at, id, priceType } = run.options;
  for (const [name, value] of Object.entries({ venue, symbol, layer, at }))
    if (typeof value !== 'string')
      throw new UsageError(`--${name} is missing.`, 'Give a file, or --venue, --symbol, --layer and --at.');
  const more = { price_type: priceType, id, seq: readNumberOption(run.options, 'seq') };
  return makeRequest<AnchorProofRequest>(run, { venue, symbol, layer, at, ...more });
};

/** For what takes no signal: a node of the chain, an input that stays open. Rejects at the signal; the program then exits. */
const waitUnlessStopped = <Value>({ signal }: Run['world'], done: Promise<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop);
    done.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });

/** The verifier's own report; exit code 1 when a step fails. */
export const verify = async (run: Run, file?: string): Promise<void> => {
  const rpc = readTextOption(run.options, 'rpc') ?? null;
  const { world, client } = run;
  if (file !== undefined) {
    const code = await waitUnlessStopped(world, verifyFiles([file, ...(rpc === null ? [] : ['--rpc', rpc])]));
    if (code !== 0) throw new Ended(code);
    return;
  }
  const tell = (line: string) => world.out.write(`${cleanText(line)}\n`);
  const check = await waitUnlessStopped(world, verifyProof(client, readProofRequest(run), { rpc, tell }));
  if (!check.verified) throw new Ended(1);
};

export const runDoctor = async (run: Run): Promise<void> => {
  const { client, settings, options, world } = run;
  const where = readTextOption(options, 'where');
  const findings = await examine({ client, settings, where, signal: world.signal });
  print(run, { objects: findings, rows: toFindingRows(findings) });
  const code = findExit(findings);
  if (code !== EXIT.ok) throw new Ended(code);
};

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
