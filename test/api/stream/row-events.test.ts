// GET /v2/stream of trades, liquidations and candles: when each is sent, and the reasons of null figures (ST-03, ST-08, H-11).
import t from 'tap';
import type { Row } from '../../../schemas/topics.ts';
import { LISTED, listing, listingValues, NOW } from '../../support/apps/live-fixture.ts';
import type { StreamClient } from '../../support/services/stream-client.ts';
import { Bench, BTC, refusal, SECOND } from './bench.ts';

const TRADE: Row = {
  table: 'trades',
  at: NOW + SECOND,
  texts: {
    listing: 'binance|BTCUSDT',
    venue: 'binance',
    status: 'present',
    id: '77',
    side: 'buy',
    quantity_unit: 'base',
  },
  instants: { venue_ts: NOW, recorded_at: NOW + SECOND },
  integers: { src_offset: 9 },
  figures: { price: '60000.5', quantity: '0.2' },
  flags: { late: false },
};

const CANDLE: Row = {
  table: 'candles',
  at: NOW - 500_000,
  texts: {
    listing: 'binance|BTCUSDT',
    venue: 'binance',
    status: 'missing',
    gap_cause: 'no_update',
    price_type: 'mark',
    timeframe: '5m',
  },
  instants: { close_time: NOW - 500_000 + 300 * SECOND },
  integers: { minutes_expected: 5, minutes_present: 3, minutes_no_trades: 1, src_offset: 9 },
  figures: {},
  flags: { late: false },
};

const listCandles = (client: StreamClient, priceType: string): Record<string, unknown>[] =>
  client
    .named('candle')
    .filter(({ data }) => data.price_type === priceType)
    .map(({ data }) => data.row as Record<string, unknown>);

t.test('sends trades, liquidations and decided candles once, also to a client that resumes', async (t) => {
  const bench = await Bench.open(t);
  const query = `${BTC},trade,liquidation,candles&timeframe=5m&units=quote`;
  const client = await bench.ready(query);
  const [twin, inBase] = [await bench.ready(query), await bench.ready(query.replace('quote', 'base'))];
  t.same(client.events[0]?.data.layers, ['candles', 'liquidation', 'mark', 'trade']);
  const candlesOnly = query.replace('mark,trade,liquidation,', '');
  const converting = await bench.ready(candlesOnly);
  t.same(converting.events[0]?.data.freshness, { mark: '30s' }, 'volumes convert with the mark (N-07)');
  const published = await bench.ready(candlesOnly.replace('&units=quote', ''));
  t.same(published.events[0]?.data.freshness, {});
  const { lastId } = client;
  bench.pass(SECOND);
  const publish = (kind: 'event' | 'sealed' | 'provisional', row: Row) =>
    bench.feed.entry('binance', { kind, symbol: 'BTCUSDT', row });
  publish('event', TRADE);
  publish('event', { ...TRADE, flags: { late: true } });
  publish('event', { ...TRADE, table: 'liquidations', texts: { ...TRADE.texts, side: 'long', price_kind: 'fill' } });
  publish('provisional', CANDLE);
  publish('sealed', { ...CANDLE, texts: { ...CANDLE.texts, timeframe: '1m' } });
  publish('sealed', CANDLE);
  publish('sealed', {
    ...CANDLE,
    texts: { venue: 'binance', status: 'present', price_type: 'trade', timeframe: '5m', quantity_unit: 'base' },
    figures: { open: '1', high: '2', low: '1', close: '2', volume: '0.5', turnover: '30000' },
    integers: { ...CANDLE.integers, trades: 12 },
  });
  // The period in which the listing was first seen.
  publish('sealed', { ...CANDLE, at: LISTED - SECOND, texts: { ...CANDLE.texts, gap_cause: 'not_listed' } });
  await client.untilCount('candle', 3);
  const [trade, liquidation] = client.named('event');
  t.same(trade?.data, {
    venue: 'binance',
    venue_symbol: 'BTCUSDT',
    instrument: 'BTC-PERP',
    layer: 'trade',
    rows: [
      {
        venue_ts: '2026-01-15T12:00:00.500Z',
        received_at: '2026-01-15T12:00:01.500Z',
        side: 'buy',
        price: 60000.5,
        quantity: 12000.1,
        value: 12000.1,
        id: '77',
        conversion: { multiplier: 1, contract_size: 1 },
      },
    ],
  });
  t.match(liquidation?.data, { layer: 'liquidation', rows: [{ side: 'long', price_kind: 'fill' }] });
  const [gap, candle, first] = client.named('candle');
  const before = (first?.data.row ?? {}) as Record<string, unknown>;
  t.match(before, { status: 'missing', reason: 'not_retained' });
  t.equal(before.gap_cause, undefined, 'not_retained goes before not_listed (H-16f)');
  t.same(gap?.data, {
    venue: 'binance',
    venue_symbol: 'BTCUSDT',
    instrument: 'BTC-PERP',
    timeframe: '5m',
    price_type: 'mark',
    row: {
      open_time: '2026-01-15T12:00:00.000Z',
      close_time: '2026-01-15T12:05:00.000Z',
      status: 'missing',
      reason: 'gap',
      gap_cause: 'no_update',
      received_at: null,
      open: null,
      high: null,
      low: null,
      close: null,
      volume: null,
      base_candles: { expected: 5, present: 3, no_trades: 1 },
    },
  });
  const mark = { mark: 60000, mark_received_at: '2026-01-15T12:00:00.184512Z' };
  t.match(candle?.data, {
    price_type: 'trade',
    row: {
      close: 2,
      volume: 30000,
      turnover: 30000,
      trades: 12,
      conversion: { multiplier: 1, contract_size: 1, ...mark },
    },
  });
  await inBase.untilCount('candle', 3);
  t.match(inBase.named('candle')[1]?.data.row, { volume: 0.5 });
  const { conversion } = (inBase.named('candle')[1]?.data.row ?? {}) as Record<string, unknown>;
  t.same(conversion, { multiplier: 1, contract_size: 1 }, 'without the mark, which it did not need (N-07)');
  t.equal(client.named('event').length, 2, 'late rows are part of no answer');
  t.equal(client.named('candle').length, 3, 'other timeframes, and gaps that are not decided, neither');
  const again = await bench.resume(query, lastId);
  const listRows = (c: StreamClient) => c.events.filter((e) => e.event === 'event' || e.event === 'candle');
  t.same(
    listRows(again).map((e) => e.data),
    listRows(client).map((e) => e.data),
  );
  await twin.untilCount('candle', 3);
  t.same(listRows(twin), listRows(client), 'whoever else follows the listing');
});

t.test('rows have the reason of a null figure, as POST candles and liquidations do (L-07, H-11, H-16e)', async (t) => {
  const bench = await Bench.open(t);
  const swap = {
    venue_symbol: 'BTCUSDT',
    quantity_unit: 'contracts',
    contract_size: '0.01',
    multiplier: null,
  } as const;
  bench.feed.list(listing('binance', listingValues(swap), { writtenAt: LISTED + 1 }));
  const client = await bench.ready(`${BTC},liquidation,candles&timeframe=5m&units=base`);
  bench.pass(SECOND);
  const prices = { open: '1', high: '2', low: '1', close: '2' };
  for (const [price_type, at, figures] of [
    ['trade', CANDLE.at, prices],
    ['mark', CANDLE.at, prices],
    ['index', CANDLE.at, prices],
    ['trade', CANDLE.at + 300 * SECOND, { ...prices, volume: '7' }],
  ] as const) {
    const texts = { venue: 'binance', status: 'present', price_type, timeframe: '5m' };
    bench.feed.entry('binance', { kind: 'sealed', symbol: 'BTCUSDT', row: { ...CANDLE, at, texts, figures } });
  }
  const texts = { ...TRADE.texts, side: 'long', price_kind: 'fill', quantity_unit: 'contracts' };
  bench.feed.entry('binance', {
    kind: 'event',
    symbol: 'BTCUSDT',
    row: { ...TRADE, table: 'liquidations', texts },
  });
  const candles = (await client.untilCount('candle', 4)).map(({ data }) => data.row as Record<string, unknown>);
  t.same(
    candles.map(({ volume, null_reasons }) => ({ volume, null_reasons })),
    [
      { volume: null, null_reasons: { volume: 'no_value' } },
      { volume: null, null_reasons: { volume: 'venue_capability' } },
      { volume: null, null_reasons: { volume: 'venue_capability' } },
      { volume: null, null_reasons: { volume: 'unit_unknown' } },
    ],
  );
  const [liquidation] = await client.untilCount('event', 1);
  t.match(liquidation?.data.rows, [
    {
      quantity: null,
      // 0.2 contracts of 0.01 at 60,000.5: the multiplier cancels.
      value: 120.001,
      conversion: { multiplier: null, contract_size: 0.01 },
      null_reasons: { quantity: 'unit_unknown' },
    },
  ]);
  bench.pass(2 * SECOND);
  const resized = listingValues({ ...swap, contract_size: '1' });
  bench.feed.list(listing('binance', resized, { writtenAt: NOW + 2 * SECOND }));
  bench.feed.entry('binance', {
    kind: 'event',
    symbol: 'BTCUSDT',
    row: { ...TRADE, table: 'liquidations', texts: { ...texts, id: '78' } },
  });
  const [, recordedBefore] = await client.untilCount('event', 2);
  const conversion = { multiplier: null, contract_size: 0.01 };
  t.match(
    recordedBefore?.data.rows,
    [{ value: 120.001, conversion }],
    'by the version of when it was recorded (H-16k)',
  );
});

t.test('a layer of rows may be requested by any of its names (L-01)', async (t) => {
  const bench = await Bench.open(t);
  for (const [alias, name] of [
    ['trades', 'trade'],
    ['candle', 'candles'],
    ['liquidations', 'liquidation'],
  ] as const) {
    const named = await bench.ready(`${BTC},${name}`);
    t.same(named.events[0]?.data.layers, [name, 'mark'].sort());
    const again = await bench.resume(`${BTC},${alias}`, named.lastId);
    t.same(again.events[0]?.data.layers, named.events[0]?.data.layers, alias);
    t.equal(again.events[0]?.data.resumed, true, 'it is the same selection');
    const twice = await bench.ready(`${BTC},${alias},${name}`);
    t.same(twice.events[0]?.data.layers, named.events[0]?.data.layers, `${alias} and ${name}`);
  }
  t.same(await refusal(await bench.stream('layers=trades', bench.test.as('free'))), [403, 'PLAN_LIMIT /layers']);
});

t.test('a client that is cut off after any row receives those after it, and none again (ST-05)', async (t) => {
  const bench = await Bench.open(t);
  const query = 'where=base%20in%20(BTC%2C%20ETH)&layers=trade,candles&timeframe=5m&snapshot=false';
  const client = await bench.ready(query);
  bench.pass(SECOND);
  const trade = (symbol: string, id: string) =>
    bench.feed.entry('binance', {
      ...{ kind: 'event', symbol },
      row: { ...TRADE, texts: { ...TRADE.texts, listing: `binance|${symbol}`, id } },
    });
  const candle = (priceType: string) =>
    bench.feed.entry('binance', {
      ...{ kind: 'sealed', symbol: 'BTCUSDT' },
      row: { ...CANDLE, texts: { ...CANDLE.texts, price_type: priceType } },
    });
  // All of these come within one turn of the process.
  for (const id of ['1', '2']) trade('BTCUSDT', id);
  trade('ETHUSDT', '3');
  trade('BTCUSDT', '4');
  candle('mark');
  candle('index');
  trade('BTCUSDT', '5');
  await client.until(() => JSON.stringify(client.named('event').map(({ data }) => data.rows)).includes('"id":"5"'));
  const listRows = (c: StreamClient) => c.events.filter(({ event }) => event === 'event' || event === 'candle');
  const rows = listRows(client);
  const listIds = ({ data }: (typeof rows)[number]) =>
    ((data.rows ?? []) as { readonly id: string }[]).map(({ id }) => id).join() || 'candle';
  t.same(rows.map(listIds), ['1,2', '3', '4', 'candle', 'candle', '5'], 'of one listing, as they follow each other');
  for (const [i, { id }] of rows.entries()) {
    const again = await bench.resume(query, id);
    t.same(listRows(again).map(listIds), rows.slice(i + 1).map(listIds), `after row ${i}`);
  }
});

t.test(
  'a candle is sent when it is complete, again when its row changes, and not again when it is sealed (ST-03)',
  async (t) => {
    const bench = await Bench.open(t);
    const query = `${BTC.replace('layers=mark', 'layers=candles')}&timeframe=5m`;
    const client = await bench.ready(query);
    const ids = [client.lastId];
    const texts = { venue: 'binance', status: 'present', price_type: 'trade', timeframe: '5m', quantity_unit: 'base' };
    const row: Row = {
      ...CANDLE,
      texts,
      instants: { ...CANDLE.instants, received_at: NOW + SECOND, recorded_at: NOW + SECOND },
      integers: { ...CANDLE.integers, minutes_present: 4, trades: 12 },
      figures: { open: '1', high: '2', low: '1', close: '2', volume: '0.5' },
    };
    const corrected: Row = { ...row, figures: { ...row.figures, close: '1.5' } };
    const publish = async (kind: 'provisional' | 'sealed', one: Row): Promise<void> => {
      bench.pass(SECOND);
      bench.feed.entry('binance', { kind, symbol: 'BTCUSDT', row: one });
      // What is not news is seen by what follows it.
      bench.feed.entry('binance', {
        kind: 'sealed',
        symbol: 'BTCUSDT',
        row: { ...CANDLE, at: CANDLE.at + ids.length * 300 * SECOND, texts: { ...CANDLE.texts, price_type: 'index' } },
      });
      await client.until(() => listCandles(client, 'index').length === ids.length);
      ids.push(client.lastId);
    };
    await publish('provisional', row);
    await publish('provisional', { ...row, integers: { ...row.integers, src_offset: 10 } });
    await publish('provisional', corrected);
    await publish('sealed', corrected);
    await publish('provisional', { ...row, at: row.at - 300 * SECOND });
    await publish('sealed', { ...row, at: row.at - 300 * SECOND, figures: { ...row.figures, high: '3' } });
    const told = listCandles(client, 'trade');
    t.same(
      told.map(({ open_time, high, close }) => [open_time, high, close]),
      [
        ['2026-01-15T12:00:00.000Z', 2, 2],
        ['2026-01-15T12:00:00.000Z', 2, 1.5],
        ['2026-01-15T11:55:00.000Z', 2, 2],
        ['2026-01-15T11:55:00.000Z', 3, 2],
      ],
    );
    const counts = [4, 3, 3, 2, 2, 1, 0];
    for (const [i, id] of ids.entries()) {
      const again = await bench.resume(query, id);
      t.same(listCandles(again, 'trade'), told.slice(4 - (counts[i] as number)), `after step ${i}`);
    }
  },
);
