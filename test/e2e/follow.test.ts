// History that continues live, by both clients over the whole service, its API killed and begun anew, for readers that keep up and for one that
// rests: what each was given is compared with the log, reading by reading. TEST_FILE_LIMIT_S=2700 MINUTES=30 npm test -- e2e/follow
import { spawn } from 'node:child_process';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createClient, type Followed, type FollowedGap, figuresOf } from '../../clients/typescript/src/index.ts';
import { openKafka, readPartitions } from '../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { parseInstant } from '../../schemas/instants.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { nameTopics } from '../../schemas/topics.ts';
import { toWindowEnd } from '../../schemas/windows.ts';
import { useEngines } from '../support/engines/engines.ts';
import { PYTHON_CLIENT, pythonWithClient } from '../support/python/python-venv.ts';
import {
  type Api,
  apiReady,
  type PipelineSpec,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
} from '../support/services/pipeline.ts';
import { waitFor } from '../support/wait.ts';

const MINUTES = Number(process.env['MINUTES'] ?? 1);
const ROUND_MS = 20_000;
const PAST_MS = 45_000;
/** The slow reader pauses for `ms` after each `readings` readings. */
const REST = { ms: 15_000, readings: 1_000 };
const SECOND: Micros = 1_000_000;
const FOLLOWED: readonly ReadingLayer[] = ['mark', 'funding', 'book'];

t.setTimeout((MINUTES + 12) * 60_000);

/** One address for whichever API is there. */
const openDoor = async (t: Test, target: () => string) => {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const { hostname, port } = new URL(target());
    const inner = connect(Number(port), hostname);
    open.add(socket);
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const)
      one.once('error', () => other.destroy()).once('close', () => other.destroy());
    socket.once('close', () => open.delete(socket));
    socket.pipe(inner).pipe(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
};

/** Receipts by `symbol|layer`, in the order of the log. */
type Receipts = Map<string, Micros[]>;
const readLog = async (t: Test, spec: PipelineSpec): Promise<Receipts> => {
  const handle = openKafka({ brokers: spec.stores.kafka.split(','), clientId: 'follow' }, createLog('test', 'silent'));
  const logged: Receipts = new Map();
  const reader = await readPartitions(handle, {
    topic: nameTopics(spec.namespace).live('binance'),
    from: () => 'earliest',
    onBatch: (_partition, messages) => {
      for (const { value } of messages) {
        const entry = value === null ? null : codecs.live.decode(value);
        if (entry?.kind !== 'reading' || entry.reading === null || !entry.reading.valid) continue;
        const { layer, received_at } = entry.reading;
        if (FOLLOWED.includes(layer))
          (logged.get(`${entry.symbol}|${layer}`) ?? newList(logged, `${entry.symbol}|${layer}`)).push(received_at);
      }
    },
  });
  t.teardown(async () => {
    await reader.stop();
    await handle.close();
  });
  return logged;
};

const newList = (receipts: Receipts, place: string): Micros[] => {
  const list: Micros[] = [];
  receipts.set(place, list);
  return list;
};

type Tally = {
  readonly all: Receipts;
  readonly firstLive: Map<string, Micros>;
  readonly gaps: FollowedGap[];
  count: number;
  ofHistory: number;
  stale: number;
  withoutFigures: number;
};

const createTally = (): Tally => ({
  ...{ all: new Map(), firstLive: new Map(), gaps: [] },
  ...{ count: 0, ofHistory: 0, stale: 0, withoutFigures: 0 },
});

const take = (tally: Tally, { source, venue_symbol, layer, received_at, reading }: Followed): void => {
  const place = `${venue_symbol}|${layer}`;
  const at = parseInstant(received_at) ?? Number.NaN;
  tally.count += 1;
  if (source === 'history') tally.ofHistory += 1;
  if (reading.status === 'stale') tally.stale += 1;
  if (Object.keys(figuresOf(reading)).length === 0) tally.withoutFigures += 1;
  (tally.all.get(place) ?? newList(tally.all, place)).push(at);
  if (source === 'live' && !tally.firstLive.has(place)) tally.firstLive.set(place, at);
};

/** A line printed by the script of the Python client: a reading, or a gap. */
type PythonLine =
  | readonly [
      source: 'history' | 'live',
      symbol: string,
      layer: string,
      receivedAt: string,
      status: string,
      figures: number,
    ]
  | { readonly gap: { readonly source?: 'history'; readonly from?: string } };

const takeLine = (tally: Tally, line: PythonLine): void => {
  if ('gap' in line) {
    const source = line.gap.source ?? 'live';
    tally.gaps.push({ source, ...line.gap } as FollowedGap);
    return;
  }
  const [source, venue_symbol, layer, received_at, status, figures] = line;
  const values = figures === 0 ? {} : { any: figures };
  take(tally, { source, venue_symbol, layer, received_at, reading: { status, values } } as unknown as Followed);
};

type Asked = {
  readonly baseUrl: string;
  readonly key: string;
  readonly where: string;
  readonly since: Date;
  readonly signal: AbortSignal;
};

/** The Python client in a process of its own; ends with the signal. */
const followByPython = async (python: string, tally: Tally, { baseUrl, key, where, since, signal }: Asked) => {
  const words = ['tests/run_follow.py', where, FOLLOWED.join(','), since.toISOString()];
  const env = { PATH: process.env['PATH'], PERP_BASE_URL: baseUrl, PERP_API_KEY: key };
  const child = spawn(python, words, { cwd: PYTHON_CLIENT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = (): void => void child.kill();
  signal.addEventListener('abort', stop);
  const stderr = { text: '' };
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.text = (stderr.text + String(chunk)).slice(-2_000);
  });
  for await (const line of createInterface({ input: child.stdout })) takeLine(tally, JSON.parse(line) as PythonLine);
  if (!signal.aborted) throw new Error(`the Python client ended: ${stderr.text}`);
};

/** Readings of the log that the client did not receive: live every one, before that the last one of each window. */
const findMissing = (
  tally: Tally,
  logged: Receipts,
  span: { readonly from: Micros; readonly to: Micros },
): string[] => {
  const missing: string[] = [];
  for (const [place, receipts] of logged) {
    const layer = place.split('|')[1] as ReadingLayer;
    const has = new Set(tally.all.get(place));
    const live = tally.firstLive.get(place) ?? span.to;
    const lastOfWindow = new Map(receipts.map((at) => [toWindowEnd(at, LAYERS[layer].windowMs), at]));
    for (const [end, at] of lastOfWindow)
      if (at >= span.from && end < live && at <= span.to && !has.has(at)) missing.push(`${place} window ${end}: ${at}`);
    for (const at of receipts) if (at > live && at <= span.to && !has.has(at)) missing.push(`${place} live: ${at}`);
  }
  return missing;
};

const findRepeats = ({ all }: Tally): string[] =>
  [...all].flatMap(([place, list]) =>
    list.flatMap((at, n) => (n > 0 && at <= (list[n - 1] ?? 0) ? [`${place}: ${at} after ${list[n - 1]}`] : [])),
  );

t.test(
  'from a past instant into the live stream while the API is killed: nothing left out, nothing twice',
  async (t) => {
    const python = await pythonWithClient('follow', ['httpx2']);
    const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
    const database = await engines.database();
    const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: 1 };
    const simulator = await startSimulator({ SIM_SEED: '7', SIM_LISTINGS: '4', SIM_RATE: '60' });
    const children = [simulator.child, startIngest(spec, simulator.endpoints), startProcessors(spec)];
    t.teardown(() => Promise.all(children.map((child) => child.kill())));
    let api: Api = await startApi(spec, database);
    t.teardown(() => api.child.kill());
    await apiReady(api);
    const logged = await readLog(t, spec);
    const [since] = await waitFor('the log has a past', () => {
      const list = logged.get('BTCUSDT|mark') ?? [];
      const [first = 0, last = 0] = [list[0], list.at(-1)];
      return last - first > PAST_MS * 1_000 ? [first + 10 * SECOND] : null;
    });
    const door = await openDoor(t, () => api.baseUrl);
    const key = api.keys.pro_plus;
    const client = createClient({ baseUrl: door.url, key });
    const stop = new AbortController();
    t.teardown(() => stop.abort());
    const asked = { where: 'venue = binance', since: new Date((since ?? 0) / 1_000) };
    const request = { ...asked, layers: FOLLOWED };
    const follow = async (tally: Tally, rest: () => Promise<unknown> | undefined): Promise<void> => {
      const options = { signal: stop.signal, onGap: (gap: FollowedGap) => tally.gaps.push(gap) };
      for await (const one of client.follow(request, options)) {
        take(tally, one);
        if (tally.count % REST.readings === 0) await rest();
      }
    };
    const followers = { prompt: createTally(), slow: createTally(), python: createTally() };
    const following = Promise.all([
      follow(followers.prompt, () => undefined),
      follow(followers.slow, () => pause(REST.ms, undefined, { signal: stop.signal }).catch(() => undefined)),
      followByPython(python, followers.python, { ...asked, baseUrl: door.url, key, signal: stop.signal }),
    ]);
    await waitFor('all are live', () => Object.values(followers).every(({ firstLive }) => firstLive.size > 0));
    let kills = 0;
    for (const end = Date.now() + MINUTES * 60_000; Date.now() < end; kills += 1) {
      await pause(ROUND_MS);
      await api.child.kill();
      api = await startApi(spec, database);
      await apiReady(api);
      await pause(ROUND_MS);
      door.cut();
    }
    const span = { from: Math.ceil((since ?? 0) / SECOND) * SECOND, to: Date.now() * 1_000 };
    // What the log has now: a reading that comes into it behind the stop of the followers is none of theirs.
    const due: Receipts = new Map([...logged].map(([place, receipts]) => [place, [...receipts]]));
    const missing = (): string[] => Object.values(followers).flatMap((tally) => findMissing(tally, due, span));
    await waitFor('everything of the log was sent', () => missing().length === 0, {
      boundMs: 180_000,
      seen: () => missing().slice(0, 5),
    }).catch((error: unknown) => t.comment(String(error)));
    stop.abort();
    await following;
    const inLog = [...due.values()].reduce((sum, list) => sum + list.length, 0);
    t.comment(`${kills} kills, ${inLog} readings in the log, load ${loadavg()[0]}`);
    for (const [name, tally] of Object.entries(followers)) {
      const { count, ofHistory, stale, gaps } = tally;
      t.comment(`${name}: ${count} told, ${ofHistory} of history, ${stale} stale when told, ${gaps.length} gaps`);
      t.same(findMissing(tally, due, span).slice(0, 5), [], `${name}: nothing is left out`);
      t.same(findRepeats(tally).slice(0, 5), [], `${name}: nothing is sent twice, each place in its order`);
      t.same(gaps.filter(({ source }) => source === 'live').slice(0, 3), [], `${name}: the stream left nothing out`);
      t.equal(tally.withoutFigures, 0, `${name}: every reading has its figures`);
    }
  },
);
