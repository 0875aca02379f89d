// Layer `mark`: mark and index price, and the basis between them.
import type { Digits } from '../scalars.ts';
import { declareReading, type RecordOf } from './layer.ts';

/** One or both of mark and index; null where this message does not carry it. */
export type MarkRecord = RecordOf<'mark', { readonly mark: Digits | null; readonly index: Digits | null }>;

export const mark = declareReading<MarkRecord>()({
  kind: 'reading',
  name: 'mark',
  recordName: 'mark',
  record: 'mark',
  aliases: [],
  table: 'mark',
  freshnessMs: 30_000,
  windowMs: 10_000,
  members: {
    mark: { unit: 'quote', sentence: 'Mark price.' },
    index: { unit: 'quote', sentence: 'Index price.', column: 'index_price' },
    basis: { unit: 'fraction', sentence: '(mark - index) / index.', from: ['mark', 'index'] },
  },
  instants: [],
  fields: { mark: {}, index: {}, basis: {} },
  anchored: { mark: 'figure', index: ['figure', 'index_price'] },
  isStreamedUnasked: true,
});
