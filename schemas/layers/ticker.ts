// Layer `ticker`: the price of the last trade.
import type { Digits } from '../scalars.ts';
import { declareReading, type RecordOf } from './layer.ts';

export type TickerRecord = RecordOf<'ticker', { readonly last: Digits | null }>;

export const ticker = declareReading<TickerRecord>()({
  kind: 'reading',
  name: 'ticker',
  recordName: 'ticker',
  record: 'ticker',
  aliases: [],
  table: 'ticker',
  freshnessMs: 30_000,
  windowMs: 10_000,
  members: { last: { unit: 'quote', sentence: 'Price of the last trade.' } },
  instants: [],
  fields: { last: {} },
  anchored: { last: 'figure' },
  isStreamedUnasked: true,
});
