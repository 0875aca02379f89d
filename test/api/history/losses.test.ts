// Losses of connections: what history tells of an instant is what live answers told then (F-05), however much of the spans the store shows.
import fc from 'fast-check';
import t from 'tap';
import { gatherLosses } from '../../../api/history/gather.ts';
import type { ReadingRow } from '../../../api/history/series.ts';
import { HistoryReader } from '../../../api/history/store.ts';
import type { StoredReading } from '../../../api/history/stored-row.ts';
import { NO_PARTITIONS } from '../../../api/live/memory.ts';
import { findLoss } from '../../../api/live/partition.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import type { Span } from '../../../schemas/topics.ts';
import { COUNTS_WITHIN, SEALS_AFTER } from '../../../schemas/windows.ts';
import { market, NOW } from '../../support/apps/live-fixture.ts';

const SECOND = 1_000_000;
/** Microseconds of the seconds of a log. */
const at = (seconds: number): number => NOW - 600 * SECOND + Math.round(seconds * SECOND);

type Stored = Span & { readonly recordedAt: number };

const span = (from: number, to: number | null, cause: Span['cause'] = to === null ? null : 'collector_down'): Span => ({
  ...{ conn_id: 'c7', slot: 'market', from: at(from), cause },
  to: to === null ? null : at(to),
});
const stored = (from: number, to: number, recordedAt: number, cause: Span['cause'] = 'collector_down'): Stored => ({
  ...span(from, to, cause),
  recordedAt: at(recordedAt),
});

type Known = {
  readonly memory: readonly Span[];
  readonly store: readonly Stored[];
  /** Second up to which the store shows everything. */
  readonly visible: number;
};

/** When the reading received at a second was lost, as of another: of live answers, and of history. */
const askBoth = async ({ memory, store, visible }: Known, received: number, asked: number) => {
  const feed = market();
  const listing = findDirectory(feed.memory).listings.find(({ venueSymbol }) => venueSymbol === 'BTCUSDT');
  if (listing === undefined) throw new Error('the market lists no BTCUSDT');
  for (const one of memory) feed.entry('binance', { kind: 'connection', span: one });
  feed.memory.applyHistoryWatermark('binance', 0, at(visible));
  const isAsked = (one: Stored, [to, from]: readonly string[]): boolean =>
    one.from <= Date.parse(to ?? '') * 1_000 + 999 && (one.to ?? 0) >= Date.parse(from ?? '') * 1_000;
  const query = async ({ values }: { readonly values: readonly string[] }) =>
    store
      .filter((one) => isAsked(one, values))
      .map(({ conn_id, from, to, recordedAt, cause }) => [conn_id, from, to, recordedAt, cause].map(String));
  const reader = new HistoryReader({ query, ping: async () => undefined, close: async () => undefined } as never, '');
  const reading = { conn_id: 'c7', received_at: at(received), horizon_source: 'connection' } as StoredReading;
  const row = { reading } as ReadingRow;
  const losses = await gatherLosses({ reader, live: feed.memory }, [[listing, row]], at(asked));
  return {
    live: findLoss(feed.memory.venue('binance')?.partitions ?? NO_PARTITIONS, 'BTCUSDT', reading),
    history: losses(listing, reading, at(asked)),
  };
};

t.test('a stall that ends holds back what was received before the loss it made', async (t) => {
  // Nothing names the connection from 100 to 110, so it was lost at 103 (F-02). What is recorded then was received from 100.1 on.
  const lost = stored(0, 103, 103.5);
  const goesOn = { memory: [span(0, 103), span(100.1, null)], store: [lost], visible: 110 };
  t.same(await askBoth(goesOn, 102, 111), { live: null, history: null }, 'it came on the span that goes on');
  t.same(await askBoth(goesOn, 99, 111), { live: at(103), history: at(103) }, 'naming it again proves nothing (F-04)');
  const settled = { ...goesOn, visible: 300 };
  t.same(await askBoth(settled, 102, 111), { live: null, history: null }, 'and stays so when it is final');
  const ended = { memory: [span(0, 103), span(100.1, 200)], store: [lost, stored(100.1, 200, 200.5)], visible: 400 };
  t.same(await askBoth(ended, 102, 210), { live: at(200), history: at(200) });
  t.equal((await askBoth({ ...ended, memory: [] }, 102, 210)).history, at(200), 'memory has forgotten it');
});

t.test('a reading that is stamped after the loss of its connection is lost', async (t) => {
  const known = { memory: [span(0, 50, 'connection_lost')], store: [], visible: 51 };
  t.same(await askBoth(known, 50.013, 51), { live: at(50), history: at(50) });
  const settled = { ...known, store: [stored(0, 50, 50.2, 'connection_lost')], visible: 400 };
  t.same(await askBoth(settled, 50.013, 51), { live: at(50), history: at(50) });
});

t.test('a loss that was recorded too late counts in no answer about before (N-11)', async (t) => {
  const [later, second] = [COUNTS_WITHIN / SECOND + 1, SEALS_AFTER / SECOND + 1];
  const known = {
    memory: [span(0, 50, 'connection_lost')],
    store: [stored(0, 50, 60 + later, 'connection_lost')],
    visible: 60 + 2 * second,
  };
  t.equal((await askBoth(known, 40, 60)).history, null);
  t.equal((await askBoth(known, 40, 70)).history, at(50));
});

t.test('whatever part of the spans the store shows, history and live answers agree', async (t) => {
  const life = fc.record({ quiet: fc.integer({ min: 1, max: 20 }), overlap: fc.nat(3) });
  const lives = fc.array(life, { maxLength: 6 });
  const agrees = async (
    chain: readonly { readonly quiet: number; readonly overlap: number }[],
    shown: number,
    received: number,
    isAlive: boolean,
  ): Promise<boolean> => {
    let from = 0;
    const all = chain.map(({ quiet, overlap }, i): Span => {
      const began = from;
      const to = began + quiet + 3;
      from = Math.max(began + 1, to - overlap);
      return isAlive && i === chain.length - 1 ? span(began, null) : span(began, to);
    });
    const ended = all.flatMap((one) => (one.to === null ? [] : [{ ...one, recordedAt: one.to + SECOND }]));
    const latest = all.at(-1)?.to ?? at(100);
    const { live, history } = await askBoth(
      { memory: all, store: ended.slice(0, shown), visible: shown >= ended.length ? 500 : 0 },
      Math.min(received / 4, (latest - at(0)) / SECOND),
      150,
    );
    return live === history;
  };
  await fc.assert(fc.asyncProperty(lives, fc.nat(6), fc.nat(400), fc.boolean(), agrees), { numRuns: 300 });
  t.pass('300 chains of spans');
});
