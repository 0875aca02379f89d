// What a board can show: the place of each measure in a reading, the form of its figures, the steps of its colours.
import type { Form } from './figure-text.ts';

export type MeasureId = 'funding' | 'funding_8h' | 'basis' | 'oi' | 'spread' | 'depth_bid' | 'depth_ask';

/** `signed`: both ways from zero; `above`: from zero up; `share`: of the largest of the row in the same unit. */
export type Scale =
  | { readonly kind: 'signed' | 'above'; readonly steps: readonly number[] }
  | { readonly kind: 'share' };

export type Measure = {
  readonly id: MeasureId;
  readonly label: string;
  /** Name of its layer on the stream, and in plans and snapshots. */
  readonly layer: 'funding' | 'mark' | 'oi' | 'book' | 'book_bands';
  readonly planLayer: string;
  readonly member: string;
  readonly words: string;
  readonly scale: Scale;
  readonly form: Form;
  /** Of the steps of the legend. */
  readonly stepText: (step: number) => string;
};

const formatBpsStep = (step: number): string => `${Number((step * 1e4).toPrecision(6))} bps`;
const formatPercentStep = (step: number): string => `${Number((step * 100).toPrecision(6))} %`;
const formatShareStep = (step: number): string => `${Math.round(step * 100)} %`;

/** Of the largest figure of a row. */
export const SHARE_STEPS: readonly number[] = [0.01, 0.2, 0.4, 0.6, 0.8];

const FUNDING_STEPS = [0.00002, 0.00005, 0.0001, 0.0002, 0.0005];

export const MEASURES: readonly Measure[] = [
  {
    ...{ id: 'funding', label: 'Funding', layer: 'funding', planLayer: 'funding', member: 'funding' },
    words: 'Published rate for the next settlement, per interval of the venue.',
    scale: { kind: 'signed', steps: FUNDING_STEPS },
    form: 'rate',
    stepText: formatPercentStep,
  },
  {
    ...{ id: 'funding_8h', label: 'Funding, 8 h', layer: 'funding', planLayer: 'funding', member: 'funding_8h' },
    words: 'The rate as if every venue settled every eight hours: funding × 8 h / interval.',
    scale: { kind: 'signed', steps: FUNDING_STEPS },
    form: 'rate',
    stepText: formatPercentStep,
  },
  {
    ...{ id: 'basis', label: 'Basis', layer: 'mark', planLayer: 'mark', member: 'basis' },
    words: '(mark − index) / index of the venue, in basis points.',
    scale: { kind: 'signed', steps: [0.0001, 0.0003, 0.0005, 0.001, 0.002] },
    form: 'bps',
    stepText: formatBpsStep,
  },
  {
    ...{ id: 'oi', label: 'Open interest', layer: 'oi', planLayer: 'oi', member: 'oi' },
    words: 'Open interest in the unit that each venue publishes; coloured only among figures of one unit.',
    scale: { kind: 'share' },
    form: 'quantity',
    stepText: formatShareStep,
  },
  {
    ...{ id: 'spread', label: 'Spread', layer: 'book', planLayer: 'book', member: 'spread' },
    words: '(ask − bid) / mid of the best levels, in basis points.',
    scale: { kind: 'above', steps: [0.00001, 0.00005, 0.0001, 0.0003, 0.001] },
    form: 'width',
    stepText: formatBpsStep,
  },
  {
    ...{ id: 'depth_bid', label: 'Depth, bids', layer: 'book_bands', planLayer: 'venue_depth' },
    member: 'depth_bid_value_25bps',
    words: 'Value bid within 25 basis points of the mid, in quote currency.',
    scale: { kind: 'share' },
    form: 'quantity',
    stepText: formatShareStep,
  },
  {
    ...{ id: 'depth_ask', label: 'Depth, asks', layer: 'book_bands', planLayer: 'venue_depth' },
    member: 'depth_ask_value_25bps',
    words: 'Value asked within 25 basis points of the mid, in quote currency.',
    scale: { kind: 'share' },
    form: 'quantity',
    stepText: formatShareStep,
  },
];

export const DEFAULT_MEASURE: MeasureId = 'funding_8h';

export const findMeasure = (id: string | undefined): Measure =>
  MEASURES.find((measure) => measure.id === id) ??
  (MEASURES.find((measure) => measure.id === DEFAULT_MEASURE) as Measure);
