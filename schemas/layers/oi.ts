// Layer `oi`: open interest.
import type { Digits, QuantityUnit } from '../scalars.ts';
import { declareReading, type RecordOf } from './layer.ts';

export type OiRecord = RecordOf<'oi', { readonly oi: Digits | null; readonly oi_unit: QuantityUnit }>;

export const oi = declareReading<OiRecord>()({
  kind: 'reading',
  name: 'oi',
  recordName: 'oi',
  record: 'oi',
  aliases: ['open_interest'],
  table: 'open_interest',
  freshnessMs: 30_000,
  windowMs: 10_000,
  members: { oi: { unit: 'quantity', sentence: 'Open interest.' } },
  instants: [],
  fields: { oi: { isAdditive: true } },
  anchored: { oi: 'figure', oi_unit: ['text', 'quantity_unit'] },
  isStreamedUnasked: true,
});
