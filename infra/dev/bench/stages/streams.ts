// The live stream under many clients: events, CPU and memory of the API, delay from the venue's stamp to a client.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ApiClient } from '../instruments/api-client.ts';
import { type Figure, findQuantile, makeFigure, makeUpperAim } from '../instruments/figures.ts';
import { computeCores, readUsage } from '../instruments/machine.ts';
import { runRounds } from '../instruments/rounds.ts';
import { waitUntil } from '../instruments/until.ts';
import type { Run } from '../run.ts';
import type { ReaderData, ReaderReport } from './stream-reader.ts';

type StreamsSpec = {
  readonly clients: number;
  readonly listings: number;
  readonly rate: number;
  /** Per round. */
  readonly seconds: number;
  readonly rounds: number;
  readonly client: ApiClient;
};

const PATIENCE = { everyMs: 100, forMs: 60_000 };
const SETTLE_MS = 3_000;
/** The most members in a list of `where` (S-01). */
const MOST_NAMED = 32;

const readReport = async (reader: Worker): Promise<ReaderReport> => {
  const answer = once(reader, 'message') as Promise<[ReaderReport]>;
  reader.postMessage(null);
  return (await answer)[0];
};

const waitForReady = async (reader: Worker, clients: number): Promise<void> => {
  let open = 0;
  const areReady = await waitUntil(async () => {
    const { ready, refused } = await readReport(reader);
    if (refused !== null) throw new Error(`a stream was refused: ${refused.slice(0, 300)}`);
    open = ready;
    return ready >= clients;
  }, PATIENCE);
  if (!areReady) throw new Error(`${open} of ${clients} streams are ready`);
};

/** Listings of one client: the first ones by quote for many, else by name, shifted from client to client. */
const chooseWhere = (symbols: readonly string[], listings: number, n: number): string | null => {
  if (listings >= symbols.length) return null;
  if (listings > MOST_NAMED) return 'quote = USDT';
  const from = (n * listings) % symbols.length;
  const chosen = [...symbols.slice(from), ...symbols.slice(0, from)].slice(0, listings);
  return `symbol in (${chosen.map((symbol) => `"${symbol}"`).join(', ')})`;
};

/** Only books: they change ten times a second for each listing. */
const buildQuery = (where: string | null): string =>
  String(new URLSearchParams({ layers: 'book', ...(where === null ? {} : { where }) }));

const formatSpec = ({ clients, listings }: StreamsSpec): string => `${clients} streams x ${listings} listings`;

const measureRound = async (run: Run, spec: StreamsSpec, reader: Worker): Promise<Figure[]> => {
  // Events since the last round belong to neither round.
  await readReport(reader);
  const [usage, began] = [readUsage(run.dir), performance.now()];
  await pause(spec.seconds * 1_000);
  const lasted = (performance.now() - began) / 1_000;
  const cores = computeCores(usage, readUsage(run.dir), lasted);
  const { events, bytes, chunks, delaysMs } = await readReport(reader);
  const name = formatSpec(spec);
  return [
    makeFigure({
      name: `${name}: events`,
      unit: '/s',
      measured: events / lasted,
      note: `${Math.round(bytes / lasted / 1e6)} MB/s in ${Math.round(chunks / lasted)} reads/s, ${spec.rate} frames/s`,
    }),
    makeFigure({
      name: `${name}: CPU of the API`,
      unit: 'cores',
      measured: cores.get('api') ?? null,
      aim: makeUpperAim(0.5),
    }),
    makeFigure({
      name: `${name}: venue's stamp to client p50`,
      unit: 'ms',
      measured: findQuantile(delaysMs, 0.5),
      note: `${delaysMs.length} events timed`,
    }),
    makeFigure({
      name: `${name}: venue's stamp to client p99`,
      unit: 'ms',
      measured: findQuantile(delaysMs, 0.99),
      aim: makeUpperAim(300),
    }),
  ];
};

const readApiResident = (run: Run): number => readUsage(run.dir).get('api')?.residentMb ?? 0;

export const measureStreams = async (run: Run, spec: StreamsSpec): Promise<Figure[]> => {
  const { clients, listings, rate, rounds, client } = spec;
  const symbols = await client.symbols();
  const before = readApiResident(run);
  const streams = Array.from({ length: clients }, (_, n) => ({
    key: client.key(n),
    query: buildQuery(chooseWhere(symbols, listings, n)),
  }));
  const workerData: ReaderData = { baseUrl: run.service.endpoints.base_url, streams };
  const reader = new Worker(new URL('./stream-reader.ts', import.meta.url), { workerData });
  try {
    await waitForReady(reader, clients);
    const ofOneKb = ((readApiResident(run) - before) * 1_024) / clients;
    await run.setRate(rate);
    await pause(SETTLE_MS);
    const figures = await runRounds(rounds, () => measureRound(run, spec, reader));
    return [...figures, makeFigure({ name: `${formatSpec(spec)}: memory of a client`, unit: 'kB', measured: ofOneKb })];
  } finally {
    await reader.terminate();
    await run.setRate(1);
  }
};
