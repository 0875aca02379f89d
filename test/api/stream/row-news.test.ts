// What streams were told of a candle: taken over from the log before a node's own beginning, and forgotten at the seal or in time (ST-03, ST-05).
import t from 'tap';
import { RowNews } from '../../../api/stream/row-news.ts';
import { type LiveEntry, makeLiveEntry, type Row } from '../../../schemas/topics.ts';

const MINUTE = 60_000_000;
const BINANCE = { venue: 'binance', task: 'binance/0' } as const;
const OKX = { venue: 'okx', task: 'okx/0' } as const;
const row: Row = {
  table: 'candles',
  at: 0,
  texts: { status: 'present', price_type: 'trade', timeframe: '1m', quantity_unit: 'base' },
  instants: { close_time: MINUTE, received_at: MINUTE },
  integers: { minutes_expected: 1, minutes_present: 1, minutes_no_trades: 0, src_offset: 1 },
  figures: { open: '1', high: '2', low: '1', close: '2', volume: '0.5' },
  flags: { late: false },
};
const makeEntry = (kind: 'provisional' | 'sealed', at: number, of: Row = row): LiveEntry =>
  makeLiveEntry({ kind, symbol: 'BTCUSDT', row: of, offset: at, index: 0, recorded_at: at });

t.test('what was told before the beginning is told no more', async (t) => {
  const [past, news] = [new RowNews(), new RowNews()];
  t.equal(past.takes({ ...BINANCE, entry: makeEntry('provisional', MINUTE) }), true);
  t.equal(past.takes({ ...OKX, entry: makeEntry('provisional', MINUTE) }), true, 'each listing has its own');
  for (const other of [{ price_type: 'mark' }, { timeframe: '5m' }]) {
    const own = makeEntry('provisional', MINUTE, { ...row, texts: { ...row.texts, ...other } });
    t.equal(past.takes({ ...BINANCE, entry: own }), true, 'each kind of price and each timeframe has its own');
  }
  t.equal(past.takes({ ...BINANCE, entry: { ...makeEntry('provisional', MINUTE), symbol: 'ETHUSDT' } }), true);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('provisional', MINUTE, { ...row, at: MINUTE }) }), true);
  news.join(past);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', 3 * MINUTE) }), false);
  t.equal(
    news.takes({ ...OKX, entry: makeEntry('sealed', 3 * MINUTE, { ...row, figures: { ...row.figures, high: '3' } }) }),
    true,
  );
});

t.test('what came first here, and had been told before, is found when that is known', async (t) => {
  const [past, news] = [new RowNews(), new RowNews()];
  const changed = { ...row, at: MINUTE, figures: { ...row.figures, high: '3' } };
  past.takes({ ...BINANCE, entry: makeEntry('provisional', MINUTE) });
  past.takes({ ...BINANCE, entry: makeEntry('provisional', 2 * MINUTE, { ...row, at: MINUTE }) });
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', 3 * MINUTE) }), true, 'as far as is known');
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('provisional', 3 * MINUTE + 1, changed) }), true);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', 4 * MINUTE, changed) }), false);
  t.same([...news.join(past)], [`binance/0|${3 * MINUTE}|0`], 'one that has changed is news');
});

t.test('a candle is remembered until it is sealed, and for a quarter of an hour at most', async (t) => {
  const news = new RowNews();
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('provisional', MINUTE) }), true);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', 3 * MINUTE) }), false);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', 3 * MINUTE) }), true, 'nothing is kept of it');
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('provisional', 4 * MINUTE) }), true);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('provisional', 20 * MINUTE, { ...row, at: 19 * MINUTE }) }), true);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('provisional', 20 * MINUTE) }), true, 'it is forgotten');
});

t.test('readings, late rows and gaps that are not decided are no rows of streams', async (t) => {
  const news = new RowNews();
  t.equal(news.takes({ ...BINANCE, entry: null }), false);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', MINUTE, { ...row, table: 'mark' }) }), false);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', MINUTE, { ...row, flags: { late: true } }) }), false);
  const gap: Row = { ...row, texts: { ...row.texts, status: 'missing', gap_cause: 'no_update' }, figures: {} };
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('provisional', MINUTE, gap) }), false);
  t.equal(news.takes({ ...BINANCE, entry: makeEntry('sealed', 3 * MINUTE, gap) }), true);
});
