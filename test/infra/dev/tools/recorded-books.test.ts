// Recordings of several channels of one listing's book, each of which has its own chain and its own book, and of connections that are opened again.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { normalise } from '../../../../infra/dev/tools/normalise.ts';
import { venues } from '../../../../ingest/venues/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'recorded-books-'));
t.teardown(() => rmSync(folder, { recursive: true }));

const TS = 1_790_000_000_000;

/** The nth message of one channel, which counts its ids from `base`: a snapshot first, then changes. Ask 11 is `n` contracts. */
type Channel = (n: number, base: number) => unknown;

const asks = (n: number, last: readonly unknown[] = []): readonly unknown[] => [['11', String(n + 1), ...last]];
const bids = (n: number, last: readonly unknown[] = []): readonly unknown[] => (n === 0 ? [['10', '5', ...last]] : []);

const bybit =
  (depth: number): Channel =>
  (n, base) => ({
    topic: `orderbook.${depth}.BTCUSDT`,
    type: n === 0 ? 'snapshot' : 'delta',
    ts: TS,
    data: { s: 'BTCUSDT', b: bids(n), a: asks(n), u: base + n, seq: base + n },
  });

const bitget =
  (name: 'channel' | 'topic', channel: string): Channel =>
  (n, base) => ({
    action: n === 0 || channel !== 'books' ? 'snapshot' : 'update',
    arg:
      name === 'topic'
        ? { instType: 'usdt-futures', topic: channel, symbol: 'BTCUSDT' }
        : { instType: 'USDT-FUTURES', channel, instId: 'BTCUSDT' },
    data: [
      {
        a: asks(n),
        b: channel === 'books' ? bids(n) : bids(0),
        seq: base + n,
        pseq: n === 0 ? 0 : base + n - 1,
        ts: String(TS),
      },
    ],
    ts: TS,
  });

const okx =
  (channel: string): Channel =>
  (n, base) => ({
    arg: { channel, instId: 'BTC-USDT-SWAP' },
    action: n === 0 ? 'snapshot' : 'update',
    data: [
      {
        asks: asks(n, ['0', '1']),
        bids: bids(n, ['0', '1']),
        ts: String(TS),
        prevSeqId: n === 0 ? -1 : base + n - 1,
        seqId: base + n,
      },
    ],
  });

/** The venue numbers nothing: levels of another price show whose book a channel changes. */
const bitmex =
  (table: string): Channel =>
  (n, base) => {
    const level = (id: number, side: string, size: number, price: number): unknown => ({
      symbol: 'XBTUSD',
      id: base + id,
      side,
      size,
      price,
    });
    const data = [...(n === 0 ? [level(0, 'Buy', 5, 10)] : []), level(1, 'Sell', n + 1, 11 + (base % 7))];
    return {
      table,
      action: n === 0 ? 'partial' : 'update',
      ...(n === 0 ? { filter: { symbol: 'XBTUSD' } } : {}),
      data,
    };
  };

const deribit =
  (interval: string): Channel =>
  (n, base) => ({
    jsonrpc: '2.0',
    method: 'subscription',
    params: {
      channel: `book.BTC-PERPETUAL.${interval}`,
      data: {
        type: n === 0 ? 'snapshot' : 'change',
        timestamp: TS,
        instrument_name: 'BTC-PERPETUAL',
        change_id: base + n,
        ...(n === 0 ? {} : { prev_change_id: base + n - 1 }),
        bids: n === 0 ? [['new', 10, 5]] : [],
        asks: [[n === 0 ? 'new' : 'change', 11, n + 1]],
      },
    },
  });

const htxFrame = (topic: string, tick: object): unknown => ({
  ch: `market.BTC-USDT.${topic}`,
  ts: TS,
  tick: { ts: TS, ...tick },
});
const htxDiffs: Channel = (n, base) =>
  htxFrame('depth.size_150.high_freq', {
    event: n === 0 ? 'snapshot' : 'update',
    version: base + n,
    asks: [[11, n + 1]],
    bids: n === 0 ? [[10, 5]] : [],
  });
const htxWhole: Channel = (n, base) =>
  htxFrame('depth.step0', { version: base + n, asks: [[11, n + 1]], bids: [[10, 5]] });

const gateStream =
  (depth: number): Channel =>
  (n, base) => ({
    time_ms: TS,
    channel: 'futures.obu',
    event: 'update',
    result: {
      t: TS,
      s: `ob.BTC_USDT.${depth}`,
      ...(n === 0 ? { full: true } : { U: base + n }),
      u: base + n,
      b: bids(n),
      a: asks(n),
    },
  });
const gateDiffs: Channel = (n, base) => ({
  time_ms: TS,
  channel: 'futures.order_book_update',
  event: 'update',
  result: {
    t: TS,
    s: 'BTC_USDT',
    ...(n === 0 ? { full: true } : { U: base + n }),
    u: base + n,
    b: n === 0 ? [{ p: '10', s: 5 }] : [],
    a: [{ p: '11', s: n + 1 }],
  },
});

const CHANNELS: Readonly<Record<string, readonly Channel[]>> = {
  bybit: [bybit(50), bybit(200)],
  bitget: [bitget('topic', 'books'), bitget('channel', 'books'), bitget('topic', 'books15')],
  okx: [okx('books'), okx('books-l2-tbt')],
  bitmex: [bitmex('orderBookL2'), bitmex('orderBookL2_25')],
  deribit: [deribit('raw'), deribit('100ms')],
  htx: [htxDiffs, htxWhole],
  gate: [gateStream(400), gateStream(50), gateDiffs],
};

type WholeLine = {
  readonly values: { readonly bands: Readonly<Record<string, { readonly complete: unknown } | undefined>> };
};

/** Printed lines without their source. */
const OPEN = { kind: 'ws', dir: 'open', url: 'wss://venue', raw: '' };
const isLine = (raw: unknown): boolean => typeof raw === 'object' && raw !== null && 'dir' in raw;
const toLine = (raw: unknown): unknown => (isLine(raw) ? raw : { kind: 'ws', dir: 'in', raw: JSON.stringify(raw) });

const read = async (id: string, assembled: boolean, messages: readonly unknown[]): Promise<readonly string[]> => {
  const venue = venues.get(id);
  if (venue === undefined) throw new Error(`${id} is no venue`);
  const path = join(folder, 'recording.ndjson');
  writeFileSync(path, messages.map((raw) => `${JSON.stringify(toLine(raw))}\n`).join(''));
  const lines: string[] = [];
  await normalise({
    venue,
    files: [path],
    assembled,
    write: (line) => void lines.push(line.replace(/,"src":.*$/, '')),
  });
  return lines;
};

const LENGTH = 4;
const messagesOf = (channel: Channel, place: number): readonly unknown[] =>
  Array.from({ length: LENGTH }, (_, n) => channel(n, 1_000 * (place + 1) * (place + 2)));

t.test('channels of one book do not disturb each other', async (t) => {
  for (const [id, channels] of Object.entries(CHANNELS)) {
    const apart = channels.map(messagesOf);
    const together = Array.from({ length: LENGTH }, (_, n) => apart.map((messages) => messages[n])).flat();
    for (const assembled of [false, true]) {
      const alone: (readonly string[])[] = [];
      for (const messages of apart) alone.push(await read(id, assembled, messages));
      t.ok(
        alone.every((lines) => lines.length === LENGTH),
        `${id}: each channel alone gives a book a message`,
      );
      const expected = Array.from({ length: LENGTH }, (_, n) => alone.map((lines) => lines[n])).flat();
      t.strictSame(await read(id, assembled, together), expected, `${id} ${assembled ? 'assembled' : 'as published'}`);
    }
  }
});

t.test('a whole side of a recording is no longer whole when it has the levels of its channel (L-03)', async (t) => {
  const bookOf = (type: string, u: number, b: readonly (readonly string[])[]): unknown => ({
    topic: 'orderbook.50.BTCUSDT',
    type,
    ts: TS,
    data: { s: 'BTCUSDT', b, a: type === 'snapshot' ? [['11', '1']] : [], u, seq: u },
  });
  const bids = Array.from({ length: 50 }, (_, i) => [(10.999 - i / 1_000).toFixed(3), '1']);
  const lines = await read('bybit', true, [
    bookOf('snapshot', 2, bids.slice(0, 1)),
    bookOf('delta', 3, bids.slice(1, 49)),
    bookOf('delta', 4, bids.slice(49)),
  ]);
  const complete = lines.map((line) => (JSON.parse(`${line}}`) as WholeLine).values.bands['100bps']?.complete);
  t.same(complete, [
    { bid: true, ask: true },
    { bid: true, ask: true },
    { bid: false, ask: true },
  ]);
});

const bybitTicker: Channel = (n) => ({
  topic: 'tickers.BTCUSDT',
  type: n === 0 ? 'snapshot' : 'delta',
  ts: TS + n,
  cs: n,
  data: { symbol: 'BTCUSDT', ...(n === 0 ? { markPrice: '1', indexPrice: '2' } : {}), openInterest: String(n + 1) },
});
const bitmexInstrument: Channel = (n) => ({
  table: 'instrument',
  action: n === 0 ? 'partial' : 'update',
  data: [{ symbol: 'XBTUSD', ...(n === 0 ? { typ: 'FFWCSX', markPrice: 1, lastPrice: 2 } : {}), openInterest: n + 1 }],
});
/** The first message of a subscription is the past. */
const hyperliquidTrades: Channel = (n) => ({
  channel: 'trades',
  data: [{ coin: 'BTC', side: 'A', px: '1', sz: '1', time: TS + n, hash: '0x', tid: n }],
});
const dydxBook: Channel = (n) => ({
  type: n === 0 ? 'subscribed' : 'channel_data',
  channel: 'v4_orderbook',
  id: 'BTC-USD',
  contents:
    n === 0
      ? { bids: [{ price: '10', size: '5' }], asks: [{ price: '11', size: '1' }] }
      : { bids: [], asks: [['11', String(n + 1)]] },
});
const krakenBook: Channel = (n, base) => {
  const head = { product_id: 'PF_XBTUSD', seq: base + n, timestamp: TS };
  return n === 0
    ? { feed: 'book_snapshot', ...head, bids: [{ price: 10, qty: 5 }], asks: [{ price: 11, qty: 1 }] }
    : { feed: 'book', ...head, side: 'sell', price: 11, qty: n + 1 };
};

/** Channels whose messages continue what their own connection told. Gate's books are joined with REST snapshots, which outlive a connection. */
const CONTINUED: Readonly<Record<string, readonly Channel[]>> = {
  ...CHANNELS,
  bybit: [...(CHANNELS.bybit ?? []), bybitTicker],
  bitmex: [...(CHANNELS.bitmex ?? []), bitmexInstrument],
  hyperliquid: [hyperliquidTrades],
  dydx: [dydxBook],
  'kraken-futures': [krakenBook],
  gate: [],
};

t.test('a connection that is opened again continues nothing of the one before', async (t) => {
  for (const [id, channels] of Object.entries(CONTINUED)) {
    for (const [place, channel] of channels.entries()) {
      const before = [OPEN, ...messagesOf(channel, place)];
      // Changes first: they are of a book or a ticker that this connection has not told yet.
      const [first, second, ...changes] = messagesOf(channel, place + 1);
      const after = [OPEN, ...changes, first, second];
      for (const assembled of [false, true]) {
        const expected = [...(await read(id, assembled, before)), ...(await read(id, assembled, after))];
        const form = assembled ? 'assembled' : 'as published';
        t.strictSame(await read(id, assembled, [...before, ...after]), expected, `${id} ${place} ${form}`);
      }
    }
  }
});

t.test('nor of one that was open when the recording began, whose address it does not have (D-945)', async (t) => {
  for (const [id, channels] of Object.entries(CONTINUED)) {
    for (const [place, channel] of channels.entries()) {
      const before = messagesOf(channel, place);
      const [first, second, ...changes] = messagesOf(channel, place + 1);
      const after = [OPEN, ...changes, first, second];
      const expected = [...(await read(id, false, before)), ...(await read(id, false, after))];
      t.strictSame(await read(id, false, [...before, ...after]), expected, `${id} ${place}`);
    }
  }
});

t.test(
  'but for books that join a snapshot with diffs: their chain proves them across connections (D-251)',
  async (t) => {
    const messages = Array.from({ length: 2 * LENGTH }, (_, n) => gateDiffs(n, 1_000));
    const cut = [OPEN, ...messages.slice(0, LENGTH), OPEN, ...messages.slice(LENGTH)];
    for (const assembled of [false, true]) {
      const expected = await read('gate', assembled, messages);
      t.equal(expected.length, messages.length);
      t.strictSame(await read('gate', assembled, cut), expected, assembled ? 'assembled' : 'as published');
    }
  },
);

t.test('and but for what answers tell: names of coins outlive a connection (D-251, D-252)', async (t) => {
  const meta = {
    kind: 'rest',
    dir: 'in',
    url: null,
    raw: JSON.stringify({ universe: [{ name: 'BTC', szDecimals: 5 }] }),
  };
  const contexts = { channel: 'allDexsAssetCtxs', data: { ctxs: [['', [{ markPx: '42000' }]]] } };
  const marks = async (messages: readonly unknown[]): Promise<readonly string[]> =>
    (await read('hyperliquid', false, messages)).filter((line) => line.startsWith('{"layer":"mark"'));
  const [mark] = await marks([OPEN, meta, contexts]);
  t.match(mark, '"venue_symbol":"BTC"');
  t.strictSame(await marks([OPEN, meta, contexts, OPEN, contexts]), [mark, mark]);
  const other = { ...meta, raw: JSON.stringify({ universe: [{ name: 'xyz:GOLD', szDecimals: 2 }] }) };
  const told = { channel: 'post', data: { response: { type: 'info', payload: { data: JSON.parse(meta.raw) } } } };
  t.strictSame(await marks([OPEN, told, other, contexts]), [mark], 'an answer takes nothing from a connection');
});
