/** The past of a demo as a task reads it: every layer, gaps, late rows, each window once, and nothing for the days without a collector. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readPastWork } from '../../../../infra/dev/local/past.ts';
import { beginLastDays, LAST_VENUE } from '../../../../infra/dev/past/last-days.ts';
import { computeOldDayMs, OLD_VENUES, writeOldDay, writeYesterday } from '../../../../infra/dev/past/old-day.ts';
import { toPastFile, writePast } from '../../../../infra/dev/past/state.ts';
import { createVirtualLog, type PastRecord } from '../../../../infra/dev/past/virtual-log.ts';
import { mappedVenues } from '../../../../ingest/venues/index.ts';
import { Task } from '../../../../processors/task/task.ts';
import { ANCHORED_TABLES } from '../../../../schemas/anchored.ts';
import { codecs } from '../../../../schemas/avro/codec.ts';
import { MS_PER_DAY, MS_PER_MINUTE } from '../../../../schemas/instants.ts';
import type { Row } from '../../../../schemas/topics.ts';

const TELLING = { nowMs: Date.parse('2026-03-10T15:20:40.000Z'), shards: 1, seed: 3 };

const listRecords = (venue: string): readonly PastRecord[] => {
  const log = createVirtualLog();
  writeOldDay(venue, log, TELLING);
  if (venue === LAST_VENUE) beginLastDays(log, TELLING).writeTo(TELLING.nowMs);
  else writeYesterday(venue, log, TELLING);
  return log.records;
};

/** Rows of a log, and of two minutes of ticks now; nothing of it is a dead letter. */
const listRows = (t: Test, venue: string, records: readonly PastRecord[]): readonly Row[] => {
  const known = mappedVenues.get(venue);
  if (known === undefined) throw new Error(venue);
  const task = new Task({ venue: known, partition: 0, shards: 1 });
  const rows: Row[] = [];
  let dead = 0;
  const feed = (offset: number, { timestampMs, value }: Pick<PastRecord, 'timestampMs' | 'value'>): void => {
    const outputs = task.process({ offset, timestampMs, message: codecs.raw.decode(value) });
    dead += outputs.deadLetters.length;
    for (const { row } of outputs.rows) if (row !== null) rows.push(row);
  };
  for (const [offset, record] of records.entries()) feed(offset, record);
  for (let tick = 0; tick < 600; tick += 1) {
    const timestampMs = TELLING.nowMs + tick * 250;
    feed(records.length + tick, { timestampMs, value: tickAt(timestampMs) });
  }
  t.equal(dead, 0, `${venue}: every message is read`);
  return rows;
};

const tickAt = (ms: number): Buffer =>
  codecs.raw.encode({
    ...{ slot: 'collector', conn_id: 'live', seq: 0, received_at: ms * 1_000, kind: 'tick', request: null },
    payload: Buffer.from('{"collector":"live","connections":[]}'),
  });

const past = new Map(OLD_VENUES.map((venue) => [venue, listRecords(venue)]));

/** Rows by venue, once they are made. */
const rowsByVenue = new Map<string, readonly Row[]>();

t.test('the same past is made again', async (t) => {
  const toText = (records: readonly PastRecord[]): readonly string[] =>
    records.map(({ value, timestampMs }) => `${timestampMs} ${value.toString('latin1')}`);
  t.equal(toText(listRecords('okx')).join('\n'), toText(past.get('okx') ?? []).join('\n'));
});

t.test('record times never decrease, and end where the live log begins', async (t) => {
  for (const [venue, records] of past) {
    const times = records.map(({ timestampMs }) => timestampMs);
    t.same(
      times,
      times.toSorted((a, b) => a - b),
      venue,
    );
    t.ok((times.at(-1) ?? 0) <= TELLING.nowMs + 100);
  }
});

t.test('the old day has rows of every anchored table, gaps and late rows among them', async (t) => {
  for (const [venue, records] of past) rowsByVenue.set(venue, listRows(t, venue, records));
  const all = [...rowsByVenue.values()].flat();
  const from = computeOldDayMs(TELLING.nowMs) * 1_000;
  const old = all.filter(({ at }) => at > from && at <= from + MS_PER_DAY * 1_000);
  t.same(
    new Set(old.map(({ table }) => table).filter((table) => ANCHORED_TABLES.some((one) => one.table === table))),
    new Set(ANCHORED_TABLES.map(({ table }) => table)),
  );
  t.equal(new Set(old.flatMap(({ table, texts }) => (table === 'mark' ? [texts['listing']] : []))).size, 12);
  const causes = new Set(old.map(({ texts }) => texts['gap_cause']));
  for (const cause of ['venue_down', 'collector_down', 'crossed_book', 'no_update']) t.ok(causes.has(cause), cause);
  t.ok(old.some(({ flags }) => flags['late']));
  const between = all.filter(
    ({ at }) => at > from + MS_PER_DAY * 1_000 && at < (TELLING.nowMs - 4 * MS_PER_DAY) * 1_000,
  );
  t.same(between, [], 'days without a collector have no rows');
});

t.test('the last days have each minute once, and each of 80 hours whole', async (t) => {
  const rows = rowsByVenue.get(LAST_VENUE) ?? [];
  const candles = (timeframe: string, price = 'trade'): readonly Row[] =>
    rows.filter(
      ({ table, texts, at }) =>
        table === 'candles' &&
        texts['price_type'] === price &&
        texts['timeframe'] === timeframe &&
        at > (TELLING.nowMs - 5 * MS_PER_DAY) * 1_000,
    );
  const minutes = candles('1m').map(({ at }) => at);
  t.equal(new Set(minutes).size, minutes.length);
  const hours = candles('1h').filter(({ texts }) => texts['gap_cause'] === undefined);
  t.equal(hours.length, 80);
  for (const price of ['mark', 'index']) {
    const present = candles('1m', price).filter(({ texts }) => texts['gap_cause'] === undefined);
    t.ok(present.length >= 26 * 60, `${present.length} minutes of the ${price} price`);
  }
  const marks = rows.filter(({ table, figures, at }) => table === 'mark' && figures['mark'] && at > (minutes[0] ?? 0));
  t.equal(marks.length, 26 * 60);
  const stale = marks.filter(({ at }) => at % (MS_PER_MINUTE * 1_000) !== 0);
  t.same(
    stale.slice(0, 3),
    [],
    'the mark of a minute is of the window that ends with it, so an answer by minutes has it fresh',
  );
  const prices = rows.flatMap(({ table, figures }) =>
    table === 'mark' ? [Number(figures['mark'] ?? Number.NaN)] : [],
  );
  t.ok(
    Math.abs((prices.findLast((price) => price > 0) ?? 0) / 97_000 - 1) < 0.005,
    'it ends at the price of the live start',
  );
});

t.test('a start knows what is left to do', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'past-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const folder = (name: string): string => {
    mkdirSync(join(dir, name));
    return join(dir, name);
  };
  t.equal(readPastWork({ dir: folder('fresh'), env: {} }), 'first');
  t.equal(readPastWork({ dir: join(dir, 'fresh'), env: { KAFKA_BROKERS: 'elsewhere:9092' } }), null);
  const old = folder('old');
  writeFileSync(join(old, 'keys.json'), '{}');
  t.equal(readPastWork({ dir: old, env: {} }), null, 'a folder from before keeps what it has');
  for (const [state, work] of [
    ['writing', 'again'],
    ['written', 'finish'],
    ['archived', null],
  ] as const) {
    const held = folder(state);
    writePast(toPastFile(held), { state, nowMs: 1, oldDayMs: 0 });
    t.equal(readPastWork({ dir: held, env: {} }), work, state);
    t.equal(readPastWork({ dir: held, env: {}, isWiped: true }), 'first', `${state}, and wiped`);
  }
});
