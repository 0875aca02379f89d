// The options and results of following: readings with their source, gaps, and readings that are no longer valid.
import type { Digits, GapEvent, HistoryAnswer, HistoryRequest, HistoryRow, StreamState } from './api-types.ts';
import type { LiveEvent, LiveOptions, LiveRequest } from './live.ts';

export type FollowRequest = Omit<LiveRequest, 'layers' | 'snapshot' | 'timeframe' | 'rules'> & {
  readonly layers: readonly string[];
  /** Instant from which on readings are delivered. */
  readonly since: string | Date;
  /** Length of a period of history, such as `1m`; without it every stored row (plans from Standard). */
  readonly interval?: HistoryRequest['interval'];
};

/**
 * A reading and its source: from history the last one of each sampling window, live every one. A reading that was no longer valid when it was
 * delivered has the status `stale`, and its figures under `withheld`; `figuresOf` returns the figures of either.
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
  /** Rows of history without a reading, which no source has. */
  | {
      readonly source: 'history';
      readonly venue: string;
      readonly venue_symbol: string;
      readonly layer: string;
      readonly from: string;
      readonly to: string;
      readonly cause: string;
    }
  /** The stream left something out; the readings that history has of it follow. */
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
  /** A reading is not valid: it arrived stale, or was delivered and has become stale. */
  readonly onStale?: (stale: FollowedStale) => void;
  /** Windows that history does not know yet are requested again after this, then after twice as long, up to 32 s; default 2 s. */
  readonly againMs?: number;
};

/** The sources that following reads. */
export type FollowSources<F extends Digits> = {
  readonly live: (request: LiveRequest, options: LiveOptions) => AsyncIterable<LiveEvent<F>>;
  readonly history: (request: HistoryRequest, signal: AbortSignal) => AsyncIterable<HistoryAnswer<F>>;
};

/** Figures as they were received, whether or not they were still valid when they were delivered. */
export const figuresOf = <F extends Digits>({
  values,
  withheld,
}: Pick<HistoryRow<F>, 'values' | 'withheld'>): { readonly [name: string]: F | null } => withheld?.values ?? values;
