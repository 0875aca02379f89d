// Three venues collected at once from their simulators: every layer present soon and true, a hole that costs one book, minutes filled in after a cut.
import t from 'tap';
import { binance } from '../../../ingest/venues/binance/index.ts';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { okx } from '../../../ingest/venues/okx/index.ts';
import type { Reading } from '../../../schemas/topics.ts';
import {
  type Collected,
  checkMinute,
  checkReadable,
  checkTrades,
  collectAll,
  nothingMissing,
  type OfSymbol,
} from '../../support/venues/collected.ts';
import { toText } from '../../support/venues/paper-venue.ts';

/** Every socket is renewed while the test runs, with an overlap. */
const RENEW_AFTER_MS = 14_000;
const renewing = (venue: Venue): Venue => ({
  ...venue,
  plan: (listings, env) =>
    venue
      .plan(listings, env)
      .map((slot) => (slot.kind === 'socket' ? { ...slot, renewAfterMs: RENEW_AFTER_MS } : slot)),
});
const VENUES: readonly Venue[] = [binance, renewing(bybit), renewing(okx)];
const LISTINGS = 6;
/** The first minute ends this long after the start. */
const FIRST_MINUTE_MS = 26_000;
const CUT_BEFORE_MS = 1_000;
const CUT_FOR_MS = 2_500;

const { simulator, all, nameAll, reachInstant, minuteEndMs } = await collectAll(t, VENUES, {
  listings: LISTINGS,
  levels: 20,
  firstMinuteMs: FIRST_MINUTE_MS,
});
const streamed = all.filter(({ venue }) => venue.bookRule.style === 'stream');

t.test('every layer of every listing is present soon', async (t) => {
  await nothingMissing('present', () => nameAll((collected) => collected.absent()));
  for (const { venue } of all)
    t.same(
      Object.entries(venue.layers).filter(([, { policy }]) => policy !== 'on'),
      [],
      `${venue.id} collects all it publishes`,
    );
});

t.test('a hole costs one book until the snapshot of its new subscription, and no connection', async (t) => {
  const losses = (): readonly number[] =>
    streamed.map(({ memory }) => memory.of('lost').filter((lost) => !toText(lost).includes('successor')).length);
  const lostBefore = losses();
  const hit = (collected: Collected): string => collected.symbols[1] ?? '';
  const listBooks = (collected: Collected): readonly OfSymbol<Reading>[] =>
    collected.readings.filter(({ layer, symbol }) => layer === 'book' && symbol === hit(collected));
  for (const collected of streamed) {
    const { id } = collected.venue;
    simulator.inject({ kind: 'sequence_hole', venue: id, symbols: [hit(collected)] });
  }
  await nothingMissing('whole again', () =>
    nameAll((collected) => {
      collected.read();
      const books = listBooks(collected);
      const broke = books.findLastIndex(({ gap_cause }) => gap_cause === 'sequence_break');
      return broke >= 0 && books.slice(broke).some(({ valid }) => valid) ? [] : [hit(collected)];
    }, streamed),
  );
  t.same(losses(), lostBefore);
  for (const collected of streamed)
    t.same(collected.absent(), [], `${collected.venue.id}: everything else stayed present`);
});

t.test('every minute of trades is known after a cut over its end', async (t) => {
  await reachInstant('the end of the minute', minuteEndMs - CUT_BEFORE_MS);
  for (const { venue } of all) simulator.inject({ kind: 'disconnect', venue: venue.id, durationMs: CUT_FOR_MS });
  await nothingMissing('filled in', () => nameAll((collected) => collected.withoutMinute(minuteEndMs)));
  for (const collected of all) {
    const { venue, symbols, memory } = collected;
    t.ok(memory.of('lost').length > 0, `${venue.id} was cut`);
    const asked = memory
      .of('response')
      .filter(({ request }) => /\/(klines|kline|market\/candles)\?/.test(request ?? ''));
    t.ok(asked.length >= symbols.length, `${venue.id}: ${asked.length} answers of candles`);
    checkMinute(t, collected, minuteEndMs);
  }
  await nothingMissing('present again', () => nameAll((collected) => collected.absent()));
});

t.test('figures are those of the markets at their stamps', (t) => {
  for (const { venue, host, readings } of all) {
    for (const layer of ['ticker', 'mark', 'funding', 'oi', 'stats'] as const) {
      // Where a mark and its index come apart, their stamps may differ.
      if (layer === 'mark' && venue.id !== 'bybit') continue;
      let compared = 0;
      for (const { symbol, venue_ts, values } of readings.filter((reading) => reading.layer === layer)) {
        if (venue_ts === null) continue;
        const made = [...host.truth.rows({ symbol, layer, venueTs: venue_ts })];
        for (const [member, digits] of Object.entries(values)) {
          const true_ = made.flatMap((row) => (member in row.values ? [row.values[member]] : []));
          if (true_.length === 0) continue;
          if (!true_.includes(digits)) t.equal(digits, true_[0], `${venue.id} ${symbol} ${layer} ${member}`);
          compared += 1;
        }
      }
      t.ok(compared >= LISTINGS, `${venue.id} ${layer}: ${compared} compared`);
    }
  }
  t.end();
});

t.test('candles of every price that are known are those of the market', (t) => {
  for (const { venue, host, rows, symbols } of all) {
    const counts = new Map<string, number>();
    for (const symbol of symbols) {
      const made = [...host.truth.rows({ symbol, layer: 'candles' })];
      for (const { table, texts, figures, at } of rows.filter((row) => row.symbol === symbol)) {
        if (table !== 'candles' || texts.timeframe !== '1m') continue;
        const type = texts.price_type ?? '';
        const one = made.find(({ values }) => values.open_time === at && values.price_type === type);
        if (!one) continue;
        counts.set(type, (counts.get(type) ?? 0) + 1);
        for (const name of ['open', 'high', 'low', 'close'])
          if (figures[name] !== one.values[name]) t.equal(figures[name], one.values[name], `${symbol} ${type} ${name}`);
      }
    }
    t.comment(`${venue.id}: ${[...counts].map(([type, count]) => `${type} ${count}`).join(', ')}`);
    t.ok((counts.get('trade') ?? 0) >= LISTINGS, venue.id);
    // The cut hid the last frames of OKX's, which no request fetches; the others poll them.
    if (venue.id !== 'okx') t.ok((counts.get('mark') ?? 0) + (counts.get('index') ?? 0) > 0, `${venue.id}: polled`);
  }
  t.end();
});

t.test('each trade is published once, as it was made; liquidations are those of the market', (t) => {
  for (const collected of all) {
    const { venue, host, rows, symbols, memory } = collected;
    checkTrades(t, collected, 0);
    if (venue.bookRule.style === 'stream') {
      const renewed = memory.of('lost').filter((lost) => toText(lost).includes('successor'));
      t.ok(renewed.length > 0, `${venue.id}: ${renewed.length} connections renewed`);
    }
    for (const symbol of symbols) {
      const cascades = new Set(
        [...host.truth.rows({ symbol, layer: 'liquidations' })].map((row) => `${row.venue_ts} ${row.values.quantity}`),
      );
      const stored = rows.filter(
        ({ table, texts, symbol: of }) => table === 'liquidations' && texts.status === 'present' && of === symbol,
      );
      t.same(
        stored.filter(({ instants, figures }) => !cascades.has(`${instants.venue_ts} ${figures.quantity}`)),
        [],
      );
    }
  }
  t.end();
});

t.test('nothing that came is unreadable', (t) => {
  for (const collected of all) checkReadable(t, collected);
  t.end();
});
