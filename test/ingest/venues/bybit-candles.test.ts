// Bybit: candles by socket and by request.
import t from 'tap';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { NormalisedRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { runCase, venueBench } from '../../support/venues/venue-checks.ts';
import { answer, REST, record } from './bybit.messages.ts';

const { frame, lineOf, map, mapLine } = venueBench(bybit);

t.test('candles of a minute from the socket are closed when confirmed, others are none of ours', (t) => {
  const kline = {
    start: 1700000040000,
    end: 1700000099999,
    interval: '1',
    open: '61.0',
    close: '62',
    high: '63',
    low: '64',
    volume: '65',
    turnover: '66',
    confirm: true,
    timestamp: 1700000098000,
  };
  const of = (topic: string): VenueMessage => frame({ topic, data: [kline], ts: 1700000098005, type: 'snapshot' });
  const values = {
    open_time: 1700000040000_000,
    price_type: 'trade',
    timeframe: '1m',
    open: '61',
    high: '63',
    low: '64',
    close: '62',
    volume: '65',
    volume_unit: 'base',
    turnover: '66',
    trades: null,
    closed: true,
  };
  t.same(map(of('kline.1.AUSDT')), [record('candle', 'AUSDT', 1700000098000, values)]);
  t.same(map(of('kline.1.AUSD')), [
    record('candle', 'AUSD', 1700000098000, { ...values, volume_unit: 'quote', turnover: null }),
  ]);
  t.same(map(of('kline.5.AUSDT')), []);
  t.same(map(of('kline_lt.1.AUSDT')), []);
  t.end();
});

t.test('candles of REST: one minute only, mark and index without volume', (t) => {
  const of = (path: string, row: readonly string[], symbol = 'AUSDT'): VenueMessage =>
    answer(path, { symbol, category: 'linear', list: [row] });
  const row = ['1700000040000', '61', '63', '60', '62'];
  t.match(map(of('kline?symbol=AUSDT&interval=1', [...row, '65', '66'])), [
    {
      venue_ts: 1700000000001_000,
      values: {
        price_type: 'trade',
        open: '61',
        high: '63',
        low: '60',
        close: '62',
        volume: '65',
        turnover: '66',
        closed: null,
      },
    },
  ]);
  for (const type of ['mark', 'index'])
    t.match(map(of(`${type}-price-kline?interval=1`, row))[0]?.values, {
      price_type: type,
      open_time: 1700000040000_000,
      close: '62',
      volume: null,
      volume_unit: null,
      turnover: null,
    });
  t.same(map(of('kline?interval=60', [...row, '65', '66'])), []);
  t.same(map(of('index-price-kline?interval=1', row, 'BTCUSDZ22')), []);
  for (const line of [3, 8])
    t.equal(
      runCase(() => mapLine(REST, line)),
      'VENUE_UNKNOWN_LISTING',
      'no interval is known',
    );
  t.end();
});

t.test('recorded candles of REST by value, requested as minutes (their requests, for hours, are not recorded)', (t) => {
  const minutes = (line: number): readonly NormalisedRecord[] => {
    const recorded = toVenueMessage(lineOf(REST, line));
    return map({ ...recorded, request: `${recorded.request}?interval=1` });
  };
  const candle = (symbol: string, ms: number, values: object): unknown =>
    record('candle', symbol, ms, { timeframe: '1m', trades: null, closed: null, turnover: null, ...values });
  const traded = { price_type: 'trade', volume_unit: 'quote' };
  t.same(minutes(3), [
    candle('BTCUSD', 1672025956592, {
      ...traded,
      open_time: 1670608800000_000,
      open: '17071',
      high: '17073',
      low: '17027',
      close: '17055.5',
      volume: '268611',
    }),
    candle('BTCUSD', 1672025956592, {
      ...traded,
      open_time: 1670605200000_000,
      open: '17071.5',
      high: '17071.5',
      low: '17061',
      close: '17071',
      volume: '4177',
    }),
    candle('BTCUSD', 1672025956592, {
      ...traded,
      open_time: 1670601600000_000,
      open: '17086.5',
      high: '17088',
      low: '16978',
      close: '17071.5',
      volume: '6356',
    }),
  ]);
  t.same(minutes(8), [
    candle('BTCUSDT', 1672026361839, {
      price_type: 'mark',
      open_time: 1670608800000_000,
      open: '17164.16',
      high: '17164.16',
      low: '17121.5',
      close: '17131.64',
      volume: null,
      volume_unit: null,
    }),
  ]);
  t.end();
});
