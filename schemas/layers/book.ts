// Layer `book`: the order book; readings contain its top, `md.book` its levels.
import type { Level } from '../scalars.ts';
import { declareReading, type RecordOf } from './layer.ts';

export type BookRecord = RecordOf<
  'book',
  {
    readonly kind: 'snapshot' | 'update';
    readonly bids: readonly Level[];
    readonly asks: readonly Level[];
    /** The venue's own sequence of this message, or null. */
    readonly sequence: string | null;
  }
>;

export const book = declareReading<BookRecord>()({
  kind: 'reading',
  name: 'book',
  recordName: 'book',
  record: 'book',
  aliases: [],
  table: 'book',
  freshnessMs: 30_000,
  windowMs: 10_000,
  members: {
    bid: { unit: 'quote', sentence: 'Best bid price.' },
    ask: { unit: 'quote', sentence: 'Best ask price.' },
    mid: { unit: 'quote', sentence: '(bid + ask) / 2.', from: ['bid', 'ask'] },
    bid_size: { unit: 'quantity', sentence: 'Quantity at the best bid.' },
    ask_size: { unit: 'quantity', sentence: 'Quantity at the best ask.' },
    spread: { unit: 'fraction', sentence: '(ask - bid) / mid.', from: ['bid', 'ask'] },
  },
  instants: [],
  fields: {
    bid: {},
    ask: {},
    mid: {},
    spread: {},
    bid_size: { isAdditive: true },
    ask_size: { isAdditive: true },
  },
  anchored: null,
  isStreamedUnasked: true,
});
