// Parts that a venue publishes but its recordings lack: there its mapping follows the docs, and live messages are its first test.
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { NormalisedRecord } from '../../../schemas/records.ts';
import { fixturePath, recordedFiles } from './recordings.ts';

/** Fewer updates after a snapshot are examples, no session. */
const SESSION = 10;

const READINGS = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trade', 'liquidation', 'listing'] as const;
/** Names of policies, where they are others than the layers' (L-01). */
const POLICIES: Readonly<Record<string, string>> = { trade: 'trades' };

/** Layers published but not recorded, in one order. */
export const findUnrecorded = async (venue: Venue): Promise<readonly string[]> => {
  const seen = new Set<string>();
  const updates = new Map<string, number>();
  const write = (line: string): void => {
    const { layer, values, venue_symbol } = JSON.parse(line) as NormalisedRecord;
    seen.add(layer);
    if (layer === 'candle') seen.add(`candle ${values.price_type}`);
    if (layer === 'book') updates.set(venue_symbol, (updates.get(venue_symbol) ?? 0) + 1);
  };
  await normalise({ venue, files: recordedFiles(venue.id).map(fixturePath), assembled: true, write });
  const isPublished = (layer: string): boolean => venue.layers[POLICIES[layer] ?? layer]?.policy !== 'not_published';
  return [
    ...(Math.max(0, ...updates.values()) < SESSION ? ['book sessions'] : []),
    ...READINGS.filter((layer) => isPublished(layer) && !seen.has(layer)).map((layer) =>
      layer === 'liquidation' ? 'liquidations' : layer,
    ),
    ...(seen.has('candle trade') ? [] : ['candles']),
  ];
};
