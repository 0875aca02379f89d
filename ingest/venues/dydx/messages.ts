// dYdX's channels and answers as normalised records (records.md). A channel's first message is like the answer of its endpoint.
import type { Level } from '../../../schemas/records.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import { LostChange, type Mapped } from '../contract/mapping.ts';
import { makeSnapshotChain, sortSides, toFullSides } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { mapEach, mapLayers, readOrElse } from '../shared/map-each.ts';
import { bindMapped, listPresent, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  isFields,
  makeBadFrame,
  makeRefusal,
  parseRequest,
  readAmount,
  readAmountOrNull,
  readCountOrNull,
  readFields,
  readFigureOrNull,
  readIdTextOrNull,
  readInstantOrNull,
  readLevels,
  readList,
  readPrice,
  readPriceUnlessZero,
  readSoleAmount,
  readTaker,
  readText,
} from '../shared/wire.ts';

const toMapped = bindMapped('dydx');
const { toOi } = bindTickerLayers(toMapped);

type Received = VenueMessage['received_at'];

const readMessage = createMessageReader('"channel":"');

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (message: VenueMessage): readonly Mapped[] =>
  readMessage(message.payload, (body) => {
    const frame = readFields(body, 'message');
    if (frame.type === 'error') throw makeRefusal(String(frame.message));
    if ('channel' in frame) return mapFrame(frame, message.received_at);
    return Array.isArray(frame.errors) || message.kind === 'frame' ? [] : mapAnswer(frame, message);
  });

/** `subscribed` has the endpoint's answer; `channel_data` has one change, `channel_batch_data` several. */
const mapFrame = ({ type, channel, id, contents }: Fields, receivedAt: Received): readonly Mapped[] => {
  const isFirst = type === 'subscribed';
  if (!isFirst && type !== 'channel_data' && type !== 'channel_batch_data') return [];
  // Some changes are empty.
  if (isAbsent(contents)) return [];
  const parts = type === 'channel_batch_data' ? readList(contents, 'contents') : [contents];
  const map = (part: unknown): readonly Mapped[] => {
    const fields = readFields(part, 'contents');
    switch (channel) {
      case 'v4_markets':
        return mapMarkets(fields, receivedAt);
      case 'v4_orderbook':
        return isFirst
          ? mapSnapshot(readText(id, 'id'), fields, receivedAt)
          : mapUpdate(readText(id, 'id'), fields, receivedAt);
      case 'v4_trades':
        // The first message repeats the past.
        return isFirst ? [] : mapTrades(readText(id, 'id'), fields, receivedAt);
      case 'v4_candles':
        return isFirst ? mapCandles(readList(fields.candles, 'candles'), receivedAt) : mapCandle(fields, receivedAt);
      default:
        return noteUnread();
    }
  };
  return channel === 'v4_orderbook' ? mapWhole(readText(id, 'id'), () => parts.flatMap(map)) : mapEach(parts, map);
};

/** Changes of a book have no ids: one that is left out would not be noticed. */
const mapWhole = (symbol: string, map: () => readonly Mapped[]): readonly Mapped[] =>
  readOrElse(map, (fault) => {
    throw new LostChange(fault, [symbol]);
  });

/** Books and trades have their market in the request only. */
const mapAnswer = (body: Fields, { request, received_at }: VenueMessage): readonly Mapped[] => {
  if (isFields(body.markets)) return mapMarkets(body, received_at);
  if (Array.isArray(body.candles)) return mapCandles(body.candles, received_at);
  if (!Array.isArray(body.trades) && !Array.isArray(body.bids)) return [];
  const symbol = /\/perpetualMarkets?\/([^/]+)$/.exec(parseRequest(request)?.path ?? '')?.[1];
  if (symbol === undefined)
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the answer names no market and its request is not known');
  return 'trades' in body ? mapTrades(symbol, body, received_at) : mapSnapshot(symbol, body, received_at);
};

/** `markets` are whole, `trading` has their changes, `oraclePrices` have a time. */
const mapMarkets = (contents: Fields, receivedAt: Received): readonly Mapped[] => {
  const toMarket: MarketMapper = (symbol, market) => mapMarket(symbol, market, receivedAt);
  const toOracle: MarketMapper = (symbol, oracle) =>
    listPresent([
      toMark(
        { symbol, venueTs: readInstantOrNull(oracle.effectiveAt, 'effectiveAt'), receivedAt, element: oracle },
        oracle.oraclePrice ?? oracle.price,
      ),
    ]);
  const mappers = new Map([
    ['markets', toMarket],
    ['trading', toMarket],
    ['oraclePrices', toOracle],
  ]);
  return mapEach(Object.entries(contents), ([name, table]) => {
    const map = mappers.get(name);
    return map === undefined ? [] : mapEntries(table, map);
  });
};

type MarketMapper = (symbol: string, market: Fields) => readonly Mapped[];

const mapEntries = (table: unknown, map: MarketMapper): readonly Mapped[] =>
  isAbsent(table)
    ? []
    : mapEach(Object.entries(readFields(table, 'markets')), ([symbol, market]) =>
        map(symbol, readFields(market, symbol)),
      );

/** The members are independent: none needs an earlier value. */
const mapMarket = (symbol: string, market: Fields, receivedAt: Received): readonly Mapped[] => {
  const subject = { symbol, venueTs: null, receivedAt, element: market };
  return mapLayers([
    () => toMark(subject, market.oraclePrice),
    () => toFunding(subject, market),
    () => toOi(subject, market, ['openInterest', 'base']),
    () => toStats(subject, market),
  ]);
};

const toMark = (subject: Subject, price: unknown): Mapped | null => {
  const mark = readPriceUnlessZero(price, 'oraclePrice');
  return mark === null ? null : toMapped(subject, 'mark', { mark, index: null });
};

/** The rate of the coming hour. */
const toFunding = (subject: Subject, market: Fields): Mapped | null => {
  const funding = readFigureOrNull(market.nextFundingRate, 'nextFundingRate');
  if (funding === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: null, next_funding_at: null });
};

/** `volume24H` counts USD; the price change is no fraction and is left out. */
const toStats = (subject: Subject, market: Fields): Mapped | null => {
  const turnover_24h = readAmountOrNull(market.volume24H, 'volume24H');
  if (turnover_24h === null) return null;
  return toMapped(subject, 'stats', { volume_24h: null, volume_unit: 'base', turnover_24h, change_24h: null });
};

/** Maximum number of levels a side of a snapshot; a side with fewer is complete. */
const LEVELS = 100;

const mapSnapshot = (symbol: string, contents: Fields, receivedAt: Received): readonly Mapped[] => {
  const bids = readSnapshotSide(contents.bids, 'bids');
  const asks = readSnapshotSide(contents.asks, 'asks');
  const chain = { ...makeSnapshotChain(symbol), full: toFullSides({ bids, asks }, LEVELS) };
  const values = { kind: 'snapshot' as const, ...sortSides(bids, asks), sequence: null };
  return [{ ...toMapped({ symbol, venueTs: null, receivedAt, element: contents }, 'book', values), chain }];
};

const readSnapshotSide = (side: unknown, name: string): Level[] =>
  readList(side, name).map((item): Level => {
    const { price, size } = readFields(item, name);
    return [readPrice(price, 'price'), readAmount(size, 'size')];
  });

/** An unchanged side is omitted. */
const mapUpdate = (symbol: string, contents: Fields, receivedAt: Received): readonly Mapped[] => {
  const bids = readLevels(contents.bids ?? [], 'bids');
  const asks = readLevels(contents.asks ?? [], 'asks');
  if (bids.length + asks.length === 0) return [];
  const values = { kind: 'update' as const, bids, asks, sequence: null };
  const chain: Chain = { symbol, kind: 'update', first: null, last: null, previous: null };
  return [{ ...toMapped({ symbol, venueTs: null, receivedAt, element: contents }, 'book', values), chain }];
};

/** Chain of a frame of the book channel; an answer has its symbol in its request. */
export const readChain = (text: string): Chain | null => {
  const head = text.slice(0, HEAD_LENGTH);
  if (head.includes('"channel":"v4_orderbook"')) {
    const type = /"type":"(\w+)"/.exec(head)?.[1];
    const symbol = /"id":"([^"\\]+)"/.exec(head)?.[1];
    if (symbol === undefined) return null;
    if (type === 'subscribed') return makeSnapshotChain(symbol);
    const isUpdate = type === 'channel_data' || type === 'channel_batch_data';
    return isUpdate && /"(bids|asks)":\[\[/.test(text)
      ? { symbol, kind: 'update', first: null, last: null, previous: null }
      : null;
  }
  return /^\{"(bids|asks)":\[/.test(head) ? makeSnapshotChain('') : null;
};

const HEAD_LENGTH = 500;

/** Channel and id of a frame; null for the channel of all markets, which has no id, and for the end of a subscription. */
export const readSubscription = (text: string): string | null => {
  const [head = ''] = text.slice(0, HEAD_LENGTH).split('"contents":', 1);
  const channel = /"channel":"(\w+)"/.exec(head)?.[1];
  const id = /"id":"([^"\\]+)"/.exec(head)?.[1];
  return channel === undefined || id === undefined || head.includes('"type":"unsubscribed"')
    ? null
    : `${channel}/${id}`;
};

/** The newest minute of a frame of candles. */
export const readNewestMinute = (text: string): ClosedMinute | null => {
  const symbol = /^v4_candles\/(.+)\/1MIN$/.exec(readSubscription(text) ?? '')?.[1];
  const openMs = symbol === undefined ? Number.NaN : Date.parse(/"startedAt":"([^"]+)"/.exec(text)?.[1] ?? '');
  return symbol === undefined || Number.isNaN(openMs) ? null : { symbol, openMs };
};

const mapTrades = (symbol: string, contents: Fields, receivedAt: Received): readonly Mapped[] =>
  mapEach(readList(contents.trades, 'trades'), (item) => mapTrade(symbol, readFields(item, 'trade'), receivedAt));

/** Maps a trade, and the liquidation it filled: `LIQUIDATED` means that the taker was liquidated. `DELEVERAGED` is no trade of the market. */
const mapTrade = (symbol: string, trade: Fields, receivedAt: Received): readonly Mapped[] => {
  if (trade.type === 'DELEVERAGED') return [];
  const taker = readTaker(trade.side, ['BUY', 'SELL'], 'side');
  if (taker === null) return [];
  const subject = { symbol, venueTs: readInstantOrNull(trade.createdAt, 'createdAt'), receivedAt, element: trade };
  const id = readIdTextOrNull(trade.id, 'id');
  const price = readPrice(trade.price, 'price');
  const amount = { quantity: readAmount(trade.size, 'size'), quantity_unit: 'base' as const };
  const mapped = [toMapped(subject, 'trade', { id, side: taker, price, ...amount })];
  if (trade.type !== 'LIQUIDATED' && trade.liquidation !== true) return mapped;
  const side = taker === 'sell' ? ('long' as const) : ('short' as const);
  return [...mapped, toMapped(subject, 'liquidation', { id, side, price, price_kind: 'fill', ...amount })];
};

const mapCandles = (candles: readonly unknown[], receivedAt: Received): readonly Mapped[] =>
  mapEach(candles, (candle) => mapCandle(candle, receivedAt));

/** `startedAt` is the start; no member marks the candle as closed. */
const mapCandle = (value: unknown, receivedAt: Received): readonly Mapped[] => {
  const candle = readFields(value, 'candle');
  if (candle.resolution !== '1MIN') return [];
  const open_time = readInstantOrNull(candle.startedAt, 'startedAt');
  if (open_time === null) throw makeBadFrame('startedAt is absent');
  const volume = readSoleAmount(candle.baseTokenVolume, 'baseTokenVolume');
  const { open, high, low, close } = candle;
  const prices = readCandlePrices({ open, high, low, close }, volume);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: 'trade' as const,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: 'base' as const,
    turnover: readAmountOrNull(candle.usdVolume, 'usdVolume'),
    trades: readCountOrNull(candle.trades, 'trades'),
    closed: null,
  };
  const symbol = readText(candle.ticker, 'ticker');
  return [toMapped({ symbol, venueTs: null, receivedAt, element: candle }, 'candle', values)];
};
