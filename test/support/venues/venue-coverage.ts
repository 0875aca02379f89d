// Parts that a venue publishes but its recordings lack: there its mapping follows the docs, and live messages are its first test.
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { PrintedRecord } from './venue-records.ts';

/** Fewer updates after a snapshot are examples, no session. */
const SESSION = 10;

const READINGS = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trade', 'liquidation', 'listing'] as const;
/** Names of policies, where they are others than the layers' (L-01). */
const POLICIES: Readonly<Record<string, string>> = { trade: 'trades' };

/** Layers published but not recorded, in one order. */
export const findUnrecorded = (venue: Venue, records: readonly PrintedRecord[]): readonly string[] => {
  const seen = new Set<string>();
  const updates = new Map<string, number>();
  for (const { layer, values, venue_symbol } of records) {
    seen.add(layer);
    if (layer === 'candle') seen.add(`candle ${values.price_type}`);
    if (layer === 'book') updates.set(venue_symbol, (updates.get(venue_symbol) ?? 0) + 1);
  }
  const isPublished = (layer: string): boolean => venue.layers[POLICIES[layer] ?? layer]?.policy !== 'not_published';
  return [
    ...(Math.max(0, ...updates.values()) < SESSION ? ['book sessions'] : []),
    ...READINGS.filter((layer) => isPublished(layer) && !seen.has(layer)).map((layer) =>
      layer === 'liquidation' ? 'liquidations' : layer,
    ),
    ...(seen.has('candle trade') ? [] : ['candles']),
  ];
};
