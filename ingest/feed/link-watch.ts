// Finds what one connection omits, by cheap reads of its frames: silent subscriptions, values to confirm, minutes to fill in.
import type { Micros } from '../../schemas/records.ts';
import type { CollectedVenue, Watched } from '../venues/contract/feed.ts';
import { type CandleWatch, type ClosedMinutes, createCandleWatch } from './candle-watch.ts';
import { checkJson } from './check-json.ts';
import type { FillIn, FillInKind } from './fill-ins.ts';
import { createSubscriptionWatch } from './subscription-watch.ts';

export type LinkWatch = {
  /** Takes an acknowledgement. */
  readonly begin: (text: string) => void;
  /** Takes a data frame. Throws SyntaxError when the frame names a minute and is no JSON. */
  readonly take: (text: string) => void;
  /** Subscriptions to renew now. */
  readonly silent: () => readonly string[];
  readonly next: (kind: FillInKind) => FillIn | null;
  /** Nothing was read for a while, because this process paused the socket. */
  readonly forgive: () => void;
};

type LinkWatchOptions = {
  readonly venue: CollectedVenue;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly watched: readonly Watched[];
  /** Symbols whose candles of trades arrive by this connection. */
  readonly candles: Iterable<string>;
  /** Shared by the links of a slot. */
  readonly closed: ClosedMinutes;
  /** From the connection's `Source`. */
  readonly aliveFrom: () => Micros | null;
  readonly wallMs: () => number;
};

export const createLinkWatch = (options: LinkWatchOptions): LinkWatch => {
  const { venue, endpoints, watched, closed, aliveFrom, wallMs } = options;
  const { subscriptionOf, closedMinute, newestMinute } = venue;
  const subscriptions = createSubscriptionWatch(watched, performance.now());
  const candles = venue.candles && (closedMinute || newestMinute) ? [...options.candles] : [];
  let span = aliveFrom();
  let spanMinutes = createCandleWatch(candles, closed);

  /** Minutes of an earlier span prove nothing in a new one (H-12). Null once the connection has ended: later messages are not written. */
  const minutes = (): CandleWatch | null => {
    const from = aliveFrom();
    if (from === null) return null;
    if (from !== span) spanMinutes = createCandleWatch(candles, closed);
    span = from;
    return spanMinutes;
  };
  const findMinutes = (): FillIn | null => {
    const need = minutes()?.next(wallMs()) ?? null;
    const request = need && venue.candles?.({ venue_symbol: need.symbol }, need, endpoints);
    return request ? { symbol: need.symbol, request, filled: () => minutes()?.fill(need) } : null;
  };
  const findConfirmation = (): FillIn | null => {
    const quiet = subscriptions.quiet(performance.now());
    const asked = quiet === null ? null : venue.confirm?.(quiet, endpoints);
    return asked ? { ...asked, filled: () => undefined } : null;
  };

  return {
    begin: (text) => {
      const subscription = subscriptionOf?.(text) ?? null;
      if (subscription !== null) subscriptions.begin(subscription);
    },
    take: (text) => {
      const subscription = watched.length > 0 ? (subscriptionOf?.(text) ?? null) : null;
      if (subscription !== null) subscriptions.take(subscription, text, performance.now());
      const over = closedMinute?.(text) ?? null;
      const newest = newestMinute?.(text) ?? null;
      if (!over && !newest) return;
      // A frame that the task refuses closes no minute.
      checkJson(text);
      if (over) minutes()?.close(over);
      if (newest) minutes()?.begin(newest);
    },
    silent: () => subscriptions.silent(performance.now()),
    next: (kind) => (kind === 'candle' ? findMinutes() : findConfirmation()),
    forgive: () => subscriptions.forgive(performance.now()),
  };
};
