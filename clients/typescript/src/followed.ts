// What following is asked with and tells: readings with their source, gaps, and what no longer holds.
import type {
  Digits,
  GapEvent,
  HistoryAnswer,
  HistoryRequest,
  HistoryRow,
  StreamRequest,
  StreamState,
} from './api-types.ts';
import type { LiveEvent, LiveOptions, LiveRequest } from './live.ts';

export type FollowRequest = Omit<StreamRequest, 'layers' | 'snapshot' | 'timeframe' | 'rules'> & {
  readonly layers: readonly string[];
  /** Instant from which on readings are told. */
  readonly since: string | Date;
  /** Length of a period of history, such as `1m`; without it every stored row (plans from Standard). */
  readonly interval?: HistoryRequest['interval'];
};

/**
 * A reading and where it is from: of history the last one of each sampling window, live every one. One that did not hold any more when it was
 * told has the status `stale`, and its figures under `withheld`; `figuresOf` gives the figures of either.
 */
export type Followed<F extends Digits = number> = {
  readonly source: 'history' | 'live';
  readonly venue: string;
  readonly venue_symbol: string;
  readonly instrument: string;
  readonly layer: string;
  readonly received_at: string;
  readonly reading: HistoryRow<F> | StreamState<F>;
};

export type FollowedGap =
  /** Rows of history without a reading: nobody has them. */
  | {
      readonly source: 'history';
      readonly venue: string;
      readonly venue_symbol: string;
      readonly layer: string;
      readonly from: string;
      readonly to: string;
      readonly cause: string;
    }
  /** The stream left something out; what history has of it is told next. */
  | ({ readonly source: 'live' } & GapEvent);

export type FollowedStale = {
  readonly venue: string;
  readonly venue_symbol: string;
  readonly instrument: string;
  readonly layer: string;
  readonly reason: string | null;
  readonly received_at: string | null;
};

export type FollowOptions = Pick<LiveOptions, 'signal' | 'silenceMs' | 'onConnection'> & {
  readonly onGap?: (gap: FollowedGap) => void;
  /** A reading does not hold: it came stale, or was told and has become stale. */
  readonly onStale?: (stale: FollowedStale) => void;
  /** Windows that history does not know yet are asked for again after this, then after twice as long, up to 32 s; 2 s unless told. */
  readonly againMs?: number;
};

/** What following is made of. */
export type FollowSources<F extends Digits> = {
  readonly live: (request: LiveRequest, options: LiveOptions) => AsyncIterable<LiveEvent<F>>;
  readonly history: (request: HistoryRequest, signal: AbortSignal) => AsyncIterable<HistoryAnswer<F>>;
};

/** Figures as they were received, whether or not they still held when they were told. */
export const figuresOf = <F extends Digits>({
  values,
  withheld,
}: Pick<HistoryRow<F>, 'values' | 'withheld'>): { readonly [name: string]: F | null } => withheld?.values ?? values;
