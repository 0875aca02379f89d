// Screens of a whole service: a live one equals the one `as of` its instant while the market is frozen, and settled answers keep the same
// bytes after everything was killed and in a replay of the raw log behind another API (DQL-07, N-11); the documented queries find something.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { listDocumentedQueries } from '../../infra/dev/tools/documented-queries.ts';
import { MS_PER_MINUTE } from '../../schemas/instants.ts';
import {
  type OwnService,
  openWorld,
  recovered,
  replayElsewhere,
  startOwnService,
} from '../support/services/own-service.ts';
import { type Api, startApi, startProcessors, until } from '../support/services/pipeline.ts';

/** The market is frozen from shortly before a minute's end, the end of a window of every layer, until after the next one. */
const BEFORE_MS = 4_000;
const FROZEN_MS = BEFORE_MS + MS_PER_MINUTE + 12_000;
/** After this time everything in transit at the freeze has arrived. */
const ARRIVED_MS = 3_000;
/** Nothing is settled earlier after its instant (N-11). */
const SETTLES_MS = 120_000;

/** Between them every layer, every kind of leaf, aggregate and clause that reads no candles. */
const OF_LAYERS = [
  'select mark, index, basis, funding, funding_8h, funding_interval, time_to_funding, last, oi, turnover_24h, change_24h, bid, ask, spread, mid',
  'select age(mark), age(funding), age(oi), age(bid), age(last), age(turnover_24h), status(mark), status(funding), status(oi), status(bid), status(last), status(turnover_24h)',
  'select depth_bid_value(100bps), depth_ask_value(100bps), depth_bid(50bps), tick_size, venues_listed, venues_answered',
  'any(venues where mark > 0 and spread < 50bps) or count(venues where funding > 0) >= 1 order by max(venues, oi) desc',
  'max(venues, bid) >= min(venues, mark) order by sum(venues, turnover_24h) desc',
];
/** Periods of readings: the newest period has some. */
const OF_SERIES = [
  'any(venues where sma(mark, 1) > 0) timeframe 1m select sma(mark, 1), highest(bid, 1), prev(oi, 1), roc(mark, 1), funding',
];

type Answer = {
  readonly evaluated_at: string;
  readonly settled: boolean;
  readonly items_sha256?: string;
  readonly instruments: readonly unknown[];
  readonly page: { readonly returned: number };
};
type Asked = { readonly query: string; readonly units: string; readonly freshness: string };
/** A live answer, and its request. */
type Held = { readonly asked: Asked; readonly at: string; readonly instruments: readonly unknown[] };

const screen = (api: Api, body: Readonly<Record<string, unknown>>): Promise<Answer> =>
  api.post<Answer>('/v2/screen', { include_unknown: true, limit: 500, ...body });

/** An answer without ages, which change while nothing happens. */
const withoutAges = ({ instruments }: Pick<Answer, 'instruments'>): string =>
  JSON.stringify(instruments, (key, value: unknown) =>
    key.includes('age') || key === 'time_to_funding' ? undefined : value,
  );

/** A live answer at an instant around which nothing changed: what a connection's end alters may be known a moment after it. */
const askSteady = (api: Api, asked: Asked): Promise<Held> =>
  until(`an instant without a change: ${asked.query}`, 8_000, async () => {
    const first = await screen(api, asked);
    await pause(300);
    const isSteady = withoutAges(first) === withoutAges(await screen(api, asked));
    if (!isSteady || JSON.stringify(first).includes('state_lag')) return null;
    return { asked, at: first.evaluated_at, instruments: first.instruments };
  });

const askAll = async (api: Api, queries: readonly string[]): Promise<Held[]> => {
  const held: Held[] = [];
  for (const [i, query] of queries.entries()) {
    held.push(await askSteady(api, { query, units: i % 2 === 0 ? 'published' : 'base', freshness: '600s' }));
    held.push(await askSteady(api, { query, units: 'quote', freshness: '30s' }));
  }
  return held;
};

/** Bytes of the answer about an instant, without what belongs to the call. */
const askPast = async (
  api: Api,
  { asked, at }: Held,
): Promise<{ readonly settled: boolean; readonly text: string } & Pick<Answer, 'instruments'>> => {
  const headers = { authorization: `Bearer ${api.keys.pro_plus}`, 'content-type': 'application/json' };
  const query = `${asked.query} as of ${at}`;
  const body = JSON.stringify({ include_unknown: true, limit: 500, ...asked, query });
  const answer = await fetch(`${api.baseUrl}/v2/screen`, { method: 'POST', headers, body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} to ${query}: ${text}`);
  const { settled, instruments } = JSON.parse(text) as Answer;
  return { settled, instruments, text: text.replace(/"(evaluated_at|receipt_id)":"[^"]*"/g, '') };
};

const askSettled = (api: Api, held: Held): Promise<{ readonly text: string } & Pick<Answer, 'instruments'>> =>
  until(`settled: as of ${held.at}`, 90_000, async () => {
    const past = await askPast(api, held).catch(() => null);
    return past?.settled ? past : null;
  });

/** The venue sends nothing from shortly before a minute's end; returns the minute's end. */
const freeze = async ({ simulator }: OwnService): Promise<number> => {
  // At least some seconds of the minute must have been received.
  const boundary = Math.ceil((Date.now() + BEFORE_MS + 10_000) / MS_PER_MINUTE) * MS_PER_MINUTE;
  await pause(boundary - BEFORE_MS - Date.now());
  await simulator.fault({ kind: 'silence', durationMs: FROZEN_MS });
  await simulator.fault({ kind: 'rest_down', durationMs: FROZEN_MS });
  return boundary;
};

const killEverything = async (service: OwnService): Promise<void> => {
  const { processors, api, engines, spec, database } = service;
  await Promise.all([processors, api.child].map((child) => child.kill('SIGKILL')));
  // The supervisor restarts an engine that died.
  for (const name of ['questdb', 'kafka', 'postgres'] as const) await engines.kill(name);
  for (const name of ['kafka', 'questdb', 'postgres'] as const) await engines.ready(name);
  service.processors = startProcessors(spec);
  service.api = await startApi(spec, database);
};

type Settled = { readonly held: Held; readonly text: string };

const sameBytes = async (t: Test, name: string, api: Api, settled: readonly Settled[]): Promise<void> => {
  for (const { held, text } of settled) {
    t.equal((await askSettled(api, held)).text, text, `${name}: ${held.asked.query} as of ${held.at}`);
  }
};

t.setTimeout(1_800_000);

t.test('screens of the present, of the past and of a replay agree', { timeout: 1_800_000 }, async (t) => {
  const service = await startOwnService(t, { seed: 11, listings: '8', rate: '80', shards: 2 });
  const world = openWorld(t, service);
  await recovered(service);

  const boundary = await freeze(service);
  await pause(boundary + ARRIVED_MS - Date.now());
  const ofSeries = await askAll(service.api, OF_SERIES);
  t.ok(JSON.stringify(ofSeries).includes('"candle_end"'), 'series were answered');
  await pause(boundary + MS_PER_MINUTE + ARRIVED_MS - Date.now());
  const live = [...ofSeries, ...(await askAll(service.api, OF_LAYERS))];
  t.ok(Date.now() < boundary - BEFORE_MS + FROZEN_MS, 'the market still stood');
  for (const { asked, instruments } of live)
    t.equal(instruments.length > 0, true, `${instruments.length} by ${asked.query}`);

  await pause(Date.parse(live.at(-1)?.at ?? '') + SETTLES_MS - Date.now());
  const settled: Settled[] = [];
  for (const held of live) {
    const { text, instruments } = await askSettled(service.api, held);
    t.same(instruments, held.instruments, `live is as of ${held.at}: ${held.asked.query}`);
    settled.push({ held, text });
  }

  await killEverything(service);
  await sameBytes(t, 'everything killed and restarted', service.api, settled);

  const replayed = await replayElsewhere(t, service, world);
  await sameBytes(t, 'replayed from raw into empty tables, another API', replayed.api, settled);
  await replayed.stop();

  // The longest reads four minutes, and those that were silent have no element.
  for (const query of listDocumentedQueries()) {
    const found = await until(`instruments by ${query}`, 300_000, async () => {
      const { page } = await screen(service.api, { query, include_unknown: false }).catch(() => ({
        page: { returned: 0 },
      }));
      return page.returned > 0 ? page.returned : null;
    });
    t.ok(found > 0, `${found} instruments: ${query}`);
  }
});
