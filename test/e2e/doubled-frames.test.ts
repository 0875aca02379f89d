// How the truth test judges a duplicate liquidation: a frame sent twice explains one row of an event without an id, nothing else does.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { FaultEntry } from '../../infra/dev/simulator/faults.ts';
import { FaultWindows } from '../support/truth/fault-rules.ts';
import { type Events, judgeEvents, type Row, type Rows } from '../support/truth/true-rows.ts';
import { TruthIndex } from '../support/truth/truth.ts';

const SENT = 1_760_000_000_000_000;
const SECOND = 1_000_000;
const SUBJECT = { venue: 'binance', symbol: 'ETHUSDT' };

const openTruth = (dir: string): TruthIndex => {
  const file = join(dir, 'truth.ndjson');
  const values = { side: 'long', price: '100.5', quantity: '2' };
  const truth = { ...SUBJECT, layer: 'liquidations', venue_ts: SENT, values };
  writeFileSync(file, `${JSON.stringify({ truth, written_at: SENT })}\n`);
  const index = new TruthIndex(file);
  index.read();
  return index;
};

const doubledAt = (...instants: readonly number[]): FaultEntry => ({
  id: 1,
  kind: 'duplicate',
  venue: SUBJECT.venue,
  from: SENT - SECOND,
  to: SENT + SECOND,
  symbols: [SUBJECT.symbol],
  streams: ['ethusdt@forceOrder'],
  layers: ['liquidations'],
  connections: [],
  settings: { count: instants.length },
  hits: instants.map((at) => ({ stream: 'ethusdt@forceOrder', at })),
  hit_count: instants.length,
});

const makeRow = (id: number, more: Row = {}): Row => ({
  listing: 'binance:ETHUSDT',
  venue_ts: String(SENT),
  received_at: String(SENT + id * 1_000),
  id: `collector.1.${id}.0`,
  side: 'long',
  price: '100.5',
  price_kind: 'fill',
  quantity: '2',
  digits: null,
  ...more,
});

t.test('liquidations that occur more than once', async (t) => {
  const truth = openTruth(t.testdir());
  const judged = (found: readonly Row[], faults: readonly FaultEntry[]): Promise<Events> => {
    const rows: Rows = async () => [...found];
    const windows = new FaultWindows(faults, new Map());
    const run = { from: SENT - 60 * SECOND, to: SENT + 60 * SECOND };
    return judgeEvents('liquidations', rows, { windows, truth, run, listed: [SUBJECT] });
  };
  const outcome = async (found: readonly Row[], faults: readonly FaultEntry[]) => {
    const { wrong, doubled } = await judged(found, faults);
    return { wrong: wrong.length, doubled };
  };
  const twice = [makeRow(1), makeRow(2)];
  t.same(await outcome([makeRow(1)], []), { wrong: 0, doubled: 0 }, 'once is true');
  t.same(await outcome(twice, []), { wrong: 1, doubled: 0 }, 'twice is wrong');
  t.same(await outcome(twice, [doubledAt(SENT)]), { wrong: 0, doubled: 1 }, 'unless its frame went out twice');
  t.same(
    await outcome([...twice, makeRow(3)], [doubledAt(SENT)]),
    { wrong: 1, doubled: 1 },
    'which explains one row and no more',
  );
  t.same(await outcome(twice, [doubledAt(SENT + 10 * SECOND)]), { wrong: 1, doubled: 0 }, 'none before it');
  t.same(await outcome(twice, [doubledAt(SENT - 10 * SECOND)]), { wrong: 1, doubled: 0 }, 'none long after it');
  const other = [makeRow(1), makeRow(2, { price: '100.6' })];
  t.same(await outcome(other, [doubledAt(SENT)]), { wrong: 1, doubled: 0 }, 'and no row with other contents');
  const elsewhere = { ...doubledAt(SENT), symbols: ['BTCUSDT'] };
  t.same(await outcome(twice, [elsewhere]), { wrong: 1, doubled: 0 }, 'nor one of another listing');
});
