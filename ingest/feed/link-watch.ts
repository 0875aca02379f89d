// What one connection leaves out, by the cheap looks of its venue: subscriptions that went silent, values to confirm, minutes to fill in.
import type { Venue, Watched } from '../venue.ts';
import { createCandleWatch } from './candle-watch.ts';
import type { FillIn, FillInKind } from './fill-ins.ts';
import { createSubscriptionWatch } from './subscription-watch.ts';

export type LinkWatch = {
  /** A data frame. Throws SyntaxError when it tells of a minute and cannot be read. */
  readonly heard: (text: string) => void;
  /** Subscriptions to begin again now. */
  readonly silent: () => readonly string[];
  readonly next: (kind: FillInKind) => FillIn | null;
  /** Nothing was read for a while, by our own doing. */
  readonly forgive: () => void;
};

export type LinkWatchOptions = {
  readonly venue: Venue;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly watched: readonly Watched[];
  /** Symbols whose candles of trades come by this connection. */
  readonly candles: Iterable<string>;
  readonly wallMs: () => number;
};

export const createLinkWatch = ({ venue, endpoints, watched, candles, wallMs }: LinkWatchOptions): LinkWatch => {
  const { subscriptionOf, closedMinute, newestMinute } = venue;
  const subscriptions = createSubscriptionWatch(watched, performance.now());
  const minutes = createCandleWatch(venue.candles && (closedMinute || newestMinute) ? candles : []);

  const nextMinutes = (): FillIn | null => {
    const need = minutes.next(wallMs());
    const request = need && venue.candles?.({ venue_symbol: need.symbol }, need, endpoints);
    return request ? { symbol: need.symbol, request, filled: () => minutes.fill(need) } : null;
  };
  const nextConfirmation = (): FillIn | null => {
    const quiet = subscriptions.quiet(performance.now());
    const asked = quiet === null ? null : venue.confirm?.(quiet, endpoints);
    return asked ? { ...asked, filled: () => undefined } : null;
  };

  return {
    heard: (text) => {
      const subscription = watched.length > 0 ? (subscriptionOf?.(text) ?? null) : null;
      if (subscription !== null) subscriptions.heard(subscription, text, performance.now());
      const closed = closedMinute?.(text) ?? null;
      const newest = newestMinute?.(text) ?? null;
      if (!closed && !newest) return;
      // What the task will refuse closes nothing.
      JSON.parse(text);
      if (closed) minutes.close(closed);
      if (newest) minutes.begin(newest);
    },
    silent: () => subscriptions.silent(performance.now()),
    next: (kind) => (kind === 'candle' ? nextMinutes() : nextConfirmation()),
    forgive: () => subscriptions.forgive(performance.now()),
  };
};
