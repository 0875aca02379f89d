// Deliveries that several venues have: a layer that is sent as it changes, and one that the venue does not publish.
import type { Delivery } from '../contract/feed.ts';

const OFF: Delivery = { policy: 'off', cadence: 'live', horizonMs: null, horizonSource: null };
export const NOT_PUBLISHED: Delivery = { ...OFF, policy: 'not_published' };
export const ON_CHANGE: Delivery = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };
