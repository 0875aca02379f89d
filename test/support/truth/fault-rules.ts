// Permitted effects of an injected fault on served and stored data: states by L-07, causes of gaps by L-08, the time span, the layers.
import type { FaultEntry, FaultKind } from '../../../infra/dev/simulator/faults.ts';
import type { Subject } from './truth.ts';

type Rule = {
  /** States of a snapshot's layer, as `status reason gap_cause`; `present` is always right. */
  readonly states: readonly string[];
  /** Causes of stored gaps. */
  readonly causes: readonly string[];
};

const SEQUENCE = 'missing gap sequence_break';
/** A reading outlived its horizon: of layers with a stated rate, or polled (F-02). */
const PASSED = 'stale horizon_passed';
/** For layers that hold while their connection lives: nothing new for longer than the bound (F-03). */
const BOUND = 'stale freshness_bound';
const LOST = 'stale connection_lost';

const NOTHING: Rule = { states: [], causes: [] };
/** Books that must be requested again come first: polls wait for the venue's limit. */
const STARVED = ['venue_rate_limit', 'no_update'];

/** The close itself, then every attempt that the venue refuses (design section 5: the code in `lost`). */
const CUT: Rule = { states: [LOST, PASSED, BOUND], causes: ['connection_lost', 'venue_down', ...STARVED] };

/** Faults of the simulator, the death of the collector itself, and what a fault hides while the collector opens connections for other listings. */
type Kind = FaultKind | 'collector_killed' | 'connection_replaced';

const RULES: Readonly<Record<Kind, Rule>> = {
  // One frame less: a book has a hole, a stated rate is late once; a value that holds by its connection does not notice.
  drop: { states: [PASSED, SEQUENCE], causes: ['sequence_break', 'no_update'] },
  sequence_hole: { states: [SEQUENCE], causes: ['sequence_break'] },
  // Repeats are skipped by their ids (books, trades), carry the same values, or are duplicate events without an id (`doubled`).
  duplicate: NOTHING,
  reorder: { states: [PASSED, SEQUENCE], causes: ['sequence_break'] },
  // An unreadable frame: for a book a hole; for others a missing message, and the dead letter has the reason.
  malformed: { states: [PASSED, SEQUENCE], causes: ['parse_error', 'sequence_break', 'no_update'] },
  // Alive and silent is `no_update`; the first diff after it shows the hole.
  silence: { states: [PASSED, BOUND, SEQUENCE], causes: ['no_update', 'sequence_break'] },
  slow: { states: [PASSED, BOUND], causes: ['no_update'] },
  crossed_book: { states: ['missing gap crossed_book'], causes: ['crossed_book'] },
  disconnect: CUT,
  // On sockets that stay open, only the sequence reveals it.
  restart: { states: [...CUT.states, SEQUENCE], causes: [...CUT.causes, 'sequence_break'] },
  // Only polled data is affected.
  rate_limit: { states: [PASSED, BOUND], causes: STARVED },
  // A poll that the plan replaces meanwhile is lost with its first one.
  rest_down: { states: [PASSED, BOUND], causes: ['venue_down', 'connection_lost', ...STARVED] },
  // Horizons count from the venue's stamp: a clock behind shortens them, a clock ahead buys nothing (F-02).
  clock_skew: { states: [PASSED], causes: [] },
  // Listed, without data yet (F-04), or once before its connections open, which the next plan replaces; without a subscription any cause is valid.
  listing_added: { states: ['missing no_value', PASSED, LOST], causes: ['no_update', 'unknown'] },
  // Until the reference answer reports it the service only receives nothing, on any later connection too.
  // Faults that cut or refuse its sockets, or cause a request because of silence, affect it like the others.
  listing_delisted: { states: [PASSED, BOUND, LOST], causes: ['not_listed', ...CUT.causes] },
  listing_renamed: {
    states: ['missing no_value', PASSED, BOUND, LOST],
    causes: ['not_listed', 'unknown', ...CUT.causes],
  },
  funding_interval_changed: NOTHING,
  collector_killed: { states: CUT.states, causes: ['collector_down'] },
  // A value held by its connection ends with it, as long as the new one has not delivered it (F-02).
  connection_replaced: { states: [LOST], causes: ['connection_lost'] },
};

const SECOND = 1_000_000;
/** The venue's recovery belongs to the fault: seconds after its end do not count. */
const AFTER = 5 * SECOND;
/** Requests that were refused, or waited for books, are made again within their period and the limit's own (10 s). */
const POLL_PERIOD = 16 * SECOND;
/** A new listing is subscribed by new connections. */
const LISTED_AFTER = 15 * SECOND;

const ALL_LAYERS = [
  'ticker',
  'mark',
  'funding',
  'oi',
  'book',
  'stats',
  'venue_depth',
  'trades',
  'liquidations',
  'candles',
] as const;
const BOOKS = ['book', 'venue_depth'];

/** Polled layers of a venue: always, or to confirm a quiet value; a ticker of Bybit or Deribit carries five of them. */
const POLLED: Readonly<Record<string, readonly string[]>> = {
  binance: ['oi', 'candles'],
  bybit: ['ticker', 'mark', 'funding', 'oi', 'stats', 'candles'],
  deribit: ['ticker', 'mark', 'funding', 'oi', 'stats', 'candles'],
  hyperliquid: ['candles'],
};
/** Layers whose horizon is a time and shorter than what its clock is off by and a delivery's way: a clock behind ends them. */
const TIMED: Readonly<Record<string, readonly string[]>> = { binance: ['mark', 'funding', 'oi'] };

const listLayers = ({ kind, venue, layers }: FaultEntry): ReadonlySet<string> => {
  switch (kind) {
    case 'sequence_hole':
    case 'crossed_book':
      return new Set(BOOKS);
    case 'rate_limit':
    case 'rest_down':
      return new Set(POLLED[venue] ?? []);
    case 'clock_skew':
      return new Set(TIMED[venue] ?? []);
    case 'listing_added':
    case 'listing_delisted':
    case 'listing_renamed':
      return new Set(ALL_LAYERS);
    case 'funding_interval_changed':
      return new Set(['funding']);
    default:
      return new Set(layers);
  }
};

export type FaultWindow = {
  readonly kind: Kind;
  readonly from: number;
  /** Its recovery included; infinite while it lasts. */
  readonly to: number;
  readonly isAbout: (place: Place) => boolean;
};

/** Nothing was received from any venue. */
export const killedWindow = (from: number, to: number): FaultWindow => ({
  kind: 'collector_killed',
  from,
  to: to + AFTER,
  isAbout: () => true,
});

/** When a listing that came later was first answered, by `venue:symbol`. */
type FirstSeen = ReadonlyMap<string, number>;

/** After it the collector's plan has other listings, as soon as the reference answer has. */
const isOfListings = ({ kind }: FaultEntry): boolean => kind.startsWith('listing_');
const isForGood = ({ kind }: FaultEntry): boolean => kind === 'listing_delisted' || kind === 'listing_renamed';

/** Faults that cut connections, the restart of a venue among them. */
const isCut = ({ kind }: FaultEntry): boolean => kind === 'restart' || kind === 'disconnect';

/** Venues whose books are made whole by requests, which what is polled then waits for. */
const BOOKS_BY_REQUEST: ReadonlySet<string> = new Set(['binance']);

const starvedWindow = (entry: FaultEntry): FaultWindow[] => {
  const { kind, venue, from, to, layers } = entry;
  if (!isCut(entry) || !BOOKS_BY_REQUEST.has(venue) || !layers.includes('book')) return [];
  const ends = (to ?? Number.POSITIVE_INFINITY) + AFTER + POLL_PERIOD;
  const isAbout = (place: Place): boolean => place.venue === venue && (POLLED[venue] ?? []).includes(place.layer);
  return [{ kind, from, to: ends, isAbout }];
};

/** The symbol that `listing_added` or `listing_renamed` brought is subscribed until then; null: no such symbol. */
const subscribedUntil = ({ kind, venue, symbols }: FaultEntry, symbol: string, firstSeen: FirstSeen): number | null => {
  // Of a renamed pair the old one ends permanently; the new one is present soon after it is known.
  const isNew = kind === 'listing_added' || (kind === 'listing_renamed' && symbols.indexOf(symbol) % 2 === 1);
  return isNew ? (firstSeen.get(`${venue}:${symbol}`) ?? Number.POSITIVE_INFINITY) + LISTED_AFTER : null;
};

/** A cut refuses every new connection of its venue: those of a listing that was just added too, which had none to be cut. */
const refusedWindows = (log: readonly FaultEntry[], firstSeen: FirstSeen): FaultWindow[] =>
  log.filter(isCut).flatMap(({ kind, venue, from, to }) => {
    const ends = (to ?? Number.POSITIVE_INFINITY) + AFTER;
    const refused = new Set(
      log
        .filter((change) => change.venue === venue && change.from <= ends)
        .flatMap((change) => change.symbols.filter((one) => (subscribedUntil(change, one, firstSeen) ?? 0) >= from)),
    );
    return [{ kind, from, to: ends, isAbout: (place: Place) => place.venue === venue && refused.has(place.symbol) }];
  });

/** Faults that withhold frames of open connections. */
const HIDING: ReadonlySet<Kind> = new Set(['silence', 'slow', 'drop', 'malformed']);

/** New connections take over as soon as they deliver anything, so what is hidden on them is lost with the old ones. */
const replacedWindows = (log: readonly FaultEntry[]): FaultWindow[] =>
  log
    .filter(({ kind }) => HIDING.has(kind))
    .flatMap(({ venue, from, to, symbols, layers }) => {
      const ends = (to ?? Number.POSITIVE_INFINITY) + AFTER;
      const isAbout = (place: Place): boolean =>
        place.venue === venue && symbols.includes(place.symbol) && layers.includes(place.layer);
      return log
        .filter((change) => isOfListings(change) && change.venue === venue && change.from <= ends)
        .map((change) => ({
          kind: 'connection_replaced' as const,
          from: Math.max(from, change.from),
          to: ends,
          isAbout,
        }));
    });

const toWindows = (entry: FaultEntry, firstSeen: FirstSeen): FaultWindow[] => {
  const { kind, venue, from, symbols } = entry;
  const layers = listLayers(entry);
  const isAsked = kind === 'rate_limit' || kind === 'rest_down';
  const ends = (entry.to ?? Number.POSITIVE_INFINITY) + AFTER + (isAsked ? POLL_PERIOD : 0);
  const window = (names: readonly string[], to: number): FaultWindow => ({
    kind,
    from,
    to,
    isAbout: (place) => place.venue === venue && names.includes(place.symbol) && layers.has(place.layer),
  });
  if (kind !== 'listing_added' && !isForGood(entry)) return [window(symbols, ends), ...starvedWindow(entry)];
  return symbols.map((symbol) =>
    window([symbol], subscribedUntil(entry, symbol, firstSeen) ?? Number.POSITIVE_INFINITY),
  );
};

type Place = Subject & { readonly layer: string };
type FaultHit = FaultEntry['hits'][number];

/** The simulator's fault log as questions: which faults explain what was seen, and whether what was seen follows from them. */
export class FaultWindows {
  readonly #log: readonly FaultEntry[];
  readonly #windows: readonly FaultWindow[];

  constructor(log: readonly FaultEntry[], firstSeen: FirstSeen, more: readonly FaultWindow[] = []) {
    this.#log = log;
    this.#windows = [
      ...log.flatMap((entry) => toWindows(entry, firstSeen)),
      ...refusedWindows(log, firstSeen),
      ...replacedWindows(log),
      ...more,
    ];
  }

  /** Kinds of the faults that touch a listing and layer within `[from, to]`. */
  touching(place: Place, from: number, to: number): readonly Kind[] {
    const kinds = this.#windows.filter((w) => w.from <= to && from <= w.to && w.isAbout(place)).map(({ kind }) => kind);
    return [...new Set(kinds)];
  }

  /** Whether the venue's stamps were off about then: its truth of a span cannot be found by them. */
  isSkewed({ venue }: Place, from: number, to: number): boolean {
    return this.#log.some(
      (entry) =>
        entry.kind === 'clock_skew' &&
        entry.venue === venue &&
        entry.from - AFTER <= to &&
        from <= (entry.to ?? Number.POSITIVE_INFINITY) + AFTER,
    );
  }

  /** Frames about a listing that went out twice within the span. */
  doubled({ venue, symbol }: Subject, from: number, to: number): readonly FaultHit[] {
    return this.#log
      .filter((entry) => entry.kind === 'duplicate' && entry.venue === venue && entry.symbols.includes(symbol))
      .flatMap(({ hits }) => hits.filter(({ at }) => at >= from && at <= to));
  }

  /** Whether an unreadable frame lay in the span, whosever: what it held of its connection cannot be read from it. */
  isUnreadable({ venue }: Place, from: number, to: number): boolean {
    return this.#log.some(
      (entry) =>
        entry.kind === 'malformed' &&
        entry.venue === venue &&
        entry.hits.some(({ at }) => at >= from - SECOND && at <= to + SECOND),
    );
  }
}

export const followsFrom = (kinds: readonly Kind[], state: string): boolean =>
  kinds.some((kind) => RULES[kind].states.includes(state));

export const listCauses = (kinds: readonly Kind[]): ReadonlySet<string> =>
  new Set(kinds.flatMap((kind) => RULES[kind].causes));
