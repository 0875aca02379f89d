// Layer `funding`: the rate for the next settlement, and its time.
import type { Digits, Micros } from '../scalars.ts';
import { declareReading, type RecordOf } from './layer.ts';

export type FundingRecord = RecordOf<
  'funding',
  {
    /** Rate for the next settlement, per interval, as a fraction. */
    readonly funding: Digits | null;
    /** Milliseconds; null when only the listing has it. */
    readonly funding_interval_ms: number | null;
    readonly next_funding_at: Micros | null;
  }
>;

/** A duration has no series of snapshots. */
const DURATION = { type: 'duration', isSampleable: false } as const;

export const funding = declareReading<FundingRecord>()({
  kind: 'reading',
  name: 'funding',
  recordName: 'funding',
  record: 'funding',
  aliases: [],
  table: 'funding',
  freshnessMs: 300_000,
  windowMs: 60_000,
  members: {
    funding: { unit: 'fraction', sentence: 'Published rate for the next settlement, per interval.' },
    funding_8h: {
      unit: 'fraction',
      sentence: 'funding x 8h / funding_interval.',
      from: ['funding', 'funding_interval'],
    },
    funding_interval: { unit: 'ms', sentence: 'Time between two settlements.' },
  },
  instants: ['next_funding_at'],
  fields: {
    funding: {},
    funding_interval: DURATION,
    funding_8h: {},
    time_to_funding: {
      ...DURATION,
      computed: {
        unit: 'ms',
        sentence: 'Next funding time minus the evaluation instant.',
        from: ['next_funding_at'],
      },
    },
  },
  anchored: { funding: 'figure', funding_interval_ms: ['integer', 'funding_interval'], next_funding_at: 'instant' },
  isStreamedUnasked: true,
});
