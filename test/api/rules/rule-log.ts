// A market from a random log, and the value of a rule at an instant by a slow evaluation: a memory copy without anything recorded
// later, and the screen over it.
import { PLANS } from '../../../api/contract/plans.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import { answerTo, type Context } from '../../../api/operations/operation.ts';
import { screen } from '../../../api/operations/screen.ts';
import type { RuleDraft, RuleState } from '../../../api/rules/rule.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { writeJson } from '../../../schemas/json.ts';
import type { Micros } from '../../../schemas/records.ts';
import { toShard } from '../../../schemas/shards.ts';
import { type LiveEntry, makeLiveEntry, type Reading, type Span } from '../../../schemas/topics.ts';
import { capability, listing, listingValues, reading } from '../../support/apps/live-fixture.ts';

export const SECOND: Micros = 1_000_000;
const VENUES = ['binance', 'bybit', 'okx'];
/** Partitions of a venue. */
const TASKS = 2;
const BASES = ['BTC', 'ETH', 'SOL'];

/** One message of one task. */
export type LogEntry = {
  readonly venue: string;
  readonly partition: number;
  readonly at: Micros;
  readonly bytes: Buffer;
};
type Random = () => number;

export const chooseOne = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;

type Body = Partial<LiveEntry> & Pick<LiveEntry, 'kind'>;

/** Makes the log of the given seconds from `from` on. Same seed, same log. */
export const makeLog = (random: Random, from: Micros, seconds: number): readonly LogEntry[] => {
  const log: LogEntry[] = [];
  let offset = 0;
  const feedLog = (venue: string, partition: number, at: Micros, body: Body): void => {
    const bytes = codecs.live.encode(makeLiveEntry({ offset: ++offset, index: 0, recorded_at: at, ...body }));
    log.push({ venue, partition, at, bytes });
  };
  const before = from - 60 * SECOND;
  const listed = VENUES.flatMap((venue) =>
    BASES.map((base) => ({ venue, base, symbol: `${base}USDT`, partition: toShard(`${base}USDT`, TASKS) })),
  );
  const conns = new Map(VENUES.map((venue) => [venue, { id: `${venue}-0`, from: before }]));
  const span = (venue: string, to: Micros | null): Span => {
    const { id, from: began } = conns.get(venue) ?? { id: '', from: 0 };
    return { conn_id: id, slot: 'market', from: began, to, cause: to === null ? null : 'connection_lost' } as Span;
  };
  for (const venue of VENUES) {
    for (let p = 0; p < TASKS; p++) {
      feedLog(venue, p, before, { kind: 'capability', capability: capability(venue, {}, before) });
      feedLog(venue, p, before, { kind: 'connection', span: span(venue, null) });
    }
  }
  for (const { venue, base, symbol, partition } of listed) {
    const values = listingValues({ instrument: `${base}-PERP`, base, venue_symbol: symbol });
    feedLog(venue, partition, before, {
      kind: 'listing',
      symbol,
      listing: { ...listing(venue, values), written_at: before },
    });
  }
  const readingAt = (venue: string, at: Micros, over: Partial<Reading>): Reading =>
    reading({
      recorded_at: at,
      received_at: at - 2_000,
      venue_ts: at - 5_000,
      conn_id: conns.get(venue)?.id ?? '',
      raw: null,
      ...over,
    });
  for (let second = 0; second < seconds; second++) {
    const begins = from + second * SECOND;
    // Places within the second, ascending: the log of each task is in order.
    for (let step = 0; step < 8; step++) {
      const at = begins + step * 125_000 + Math.floor(random() * 120_000) + 1;
      const { venue, symbol, partition } = chooseOne(random, listed);
      const dice = random();
      if (dice < 0.04) {
        for (let p = 0; p < TASKS; p++)
          feedLog(venue, p, at + p, { kind: 'connection', span: span(venue, at - 500_000) });
        conns.set(venue, { id: `${venue}-${second}-${step}`, from: at });
        for (let p = 0; p < TASKS; p++) feedLog(venue, p, at + 2, { kind: 'connection', span: span(venue, null) });
      } else if (dice < 0.5) {
        const funding = chooseOne(random, ['0.0001', '0.0002', '-0.0001']);
        const values = { funding, funding_interval: '28800000', funding_8h: funding };
        feedLog(venue, partition, at, {
          kind: 'reading',
          symbol,
          reading: readingAt(venue, at, { values, instants: {} }),
        });
      } else {
        const mark = chooseOne(random, ['100', '101', '102']);
        const values = { mark, index: '100', basis: '0' };
        const read = readingAt(venue, at, { layer: 'mark', values, instants: {}, valid: random() > 0.05 });
        feedLog(venue, partition, at, {
          kind: 'reading',
          symbol,
          reading: read.valid ? read : { ...read, gap_cause: 'sequence_break' as never },
        });
      }
    }
    for (const venue of VENUES) {
      for (let p = 0; p < TASKS; p++)
        feedLog(venue, p, begins + SECOND, { kind: 'watermark', watermark: begins + SECOND });
    }
  }
  return log;
};

export const emptyMemory = (): LiveMemory => {
  const memory = new LiveMemory(VENUES);
  for (const venue of VENUES) for (let p = 0; p < TASKS; p++) memory.markReady(venue, p);
  return memory;
};

/** Feeds some of the log to a memory copy: each task in its order, the tasks in any. */
export const feedLog = (memory: LiveMemory, entries: readonly LogEntry[], random: Random): void => {
  const queues = new Map<string, LogEntry[]>();
  for (const one of entries)
    queues.set(`${one.venue}/${one.partition}`, [...(queues.get(`${one.venue}/${one.partition}`) ?? []), one]);
  const open = [...queues.values()];
  while (open.length > 0) {
    const i = Math.floor(random() * open.length);
    const { venue, partition, bytes } = (open[i] as LogEntry[]).shift() as LogEntry;
    memory.applyLive(venue, partition, bytes);
    if (open[i]?.length === 0) open.splice(i, 1);
  }
};

/** A query that the log makes hold, fail and be unknown in turns. */
export const randomQuery = (random: Random): string => {
  const rate = chooseOne(random, ['0', '0.5bps', '1bps', '1.5bps']);
  const price = chooseOne(random, ['100', '101', '100.5']);
  const venue = chooseOne(random, ['funding', 'funding_8h']);
  const condition = chooseOne(random, [
    `any(venues where ${venue} > ${rate})`,
    `all(venues where mark >= ${price})`,
    `count(venues where mark > ${price}) >= 2`,
    `max(venues, mark) - min(venues, mark) > 1`,
    `any(venues where age(mark) < 3s and ${venue} < ${rate})`,
    `any(venues where status(mark) = stale) or any(venues where mark > 101)`,
    `min(venues, ${venue}) > ${rate} and max(venues, mark) > ${price}`,
  ]);
  const where = chooseOne(random, [
    '',
    ' where base = BTC',
    ' where venue in (binance, okx)',
    ' where base in (ETH, SOL) and venue = bybit',
  ]);
  return condition + where;
};

type Item = { readonly instrument: string; readonly result: 'true' | 'unknown' };
export type Found = {
  readonly state: RuleState;
  readonly matched: readonly string[];
  readonly unknown: readonly string[];
};

/** Of a call at an instant whose plan has everything, over a memory copy alone. */
export const makeContext = (live: LiveMemory, at: Micros): Context => ({
  ...{
    live,
    history: null,
    archive: null,
    anchors: null,
    receipts: { find: async () => null },
    rules: null,
    payer: null,
  },
  ...{
    evaluatedAt: at,
    receiptId: 'rcp_0',
    itemsLimit: { stopsAt: Number.POSITIVE_INFINITY, named: Number.POSITIVE_INFINITY },
    reaches: () => true,
    keepsRows: false,
    caller: null,
  },
  ...{ plan: PLANS.pro_plus, scopeOf: () => ({ venues: null, instruments: null }) },
});

/** The value of a rule at `at`, by everything recorded up to it and nothing else. */
export const slowMarketAt = (log: readonly LogEntry[], at: Micros) => {
  const memory = emptyMemory();
  for (const { venue, partition, at: recordedAt, bytes } of log)
    if (recordedAt <= at) memory.applyLive(venue, partition, bytes);
  for (const venue of VENUES) {
    for (let p = 0; p < TASKS; p++) {
      const entry = makeLiveEntry({ offset: 1e9, index: p, recorded_at: at, kind: 'watermark', watermark: at });
      memory.applyLive(venue, p, codecs.live.encode(entry));
    }
  }
  return async ({ query, units, freshness }: Pick<RuleDraft, 'query' | 'units' | 'freshness'>): Promise<Found> => {
    const asked = { query, units, include_unknown: true, limit: 500, ...(freshness === null ? {} : { freshness }) };
    const { body } = await answerTo(screen, asked, makeContext(memory, at));
    const { instruments } = JSON.parse(writeJson(body)) as { readonly instruments: readonly Item[] };
    const named = (result: string) => instruments.filter((one) => one.result === result).map((one) => one.instrument);
    const [matched, unknown] = [named('true'), named('unknown')];
    return { state: matched.length > 0 ? 'true' : unknown.length > 0 ? 'unknown' : 'false', matched, unknown };
  };
};
