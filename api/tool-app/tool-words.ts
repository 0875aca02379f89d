// The text of each tool for a model, beyond the declaration of its operation: a title, when to use it and when not, a small example.
import { CATALOGUE, type ErrorCode } from '../../schemas/errors.ts';
import type { Arguments } from './call-api.ts';

/** The instant at which a full hour began, so many hours before the newest. */
export type HourAgo = (hours: number) => string;

type ToolWords = {
  readonly title: string;
  readonly use: string;
  readonly avoid: string;
  /** Where the operation's own example would answer more than a model takes, or nothing on most days: a question, and the arguments that answer it. */
  readonly example?: { readonly question: string; readonly args: (hourAgo: HourAgo, own: Arguments) => Arguments };
};

/** 00:00 of its day: of readings it names the last window of the day before. */
const toStartOfDay = (instant: string): string => `${instant.slice(0, 10)}T00:00:00Z`;

/** By name of the tool. A tool without an entry has the summary, the question and the example of its operation. */
export const TOOL_WORDS: Readonly<Record<string, ToolWords>> = {
  venues: {
    title: 'Venues',
    use: 'Lists the venues served, whether each is live, degraded or down, which layers it publishes, and how many of its listings are collected. Start here.',
    avoid: 'Not for prices, and not for what is listed on a venue: use instruments.',
  },
  instruments: {
    title: 'Instruments and their rules',
    use: 'Lists what is listed where: venue symbols, quote currency, contract size, tick and lot size, funding interval, layers with their cadence, from when history is kept. Use it to find the codes that other tools take. An instrument is a code such as BTC-PERP; a base is BTC.',
    avoid:
      'Not for prices, funding rates or open interest: use snapshots. Always send where; every listing of every venue is many pages.',
    example: {
      question: 'What can be traded on BTC, in which steps, and how often is funding paid?',
      args: () => ({ where: 'base = BTC', limit: 5 }),
    },
  },
  snapshots: {
    title: 'Latest readings',
    use: 'The newest price (ticker, mark), funding, open interest (oi), book, depth (venue_depth) and 24 h figures (stats) of named listings, each with its age and status. Use it when the instruments are known. One layer of one instrument on all venues is one call.',
    avoid:
      'Not to search the whole market by a condition: use screen. Not for the past: use history or candles. Ask only for the layers you need; book is the best bid and ask, venue_depth the depth around them.',
  },
  history: {
    title: 'Past readings',
    use: 'Readings at a past instant (as_of), at several (at), one a period (interval with from and to), or as stored (raw). A period without data is a row with its gap_cause, never a repeated number. Choose full minutes: between them a value with a short horizon is stale. An answer with settled true never changes.',
    avoid:
      'Not for open, high, low, close or volume: use candles. Not for now: use snapshots. Send exactly one of as_of, at, interval, raw; from and to only with interval or raw. Instants are UTC such as 2026-01-15T12:00:00Z, never words such as "yesterday".',
    example: {
      question: 'Where did the mark and the funding of BTC stand at the last full hour?',
      args: (hourAgo) => ({ where: 'base = BTC', layers: ['mark', 'funding'], as_of: hourAgo(0) }),
    },
  },
  screen: {
    title: 'Screen the market',
    use: 'Finds instruments by a condition in the query language DQL and returns the values that decided. A venue-scoped field must be inside any(venues where ...), all(...), count(...) or an aggregate max, min, sum(venues, expr); indicators such as ema(close, 20) need timeframe. Add select for further values and order by for the order; end with as of <instant> to ask about the past. Read docs://dql before writing a longer query.',
    avoid:
      'Not for the values of instruments that are already known: use snapshots. A percentage is written 0.01% or as the fraction 0.0001, a basis point 1bps.',
    example: {
      question: 'Where is the funding of BTC or ETH above half a basis point in 8 hours, highest first?',
      args: () => ({
        query: 'any(venues where funding_8h > 0.5bps) select funding_8h order by max(venues, funding_8h) desc',
        where: 'base in (BTC, ETH)',
        limit: 5,
      }),
    },
  },
  candles: {
    title: 'Candles',
    use: "Completed candles of trades, of the venue's mark, or of its index (price_type) for the window from..to. A longer candle exists only when every minute of it exists; a missing candle is a row with status missing.",
    avoid:
      'Not for funding, open interest or books: use history. A forming candle is never returned. Choose timeframe and window so that one listing has at most about 100 rows; an answer has at most 65,536 bytes.',
    example: {
      question: 'What were the 15-minute candles of BTC in the last full hour, and which are missing?',
      args: (hourAgo) => ({ where: 'base = BTC', timeframe: '15m', from: hourAgo(1), to: hourAgo(0) }),
    },
  },
  account: {
    title: 'Plan and limits of this key',
    use: 'The plan of this key, the venues, instruments and layers it may read, its limits, and what is left of today. Use it after PLAN_LIMIT, PLAN_VENUE_NOT_INCLUDED or RATE_LIMITED. It is free and not counted; call it at most once a second.',
    avoid: 'Not for market data.',
  },
  agent_state: {
    title: 'State of agent rules',
    use: 'Whether each rule of this account holds: true, false, or unknown with the reason, and the state last returned to this key. Rules are created on the account site, never here.',
    avoid:
      'Not for a condition that is not a rule: use screen. Send fresh only when the state of the last evaluation is too old; it counts against the evaluations of the day.',
    example: { question: 'Which of my rules hold, and what changed since my last answer?', args: () => ({}) },
  },
  anchor_proof: {
    title: 'Proof of a stored row',
    use: 'Proves that one stored row is included in the daily root that was posted on a public chain: the row, its path to the root, and where the root was posted. A day is anchored a week after it ends.',
    avoid:
      'Not to read history: use history or candles. It proves that the row was stored, not that the venue was right.',
    example: {
      question: 'Was the last funding rate of the day nine days ago stored, and is it unchanged?',
      args: (hourAgo, own) => ({ ...own, at: toStartOfDay(hourAgo(8 * 24)) }),
    },
  },
};

/** What to do after a code, where the catalogue's words are about HTTP: an agent has tools, pages and members of a failure. */
const FIXES: Partial<Readonly<Record<ErrorCode, string>>> = {
  DQL_COMPLEXITY: 'Shorten the query.',
  DQL_UNKNOWN_FIELD: 'Use a field of docs://dql.',
  DQL_UNKNOWN_FUNCTION: 'Use a function of docs://dql.',
  DQL_UNKNOWN_VENUE: 'Use a code that venues lists.',
  DQL_UNKNOWN_CURRENCY: 'Use a quote that instruments lists.',
  DQL_UNKNOWN_ASSET: 'Use a base that instruments lists.',
  DQL_UNKNOWN_INSTRUMENT: 'Use a code of the form BASE-PERP that instruments lists.',
  DQL_TIMEFRAME_UNSUPPORTED: 'Use one that the message lists.',
  ANCHOR_NOT_FOUND: 'Ask history for an instant of the day at which the listing has a row.',
  NOT_FOUND: 'Name what exists, as the hint says.',
  ANCHOR_CHANGED: 'Report that the stored rows differ from the anchored ones.',
  RATE_LIMITED: 'Wait retry_after seconds, then repeat the call.',
  UNAVAILABLE: 'Wait retry_after seconds, then repeat the call.',
};

/** What to do after a failure with this code by tools and pages; undefined where the catalogue's words are right. */
export const fixWithToolsFor = (code: ErrorCode): string | undefined => FIXES[code];

/** What to do after a failure with this code. */
export const fixFor = (code: ErrorCode): string | undefined => FIXES[code] ?? CATALOGUE[code]?.fix;

/** Facts about every tool with readings in its answer. */
export const STALE_WORDS =
  'A value that is not current has status "stale" with a reason and is omitted from values; it is never zero. allow_stale puts it under withheld.values: state its age when you use it.';

/** Sent when a client connects (interface, Tool-server endpoint). */
export const INSTRUCTIONS = [
  'Market data of perpetual futures on several venues, read only. Start with venues, then instruments, then snapshots; screen searches the market, history and candles answer the past.',
  'Every value has its venue, age and status. A stale value comes back without the number and with a reason; allow_stale places the number under withheld, where it is still stale. Absent data is never zero: say that it is missing.',
  'Venues are kept apart: there is no price across venues, so name the venue of each number.',
  'Units are those the venue publishes unless units is base or quote. Rates and spreads are fractions: 0.0001 is one basis point. Times are UTC.',
  'Every call counts as one request of the key, except account. An answer has at most 65,536 bytes: name where, layers and limit.',
  'A failed call has next: do what it says. Repeat a call unchanged only when retry is true, after retry_after seconds.',
  'Read docs://dql before writing a query for screen, and docs://layers for the names and units of layers.',
].join('\n');
