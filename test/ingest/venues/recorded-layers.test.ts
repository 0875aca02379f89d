// What no recording of a venue holds stands in the table of ingest/README.md: there the mapping follows the venue's docs, and live messages are its first test.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { NormalisedRecord } from '../../../schemas/records.ts';
import { fixturePath } from '../../support/recordings.ts';

const README = readFileSync(join(import.meta.dirname, '../../../ingest/README.md'), 'utf8');

/** Fewer updates after a snapshot are examples, no session. */
const SESSION = 10;

const READINGS = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trade', 'liquidation', 'listing'] as const;
/** Names of policies, where they are others than the layers' (L-01). */
const POLICIES: Readonly<Record<string, string>> = { trade: 'trades' };

/** Layers published but not recorded, in one order. */
const unrecorded = async (venue: Venue): Promise<readonly string[]> => {
  const folder = fixturePath(venue.id);
  const files = readdirSync(folder).filter((name) => /\.ndjson(\.gz)?$/.test(name));
  const seen = new Set<string>();
  const updates = new Map<string, number>();
  const write = (line: string): void => {
    const { layer, values, venue_symbol } = JSON.parse(line) as NormalisedRecord;
    seen.add(layer);
    if (layer === 'candle') seen.add(`candle ${values.price_type}`);
    if (layer === 'book') updates.set(venue_symbol, (updates.get(venue_symbol) ?? 0) + 1);
  };
  await normalise({ venue, files: files.map((name) => join(folder, name)), assembled: true, write });
  const isPublished = (layer: string): boolean => venue.layers[POLICIES[layer] ?? layer]?.policy !== 'not_published';
  return [
    ...(Math.max(0, ...updates.values()) < SESSION ? ['book sessions'] : []),
    ...READINGS.filter((layer) => isPublished(layer) && !seen.has(layer)).map((layer) =>
      layer === 'liquidation' ? 'liquidations' : layer,
    ),
    ...(seen.has('candle trade') ? [] : ['candles']),
  ];
};

const rowOf = (venue: Venue): string | undefined => {
  const [, table = ''] = README.split('### What no recording holds');
  return new RegExp(`^\\| \`${venue.id}\` \\| ([^|]*) \\|`, 'm').exec(table)?.[1];
};

t.test('the table of what was never seen in the wild is true', async (t) => {
  for (const venue of venues.values()) {
    const wanted = await unrecorded(venue);
    t.equal(rowOf(venue), wanted.length === 0 ? '-' : wanted.join(', '), venue.id);
  }
});
