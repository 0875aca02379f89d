// The state of stream clients equals snapshots: through faults, killed nodes, and neighbours that do not read (issue of the stream).
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { storeKeys } from '../../infra/dev/bench/instruments/api-client.ts';
import { findQuantile } from '../../infra/dev/bench/instruments/figures.ts';
import { useEngines } from '../support/engines/engines.ts';
import { createRandom } from '../support/mutations.ts';
import {
  type Api,
  apiReady,
  type PipelineSpec,
  type Simulator,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
  until,
} from '../support/services/pipeline.ts';
import { ResumingClient } from '../support/services/resuming-client.ts';

/** The full show: STREAM_SECONDS=600 STREAM_CLIENTS=50. */
const SECONDS = Number(process.env.STREAM_SECONDS ?? 40);
const CLIENTS = Number(process.env.STREAM_CLIENTS ?? 16);
const LISTINGS = 50;
const SEED = Number(process.env.STREAM_SEED ?? 7);
/** The market is frozen this long while pictures are compared. */
const STILL_MS = 12_000;

type Nodes = {
  /** Nodes live as long as the whole test. */
  readonly t: Test;
  readonly spec: PipelineSpec;
  readonly database: string;
  readonly apis: Api[];
};
type World = Nodes & {
  readonly simulator: Simulator;
  readonly symbols: readonly string[];
  readonly keys: readonly string[];
};

const startNode = async ({ t, spec, database, apis }: Nodes): Promise<Api> => {
  const api = await startApi(spec, database);
  t.teardown(() => api.child.kill());
  await apiReady(api);
  apis.push(api);
  return api;
};

const startWorld = async (t: Test): Promise<World> => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: 2 };
  const simulator = await startSimulator({ SIM_SEED: String(SEED), SIM_LISTINGS: String(LISTINGS) });
  const children = [simulator.child, startIngest(spec, simulator.endpoints), startProcessors(spec)];
  t.teardown(() => Promise.all(children.map((child) => child.kill())));
  const nodes: Nodes = { t, spec, database, apis: [] };
  await startNode(nodes);
  await startNode(nodes);
  const listed = await simulator.get<{ symbol: string }[]>('/listings');
  const keys = await storeKeys(database);
  return { ...nodes, simulator, symbols: listed.map(({ symbol }) => symbol), keys };
};

type Asked = { readonly where: string | null; readonly layers: readonly string[]; readonly units: string };

/** A selection of its own for each client. */
const askedBy = (next: () => number, symbols: readonly string[]): Asked & { readonly freshness: string } => {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
  const chosen = Array.from({ length: 1 + Math.floor(next() * 12) }, () => `"${pick(symbols)}"`);
  const where = pick([null, 'quote = USDT', 'venue = binance', `symbol in (${[...new Set(chosen)].join(', ')})`]);
  const layers = ['mark', 'funding', 'book', 'venue_depth'].filter(() => next() < 0.6);
  return {
    where,
    layers: layers.length === 0 ? ['mark'] : layers,
    units: pick(['published', 'base']),
    freshness: pick(['4s', '30s', '90s']),
  };
};

type Client = { readonly stream: ResumingClient; readonly asked: ReturnType<typeof askedBy> };

const openClients = (t: Test, { symbols, keys, apis }: World): readonly Client[] => {
  const random = createRandom(SEED);
  const next = (): number => random(1_000_000) / 1_000_000;
  return Array.from({ length: CLIENTS }, (_, i) => {
    const asked = askedBy(next, symbols);
    const query = new URLSearchParams({
      ...(asked.where === null ? {} : { where: asked.where }),
      layers: asked.layers.map((layer) => (layer === 'venue_depth' ? 'book_bands' : layer)).join(','),
      units: asked.units,
      freshness: asked.freshness,
      number_format: 'string',
    });
    const headers = { authorization: `Bearer ${keys[i % keys.length]}` };
    const stream = new ResumingClient(String(query), headers, () => apis.map(({ baseUrl }) => baseUrl));
    t.teardown(() => stream.close());
    return { stream, asked };
  });
};

/** A converted value moves with its mark, between the events of its own layer, and names the mark. */
const movesWithMark = ({ conversion, null_reasons: reasons }: Record<string, unknown>): boolean =>
  (conversion as { mark?: string } | undefined)?.mark !== undefined ||
  Object.values(reasons ?? {}).includes('unit_unknown');

const ageless = ({ age_ms: _, venue_age_ms: __, ...state }: Record<string, unknown>): string => JSON.stringify(state);

type Item = {
  readonly venue: string;
  readonly venue_symbol: string;
  readonly layers: Readonly<Record<string, Record<string, unknown>>>;
};

/** Differences between the state of a client and a snapshot of the same selection now. */
const findDifferences = async (api: Api, { stream, asked }: Client): Promise<string[]> => {
  const { where, ...rest } = asked;
  const body = { ...rest, ...(where === null ? {} : { where }), number_format: 'string' };
  const { items } = await api.post<{ items: Item[] }>('/v2/snapshots', body);
  const wanted = new Map<string, string>();
  for (const { venue, venue_symbol: symbol, layers } of items) {
    for (const [layer, state] of Object.entries(layers)) {
      const name = layer === 'venue_depth' ? 'book_bands' : layer;
      if (movesWithMark(state)) continue;
      wanted.set(`${venue}|${symbol}|${name}`, ageless(state));
    }
  }
  const different: string[] = [];
  for (const [key, state] of wanted) {
    const held = stream.picture.get(key);
    if (held === undefined || ageless(held.state) !== state)
      different.push(`${key}: ${held === undefined ? 'not told' : ageless(held.state)} instead of ${state}`);
  }
  return stream.isReady ? different : ['not ready'];
};

/** Stops the market and waits until every picture is the snapshot's; answers how many states were compared. */
const comparePictures = async (t: Test, world: World, clients: readonly Client[]): Promise<number> => {
  const [api] = world.apis;
  if (api === undefined) throw new Error('no node is up');
  await world.simulator.fault({ kind: 'silence', durationMs: STILL_MS });
  let open = [...clients];
  let last: string[] = [];
  await until('every picture is that of a snapshot', STILL_MS, async () => {
    const still: Client[] = [];
    last = [];
    for (const client of open) {
      const different = await findDifferences(api, client);
      if (different.length > 0) still.push(client);
      last.push(...different.slice(0, 2));
    }
    open = still;
    return open.length === 0 ? true : null;
  }).catch(() => null);
  t.same(last.slice(0, 5), [], `${clients.length} pictures are those of snapshots (${last.length} differences)`);
  return clients.reduce((sum, { stream }) => sum + stream.picture.size, 0);
};

const checkRevs = (t: Test, clients: readonly Client[]): void => {
  const faults = clients.flatMap(({ stream }) => stream.faults);
  const updates = clients.reduce((sum, { stream }) => sum + stream.updates, 0);
  const gaps = clients.flatMap(({ stream }) => stream.gaps);
  t.same(faults.slice(0, 5), [], `${updates} updates, none skipped without a gap, none twice (${faults.length} are)`);
  t.comment(`gaps said: ${[...new Set(gaps)].map((g) => `${gaps.filter((x) => x === g).length} ${g}`).join(', ')}`);
};

const FAULTS: readonly Readonly<Record<string, unknown>>[] = [
  { kind: 'sequence_hole', count: 2 },
  { kind: 'crossed_book', durationMs: 3_000 },
  { kind: 'silence', stream: 'markPrice', durationMs: 5_000 },
  { kind: 'malformed', count: 2 },
  { kind: 'disconnect', stream: 'depth', count: 1, durationMs: 1_500 },
  { kind: 'disconnect', stream: 'markPrice', count: 1, durationMs: 1_500 },
];

/** Faults on a few listings at a time, for `ms`. */
const disturb = async ({ simulator, symbols }: World, ms: number): Promise<void> => {
  const step = ms / FAULTS.length;
  for (const [i, fault] of FAULTS.entries()) {
    await simulator.fault({ ...fault, symbols: symbols.slice(i * 7, i * 7 + 6) });
    await pause(step);
  }
};

const checkTruth = async (t: Test, world: World, clients: readonly Client[]): Promise<void> => {
  const rounds = Math.max(1, Math.round(SECONDS / 60));
  let compared = 0;
  for (let round = 0; round < rounds; round++) {
    await disturb(world, (SECONDS * 1_000) / rounds);
    compared += await comparePictures(t, world, clients);
  }
  checkRevs(t, clients);
  t.comment(`${rounds} pauses, ${compared} states of ${clients.length} clients compared with snapshots`);
};

/** A node that has just begun is given a minute to read what its clients have missed. */
const BACK_MS = 90_000;

/** Nodes are killed in turn while clients return to whichever is there. */
const checkKilledNodes = async (t: Test, world: World, clients: readonly Client[]): Promise<void> => {
  const kills = Math.max(2, Math.round(SECONDS / 60));
  for (let i = 0; i < kills; i++) {
    const [victim] = world.apis.splice(0, 1);
    await victim?.child.kill('SIGKILL');
    await startNode(world);
    await until('every client is back', BACK_MS, () => (clients.every(({ stream }) => stream.isReady) ? true : null));
  }
  await comparePictures(t, world, clients);
  checkRevs(t, clients);
  const resumed = clients.reduce((sum, { stream }) => sum + stream.resumed, 0);
  t.ok(resumed >= clients.length, `${resumed} resumptions over ${kills} kills`);
  t.same(
    clients.flatMap(({ stream }) => stream.gaps.filter((reason) => reason === 'resume_expired')),
    [],
    'each by its id, none from new snapshots',
  );
};

const measureMemory = async ({ child }: Api): Promise<number> => {
  const status = await readFile(`/proc/${child.process.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
};

/** Opens a stream on a raw socket; `onAnswer` may leave it unread. */
const openRaw = (url: string, key: string, onAnswer: (destroy: () => void, read: (n: number) => void) => void) => {
  const call = request(url, { headers: { authorization: `Bearer ${key}` }, agent: false }, (answer) => {
    answer.pause();
    answer.on('error', () => undefined);
    onAnswer(
      () => call.destroy(),
      (n) => answer.read(n),
    );
  });
  call.on('error', () => undefined);
  call.end();
  return () => call.destroy();
};

const measureDelay = async (client: Client, ms: number): Promise<number> => {
  const { delaysMs } = client.stream;
  delaysMs.length = 0;
  // The market may still be frozen.
  await until('the market moves', 2 * STILL_MS, () => (delaysMs.length > 0 ? true : null));
  delaysMs.length = 0;
  await pause(ms);
  return findQuantile(client.stream.delaysMs, 0.99) ?? Number.POSITIVE_INFINITY;
};

const checkBadNeighbours = async (t: Test, world: World, clients: readonly Client[]): Promise<void> => {
  const [api] = world.apis;
  const [client] = clients;
  if (api === undefined || client === undefined) throw new Error('no node is up');
  const url = `${api.baseUrl}/v2/stream?layers=mark,funding,book,book_bands`;
  const key = (i: number): string => world.keys[i % world.keys.length] ?? '';
  const before = await measureDelay(client, 5_000);
  const memoryBefore = await measureMemory(api);
  const ends: (() => void)[] = [];
  t.teardown(() => {
    for (const end of ends) end();
  });
  for (let i = 0; i < 10; i++) ends.push(openRaw(url, key(i), () => undefined));
  ends.push(
    openRaw(url, key(11), (_, read) => {
      const timer = setInterval(() => read(1), 1_000);
      ends.push(() => clearInterval(timer));
    }),
  );
  let vanished = 0;
  for (let i = 0; i < 500; i++) {
    openRaw(url, key(i), (destroy) => {
      vanished += 1;
      destroy();
    });
    if (i % 25 === 24) await pause(50);
  }
  const huge = await fetch(`${url}&where=${'x'.repeat(60_000)}`, {
    headers: { authorization: `Bearer ${key(3)}` },
  }).catch(() => null);
  t.ok(huge !== null && huge.status >= 400 && huge.status < 500, `a huge where is refused with ${huge?.status}`);
  await huge?.arrayBuffer();
  await until('500 have come and gone', 60_000, () => (vanished >= 450 ? true : null));
  const after = await measureDelay(client, 8_000);
  const grown = (await measureMemory(api)) - memoryBefore;
  t.ok(
    grown < 300,
    `memory grew by ${grown.toFixed(0)} MB with 11 clients that do not read and ${vanished} that vanished`,
  );
  t.ok(Number.isFinite(after), 'the others still receive events');
  t.comment(`p99 of another client's delay: ${before.toFixed(0)} ms before, ${after.toFixed(0)} ms with them`);
  await until('the streams of the vanished are gone', 20_000, async () => {
    const answer = await fetch(`${api.baseUrl}/readyz`);
    await answer.arrayBuffer();
    return answer.ok ? true : null;
  });
  checkRevs(t, clients);
};

const TIMEOUT_MS = (SECONDS * 3 + 600) * 1_000;
t.setTimeout(TIMEOUT_MS);

t.test('clients of the stream hold what snapshots return', { timeout: TIMEOUT_MS }, async (t) => {
  const world = await startWorld(t);
  const [api] = world.apis;
  await until('everything has been read', 60_000, async () => {
    const { items } = (await api?.post<{ items: Item[] }>('/v2/snapshots', { layers: ['mark', 'book'] })) ?? {
      items: [],
    };
    const states = items.flatMap(({ layers }) => Object.values(layers));
    const present = states.filter(({ status }) => status === 'present').length;
    return states.length > 0 && present >= 0.95 * states.length ? true : null;
  });
  const clients = openClients(t, world);
  await until('every client is ready', 30_000, () => (clients.every(({ stream }) => stream.isReady) ? true : null));
  await t.test('through faults', { timeout: TIMEOUT_MS }, (t) => checkTruth(t, world, clients));
  await t.test('through killed nodes', { timeout: TIMEOUT_MS }, (t) => checkKilledNodes(t, world, clients));
  await t.test('beside clients that do not read', { timeout: TIMEOUT_MS }, (t) =>
    checkBadNeighbours(t, world, clients),
  );
});
