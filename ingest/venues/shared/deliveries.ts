// Deliveries that several venues have: layers that are sent as they change, and those that a venue does not publish.
import type { Delivery, VenueFeed } from '../contract/feed.ts';

const OFF: Delivery = { policy: 'off', cadence: 'live', horizonMs: null, horizonSource: null };
export const NOT_PUBLISHED: Delivery = { ...OFF, policy: 'not_published' };
export const ON_CHANGE: Delivery = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };

/** Every layer sent as it changes; a venue states only its differences. */
export const ALL_ON_CHANGE: VenueFeed['layers'] = {
  ticker: ON_CHANGE,
  mark: ON_CHANGE,
  funding: ON_CHANGE,
  oi: ON_CHANGE,
  book: ON_CHANGE,
  stats: ON_CHANGE,
  venue_depth: ON_CHANGE,
  trades: ON_CHANGE,
  liquidation: ON_CHANGE,
  candles: ON_CHANGE,
};
