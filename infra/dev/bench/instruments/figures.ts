// The output of a bench: figures beside their limit and their aim, percentiles, one table of plain text.
import { renderColumns } from './table.ts';

/** Minimum and maximum of `of` measurements; the figure is their median unless its name has another. */
export type Spread = { readonly min: number; readonly max: number; readonly of: number };

/** `limit` is the best this machine does for the same step, measured in the same run; `aim` is design section 10. */
export type Figure = {
  readonly name: string;
  readonly unit: 'ms' | '/s' | 's' | 'MB' | 'cores' | 'kB' | 'B' | 'ms/h' | '';
  readonly measured: number | null;
  /** Null for a single measurement. */
  readonly spread: Spread | null;
  readonly limit: number | null;
  /** Description of the limit; empty without one. */
  readonly limitIs: string;
  readonly aim: { readonly is: 'below' | 'at least'; readonly value: number } | null;
  readonly note: string;
};

type Measured = Pick<Figure, 'name' | 'unit' | 'measured'> & Partial<Figure>;

export const makeFigure = (measured: Measured): Figure => ({
  spread: null,
  limit: null,
  limitIs: '',
  aim: null,
  note: '',
  ...measured,
});

export const makeUpperAim = (value: number): Figure['aim'] => ({ is: 'below', value });
export const makeLowerAim = (value: number): Figure['aim'] => ({ is: 'at least', value });

/** The value that the share `q` of the samples does not exceed (nearest rank); null without samples. */
export const findQuantile = (samples: readonly number[], q: number): number | null => {
  if (samples.length === 0) return null;
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? null;
};

export const sum = (values: Iterable<number>): number => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};

export const computeMean = (values: readonly number[]): number => sum(values) / values.length;

const formatValue = (value: number | null): string => {
  if (value === null) return '-';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3).replace(/\.?0+$/, '');
};

const withUnit = (value: number | null, unit: Figure['unit']): string => {
  if (value === null) return '-';
  if (unit === 'cores') return `${value.toFixed(2)} cores`;
  return unit === '/s' ? `${formatValue(value)}/s` : `${formatValue(value)} ${unit}`.trimEnd();
};

/** Times over their limit (latencies), share of it (rates); null without one. */
export const computeRatio = ({ measured, limit }: Figure): number | null =>
  measured === null || limit === null || limit === 0 ? null : measured / limit;

export const isMet = ({ measured, aim }: Figure): boolean | null => {
  if (measured === null || aim === null) return null;
  return aim.is === 'below' ? measured < aim.value : measured >= aim.value;
};

const formatSpread = ({ spread, unit }: Figure): string => {
  if (spread === null) return '';
  const [min, max] = [spread.min, spread.max].map((value) =>
    unit === 'cores' ? value.toFixed(2) : formatValue(value),
  );
  return `${min} .. ${max}`;
};

const formatAim = ({ aim, unit }: Figure): string =>
  aim === null ? '' : `${aim.is === 'below' ? '<' : '>='} ${withUnit(aim.value, unit)}`;

const formatMet = (figure: Figure): string => {
  const met = isMet(figure);
  if (met === null) return figure.aim === null ? '' : '?';
  return met ? 'yes' : 'NO';
};

const HEAD = ['figure', 'median', 'min .. max', 'limit', 'ratio', 'aim', 'met', 'limit is; note'] as const;
const RIGHT: ReadonlySet<number> = new Set([1, 2, 3, 4, 5]);

export const renderTable = (figures: readonly Figure[]): string => {
  const rows = figures.map((figure) => [
    figure.name,
    withUnit(figure.measured, figure.unit),
    formatSpread(figure),
    withUnit(figure.limit, figure.unit),
    formatValue(computeRatio(figure)),
    formatAim(figure),
    formatMet(figure),
    [figure.limitIs, figure.note].filter((text) => text !== '').join('; '),
  ]);
  return renderColumns(HEAD, rows, RIGHT);
};
