// Layer `stats`: trading volume of 24 hours, as published by the venue.
import type { Digits, QuantityUnit } from '../scalars.ts';
import { declareReading, type RecordOf } from './layer.ts';

export type StatsRecord = RecordOf<
  'stats',
  {
    readonly volume_24h: Digits | null;
    readonly volume_unit: QuantityUnit;
    readonly turnover_24h: Digits | null;
    readonly change_24h: Digits | null;
  }
>;

export const stats = declareReading<StatsRecord>()({
  kind: 'reading',
  name: 'stats',
  recordName: 'stats',
  record: 'stats',
  aliases: [],
  table: 'stats',
  freshnessMs: 120_000,
  windowMs: 60_000,
  members: {
    volume_24h: { unit: 'quantity', sentence: 'Quantity traded in 24 hours, as published.' },
    turnover_24h: { unit: 'quote', sentence: 'Value traded in 24 hours, as published.' },
    change_24h: { unit: 'fraction', sentence: 'Price change over 24 hours, as published.' },
  },
  instants: [],
  fields: { volume_24h: { isAdditive: true }, turnover_24h: { isAdditive: true }, change_24h: {} },
  anchored: {
    volume_24h: 'figure',
    volume_unit: ['text', 'quantity_unit'],
    turnover_24h: 'figure',
    change_24h: 'figure',
  },
  isStreamedUnasked: true,
});
