// Layer `venue_depth` (`book_bands` in records, archive and proofs): sums of the book within distances of its mid.
import { type AnchoredKind, declareReading, type Members } from './layer.ts';

/** The depth bands of the catalogue, ascending. */
export const BANDS = ['10bps', '25bps', '50bps', '100bps'] as const;
export type Band = (typeof BANDS)[number];

/** Members that every band has. */
const OF_A_BAND = {
  depth_bid: { unit: 'quantity', sentence: 'Quantity bid within the distance of the mid.' },
  depth_ask: { unit: 'quantity', sentence: 'Quantity asked within the distance of the mid.' },
  depth_bid_value: { unit: 'quote', sentence: 'Price times quantity, summed over those bids.' },
  depth_ask_value: { unit: 'quote', sentence: 'Price times quantity, summed over those asks.' },
  levels_bid: { unit: 'count', sentence: 'Number of those bids.' },
  levels_ask: { unit: 'count', sentence: 'Number of those asks.' },
} as const satisfies Members;

const bandMembers: Members = Object.fromEntries(
  BANDS.flatMap((band) => Object.entries(OF_A_BAND).map(([name, member]) => [`${name}_${band}`, member])),
);

const anchoredBands: Readonly<Record<string, AnchoredKind>> = Object.fromEntries(
  Object.entries(bandMembers).map(([name, { unit }]) => [name, unit === 'count' ? 'integer' : 'figure']),
);

export const bookBands = declareReading<never>()({
  kind: 'reading',
  name: 'venue_depth',
  recordName: 'book_bands',
  record: null,
  source: 'book',
  aliases: ['book_bands'],
  table: 'book_bands',
  freshnessMs: 30_000,
  windowMs: 10_000,
  members: { mid: { unit: 'quote', sentence: 'The mid that distances are measured from.' }, ...bandMembers },
  instants: [],
  // Functions of the query language read the bands.
  fields: {},
  anchored: { mid: 'figure', ...anchoredBands, quantity_unit: 'text' },
  isStreamedUnasked: false,
});
