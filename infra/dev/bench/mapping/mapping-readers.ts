// The readers of a mapping bench: our mapping, the mappers of tardis-dev (doubles, nothing checked), and JSON.parse alone.
import {
  type Exchange,
  type Mapper,
  normalizeBookChanges,
  normalizeDerivativeTickers,
  normalizeLiquidations,
  normalizeTrades,
} from 'tardis-dev';
import type { VenueMessage } from '../../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../../ingest/venues/contract/venue.ts';
import type { Recorded, Session } from './mapping-sessions.ts';

/** Reads one message; returns the number of records. */
type Read = (message: VenueMessage) => number;
/** A reader at the beginning of a session, without state of earlier messages. */
export type Open = (session: Session) => Read;

export const openOurs =
  (venue: Venue, { listings }: Recorded): Open =>
  () => {
    const state = {};
    const context = { listings };
    return (message) => venue.map(state, message, context).length;
  };

/** As ours decodes: the payload is a `Buffer` here as in a task. */
const decodeText = ({ payload }: VenueMessage): string => (payload as Buffer).toString();

export const openBareParse: Open = () => (message) => (JSON.parse(decodeText(message)) === undefined ? 0 : 1);

/** tardis-dev's name of a venue; for a venue with several names it depends on the file. */
const EXCHANGES: Readonly<Record<string, readonly (readonly [file: RegExp, exchange: Exchange])[]>> = {
  aster: [[/./, 'binance-futures']],
  binance: [
    [/coinm/, 'binance-delivery'],
    [/./, 'binance-futures'],
  ],
  bitget: [[/./, 'bitget-futures']],
  bitmex: [[/./, 'bitmex']],
  bybit: [[/./, 'bybit']],
  deribit: [[/./, 'deribit']],
  dydx: [[/./, 'dydx-v4']],
  gate: [[/./, 'gate-io-futures']],
  htx: [
    [/linear/, 'huobi-dm-linear-swap'],
    [/./, 'huobi-dm-swap'],
  ],
  hyperliquid: [[/./, 'hyperliquid']],
  'kraken-futures': [[/./, 'cryptofacilities']],
  kucoin: [[/./, 'kucoin-futures']],
  okx: [[/./, 'okex-swap']],
};

const findExchange = (venueId: string, file: string): Exchange | null =>
  EXCHANGES[venueId]?.find(([pattern]) => pattern.test(file))?.[1] ?? null;

/** tardis-dev chooses its mappers by the day: a later recording of an early format is read by that format's mappers, others by today's. */
const TODAY = Date.now() + 86_400_000;

type AnyMapper = Mapper<Exchange, never>;

const FACTORIES = [normalizeTrades, normalizeBookChanges, normalizeDerivativeTickers, normalizeLiquidations];

/** Throws for a kind of data that the exchange lacks. */
const makeMappers = (exchange: Exchange, at: Date): AnyMapper[] =>
  FACTORIES.flatMap((factory) => {
    try {
      return [(factory as (exchange: Exchange, at: Date) => AnyMapper)(exchange, at)];
    } catch {
      return [];
    }
  });

/** Binance's books: without a snapshot, which its own recorder puts into the stream, tardis-dev keeps every diff and returns nothing. */
const primeBooks = (mappers: readonly AnyMapper[], { messages }: Session, at: Date): void => {
  const first = new Map<string, unknown>();
  for (const message of messages) {
    const found = /"e":"depthUpdate".*?"s":"([^"]+)".*?"u":(\d+)/.exec(decodeText(message).slice(0, 400));
    const [, symbol, id] = found ?? [];
    if (symbol !== undefined && !first.has(symbol)) first.set(symbol, Number(id));
  }
  for (const [symbol, lastUpdateId] of first) {
    const snapshot = {
      stream: `${symbol.toLowerCase()}@depthSnapshot`,
      generated: true,
      data: { lastUpdateId, bids: [], asks: [] },
    };
    for (const mapper of mappers.filter((one) => one.canHandle(snapshot))) {
      for (const _ of mapper.map(snapshot, at) ?? []);
    }
  }
};

const openAt = (exchange: Exchange, session: Session, at: Date): Read => {
  const mappers = makeMappers(exchange, at);
  primeBooks(mappers, session, at);
  return (message) => {
    const parsed: unknown = JSON.parse(decodeText(message));
    const receivedAt = new Date(message.received_at / 1000);
    let records = 0;
    for (const mapper of mappers) {
      if (!mapper.canHandle(parsed)) continue;
      for (const _ of mapper.map(parsed, receivedAt) ?? []) records += 1;
    }
    return records;
  };
};

export const openTardis = (venueId: string): Open => {
  const days = new Map<string, Date>();
  const chooseDay = (exchange: Exchange, session: Session): Date => {
    const ofSession = new Date((session.messages[0]?.received_at ?? 0) / 1000);
    const counts = [ofSession, new Date(TODAY)].map((day) => {
      const read = openAt(exchange, session, day);
      return { day, messages: session.messages.filter((message) => countRecords(read, message) > 0).length };
    });
    return counts.toSorted((a, b) => b.messages - a.messages)[0]?.day ?? ofSession;
  };
  return (session) => {
    const exchange = findExchange(venueId, session.file);
    if (exchange === null) return () => 0;
    const day = days.get(session.file) ?? chooseDay(exchange, session);
    days.set(session.file, day);
    return openAt(exchange, session, day);
  };
};

/** Number of records of a message; 0 when the reader cannot read it: a peer throws what JavaScript throws at an unexpected shape. */
const countRecords = (read: Read, message: VenueMessage): number => {
  try {
    return read(message);
  } catch {
    return 0;
  }
};

/** The messages of each session that every reader turns into records: skipping a message would make a reader look fast. */
export const readByAll = (sessions: readonly Session[], readers: readonly Open[]): readonly Session[] =>
  sessions.flatMap((session) => {
    const reads = readers.map((open) => open(session));
    const messages = session.messages.filter((message) => {
      const counts = reads.map((read) => countRecords(read, message));
      return counts.every((count) => count > 0);
    });
    return messages.length === 0 ? [] : [{ ...session, messages }];
  });
