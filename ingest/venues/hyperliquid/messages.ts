// Hyperliquid's frames and answers as normalised records (records.md). Not read: allMids and bbo (a mid is no last price, the book is collected
// whole), spot contexts, past funding.
import { inflateRawSync } from 'node:zlib';
import type { Level, Micros } from '../../../schemas/records.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import { VenueError, type VenueMessage } from '../contract/listings.ts';
import type { Mapped, MapState } from '../contract/mapping.ts';
import { makeSnapshotChain, sortSides, toFullSides } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { readCandlePrices } from '../shared/candle-prices.ts';
import { parseMessage } from '../shared/json-numbers.ts';
import { createCutter } from '../shared/level-lists.ts';
import { mapEach, mapLayers } from '../shared/map-each.ts';
import { bindMapped, isEmptyDay, listPresent, type Subject } from '../shared/mapped.ts';
import { bindTickerLayers } from '../shared/ticker-layers.ts';
import { noteUnexpected, noteUnread } from '../shared/unexpected.ts';
import {
  createMessageReader,
  type Fields,
  isAbsent,
  isFields,
  isText,
  makeBadFrame,
  makeRefusal,
  readAmount,
  readAmountOrNull,
  readCountOrNull,
  readFields,
  readFigureOrNull,
  readIdOrNull,
  readList,
  readMsOrNull,
  readNamedLevels,
  readPrice,
  readSoleAmount,
  readTaker,
  readText,
} from '../shared/wire.ts';
import { isMeta, isPerpetual, listCoins, listMetas, toMarket } from './listings.ts';

const toMapped = bindMapped('hyperliquid');
const { toMark, toOi } = bindTickerLayers(toMapped);
const MARKS = ['markPx', 'oraclePx'] as const;

/** Levels a side of a complete book message; a side with fewer has no more. */
const LEVELS = 20;

type Source = { readonly state: MapState; readonly receivedAt: VenueMessage['received_at'] };

/** The first frame of a connection, which is no JSON (hyperliquid-python-sdk@04f25f28, `websocket_manager.py`: the venue's own client). */
export const GREETING = 'Websocket connection established.';

const cutLevels = createCutter({ names: ['levels'], keys: ['px', 'sz', 'n'], isPaired: true });

const readMessage = createMessageReader('"channel":"', cutLevels);

/** Records of one message, in its order. Throws `VenueError` only. */
export const mapMessage = (state: MapState, message: VenueMessage): readonly Mapped[] => {
  if (isText(message.payload, GREETING)) return [];
  return readMessage(message.payload, (body) => {
    const source = { state, receivedAt: message.received_at };
    return isFields(body) && 'channel' in body ? mapFrame(body, source) : mapAnswer(body, source);
  });
};

const mapFrame = ({ channel, data }: Fields, source: Source): readonly Mapped[] => {
  switch (channel) {
    case 'l2Book':
      return mapBook(readFields(data, 'data'), source);
    case 'activeAssetCtx': {
      const element = readFields(data, 'data');
      return mapContext(readText(element.coin, 'coin'), element, source);
    }
    case 'allDexsAssetCtxs':
      return mapAllContexts(readList(readFields(data, 'data').ctxs, 'ctxs'), source);
    case 'assetCtxs': {
      const { dex, ctxs } = readFields(data, 'data');
      return mapAllContexts([[dex ?? '', ctxs]], source);
    }
    case 'fastAssetCtxs':
      return mapPackedContexts(readText(data, 'data'), source);
    case 'trades':
      return mapLiveTrades(readList(data, 'data'), source);
    case 'candle':
      return mapEach<unknown>(Array.isArray(data) ? data : [data], (candle) => mapCandle(candle, source));
    case 'subscriptionResponse':
      return forgetTrades(data, source);
    case 'post':
      return mapPosted(readFields(readFields(data, 'data').response, 'response'), source);
    case 'error':
      throw makeRefusal(String(data));
    case 'pong':
      return [];
    default:
      return noteUnread();
  }
};

/** The answer to a request that was sent on the socket: `info` holds what the REST endpoint answers, with the request's type; `action` is an account's. */
const mapPosted = ({ type, payload }: Fields, source: Source): readonly Mapped[] => {
  if (type === 'error') throw makeRefusal(String(payload));
  if (type !== 'info') return [];
  return mapAnswer(isFields(payload) && 'data' in payload ? payload.data : payload, source);
};

/** The parameters are in the request's body, which is not recorded: answers are distinguished by their shape. */
const mapAnswer = (body: unknown, source: Source): readonly Mapped[] => {
  if (isFields(body) && 'levels' in body) return mapBook(body, source);
  const metas = listMetas(body);
  if (metas.length > 0) {
    storeCoins(metas, source);
    return Array.isArray(body) && Array.isArray(body[1]) ? mapMarketContexts(body, source) : [];
  }
  if (!Array.isArray(body)) return [];
  return mapEach<unknown>(body, (element) => {
    if (!isFields(element)) return [];
    if ('tid' in element) return mapTrade(element, source);
    return 'i' in element && 'T' in element ? mapCandle(element, source) : [];
  });
};

/** A whole book; the venue omits an empty side. One merged to coarser prices (`nSigFigs`) has a `spread`, and none of the venue's own levels. */
const mapBook = (book: Fields, { receivedAt }: Source): readonly Mapped[] => {
  const symbol = readText(book.coin, 'coin');
  if (!isPerpetual(symbol) || 'spread' in book) return [];
  const levels = readList(book.levels, 'levels');
  const sides = sortSides(toLevels(levels[0]), toLevels(levels[1]));
  const subject = { symbol, venueTs: readMsOrNull(book.time, 'time'), receivedAt, element: book };
  const whole = makeSnapshotChain(symbol);
  // `fast` books have fewer levels, by an undocumented number.
  const chain = book.fast === true ? whole : { ...whole, full: toFullSides(sides, LEVELS) };
  return [{ ...toMapped(subject, 'book', { kind: 'snapshot', ...sides, sequence: null }), chain }];
};

const toLevels = (side: unknown): readonly Level[] =>
  isAbsent(side) ? [] : readNamedLevels(side, ['px', 'sz'], 'levels');

/** Book messages are whole and have no ids. */
export const readChain = (text: string): Chain | null => {
  const head = text.slice(0, 200);
  if (!head.includes('"channel":"l2Book"') && !(/^\{"(coin|time|levels)":/.test(head) && text.includes('"levels":')))
    return null;
  const symbol = /"coin":"([^"\\]+)"/.exec(text)?.[1];
  return symbol === undefined || !isPerpetual(symbol) ? null : makeSnapshotChain(symbol);
};

const HEAD_LENGTH = 200;

/** Channel and coin of a frame; a message of trades is about one coin. */
export const readSubscription = (text: string): string | null => {
  const head = text.slice(0, HEAD_LENGTH);
  const channel = /"channel":"(l2Book|activeAssetCtx|trades|candle)"/.exec(head)?.[1];
  const coin = /"(?:coin|s)":"([^"\\]+)"/.exec(head)?.[1];
  return channel === undefined || coin === undefined ? null : `${channel} ${coin}`;
};

/** The minute of a frame of candles. */
export const readNewestMinute = (text: string): ClosedMinute | null => {
  const [channel, symbol] = readSubscription(text)?.split(' ') ?? [];
  if (channel !== 'candle' || symbol === undefined || !text.includes('"i":"1m"')) return null;
  const open = /"t":"?(\d+)/.exec(text)?.[1];
  return open === undefined ? null : { symbol, openMs: Number(open) };
};

/** Mark, oracle, the coming hourly rate, open interest and the day's volumes of a coin, without a time. */
const mapContext = (symbol: string, element: Fields, { receivedAt }: Source): readonly Mapped[] => {
  if (!isPerpetual(symbol)) return [];
  const context = readFields(element.ctx, 'ctx');
  const subject: Subject = { symbol, venueTs: null, receivedAt, element };
  return mapLayers([
    () => toMark(subject, context, MARKS),
    () => toFunding(subject, context),
    () => toOi(subject, context, ['openInterest', 'base']),
    () => toStats(subject, context),
  ]);
};

const toFunding = (subject: Subject, context: Fields): Mapped | null => {
  const funding = readFigureOrNull(context.funding, 'funding');
  if (funding === null) return null;
  return toMapped(subject, 'funding', { funding, funding_interval_ms: null, next_funding_at: null });
};

/** The price of a day before is published, a change is not. */
const toStats = (subject: Subject, context: Fields): Mapped | null => {
  const volume_24h = readAmountOrNull(context.dayBaseVlm, 'dayBaseVlm');
  const turnover_24h = readAmountOrNull(context.dayNtlVlm, 'dayNtlVlm');
  const stats = { volume_24h, volume_unit: 'base' as const, turnover_24h, change_24h: null };
  return isEmptyDay(stats) ? null : toMapped(subject, 'stats', stats);
};

/** `metaAndAssetCtxs`: a context for each coin of the meta, by place. */
const mapMarketContexts = ([meta, contexts]: readonly unknown[], source: Source): readonly Mapped[] => {
  if (!isMeta(meta)) throw makeBadFrame('no meta before its contexts');
  const coins = listCoins(meta).map((coin) => readText(coin.name, 'name'));
  return zipContexts(coins, readList(contexts, 'contexts'), source);
};

/** Contexts of markets, in the order of their coins. A universe only grows: a coin listed since its meta has a context, and no name until the next. */
const mapAllContexts = (markets: readonly unknown[], source: Source): readonly Mapped[] => {
  if (source.state.coins === undefined)
    throw new VenueError('VENUE_UNKNOWN_LISTING', 'the contexts name no coins and no meta is known');
  return mapEach(markets, (item) => {
    const [market, contexts] = readList(item, 'ctxs');
    return zipContexts(
      readCoinsByMarket(source.state)[`market ${String(market)}`] ?? [],
      readList(contexts, 'ctxs'),
      source,
    );
  });
};

/** The mark and the mid of every coin, then of each that changed; a member that is left out did not. */
const mapPackedContexts = (packed: string, { receivedAt }: Source): readonly Mapped[] =>
  mapEach(Object.entries(readFields(parseMessage(inflate(packed)), 'data')), ([symbol, ctx]) => {
    if (!isPerpetual(symbol)) return [];
    const subject = { symbol, venueTs: null, receivedAt, element: { coin: symbol, ctx } };
    return listPresent([toMark(subject, { markPx: readFields(ctx, symbol).markPx }, MARKS)]);
  });

/** Contexts of all coins inflate to less than this. */
const MOST_BYTES = 8 * 1024 * 1024;

/** A text in base64 of a raw deflate. */
const inflate = (packed: string): string => {
  try {
    return inflateRawSync(Buffer.from(packed, 'base64'), { maxOutputLength: MOST_BYTES }).toString();
  } catch {
    throw makeBadFrame('data is not deflate data', 'unreadable');
  }
};

const zipContexts = (coins: readonly string[], contexts: readonly unknown[], source: Source): readonly Mapped[] => {
  if (contexts.length > coins.length) noteUnexpected('unknown_listing');
  return mapEach([...contexts.slice(0, coins.length).entries()], ([i, context]) => {
    const coin = coins[i] as string;
    return mapContext(coin, { coin, ctx: context }, source);
  });
};

type CoinsByMarket = Readonly<Record<string, readonly string[]>>;
const readCoinsByMarket = (state: MapState): CoinsByMarket => (state.coins as CoinsByMarket | undefined) ?? {};

const storeCoins = (metas: readonly Fields[], { state }: Source): void => {
  const named = metas.flatMap((meta) => {
    const coins = listCoins(meta).map((coin) => readText(coin.name, 'name'));
    // A market is named by its coins: one without any is not known.
    return coins[0] === undefined ? [] : [[`market ${toMarket(coins[0])}`, coins] as const];
  });
  state.coins = { ...readCoinsByMarket(state), ...Object.fromEntries(named) };
};

/** Coins whose first message has arrived. */
const listStartedCoins = (state: MapState): readonly string[] => (state.heard as readonly string[] | undefined) ?? [];

/** Acknowledgement instants of the subscriptions, by `coin <name>`. */
type Acknowledged = Readonly<Record<string, Micros>>;
const readAcknowledged = (state: MapState): Acknowledged => (state.acknowledged as Acknowledged | undefined) ?? {};

/** The past follows the acknowledgement at once; messages after this time are new. */
const PAST_WITHIN: Micros = 10_000_000;

const isOverdue = ({ state, receivedAt }: Source, coin: string): boolean => {
  const since = readAcknowledged(state)[`coin ${coin}`];
  return since !== undefined && receivedAt - since > PAST_WITHIN;
};

/** The first message of a coin after its subscription repeats the past: it is noted, not recorded. */
const mapLiveTrades = (trades: readonly unknown[], source: Source): readonly Mapped[] => {
  const started = listStartedCoins(source.state);
  const coins = new Set(trades.map((trade) => readText(readFields(trade, 'trade').coin, 'coin')));
  const first = [...coins].filter((coin) => !started.includes(coin));
  const past = first.filter((coin) => !isOverdue(source, coin));
  if (first.length > 0) source.state.heard = [...started, ...first];
  const live = trades.map((trade) => readFields(trade, 'trade')).filter(({ coin }) => !past.includes(String(coin)));
  return mapEach(live, (trade) => mapTrade(trade, source));
};

/** A new subscription sends its past again. */
const forgetTrades = (data: unknown, { state, receivedAt }: Source): readonly Mapped[] => {
  const subscription = isFields(data) && isFields(data.subscription) ? data.subscription : {};
  if (subscription.type !== 'trades') return [];
  const coin = String(subscription.coin);
  state.heard = listStartedCoins(state).filter((one) => one !== coin);
  state.acknowledged = { ...readAcknowledged(state), [`coin ${coin}`]: receivedAt };
  return [];
};

/** `side` is the taker's: `A` hit the bids, `B` lifted the asks. */
const mapTrade = (trade: Fields, { receivedAt }: Source): readonly Mapped[] => {
  const symbol = readText(trade.coin, 'coin');
  if (!isPerpetual(symbol)) return [];
  const side = readTaker(trade.side, ['B', 'A'], 'side');
  if (side === null) return [];
  const values = {
    id: readIdOrNull(trade.tid, 'tid'),
    side,
    price: readPrice(trade.px, 'px'),
    quantity: readAmount(trade.sz, 'sz'),
    quantity_unit: 'base' as const,
  };
  return [toMapped({ symbol, venueTs: readMsOrNull(trade.time, 'time'), receivedAt, element: trade }, 'trade', values)];
};

/** `t` is the start, `T` the last millisecond; no member marks the candle as closed. */
const mapCandle = (value: unknown, { receivedAt }: Source): readonly Mapped[] => {
  const candle = readFields(value, 'candle');
  const symbol = readText(candle.s, 's');
  if (candle.i !== '1m' || !isPerpetual(symbol)) return [];
  const open_time = readMsOrNull(candle.t, 't');
  if (open_time === null) throw makeBadFrame('t is not an instant');
  const volume = readSoleAmount(candle.v, 'v');
  const prices = readCandlePrices({ open: candle.o, high: candle.h, low: candle.l, close: candle.c }, volume);
  if (prices === null) return [];
  const values = {
    open_time,
    price_type: 'trade' as const,
    timeframe: '1m' as const,
    ...prices,
    volume,
    volume_unit: 'base' as const,
    turnover: null,
    trades: readCountOrNull(candle.n, 'n'),
    closed: null,
  };
  return [toMapped({ symbol, venueTs: null, receivedAt, element: candle }, 'candle', values)];
};
