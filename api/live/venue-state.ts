// Whether a venue is live, degraded or down, and since when (V-01).
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Span } from '../../schemas/topics.ts';
import type { LiveMemory, LiveVenue } from './memory.ts';

/** A slot lost longer ago than this was given up with its listings, and does not concern the present. */
const FORGET_LOST: Micros = 3_600_000_000;

export type VenueState = { readonly state: 'live' | 'degraded' | 'down'; readonly since: Micros | null };

const latest = (instants: readonly Micros[]): Micros | null => (instants.length === 0 ? null : Math.max(...instants));

/** Down without an open connection; degraded while one of its slots is lost or the pipeline is behind; else live. */
export const venueState = (live: LiveMemory, venue: LiveVenue, at: Micros): VenueState => {
  const spans = [...venue.connections.newestBySlot().values()];
  const open = spans.filter((s) => s.to === null);
  const ends = spans.flatMap(({ to }: Span) => (to === null ? [] : [to]));
  if (open.length === 0) return { state: 'down', since: latest(ends) };
  const watermark = live.watermark(venue.venue);
  if (watermark === null || at - watermark > STATE_LAG) {
    return { state: 'degraded', since: watermark === null ? null : watermark + STATE_LAG };
  }
  const lost = ends.filter((to) => at - to <= FORGET_LOST);
  if (lost.length > 0) return { state: 'degraded', since: Math.min(...lost) };
  return { state: 'live', since: latest(open.map((s) => s.from)) };
};
