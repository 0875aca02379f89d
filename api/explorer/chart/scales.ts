// Axes: round figures and round instants, and from a value to its place.
import { SCALES } from '../board/figure-text.ts';

export type Range = { readonly low: number; readonly high: number };

/** From the lowest to the highest shown value, with a margin; null: nothing is shown. */
export const findRange = (figures: Iterable<number>): Range | null => {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const figure of figures) {
    if (Number.isNaN(figure)) continue;
    if (figure < low) low = figure;
    if (figure > high) high = figure;
  }
  if (low > high) return null;
  const air = low === high ? Math.abs(low) * 0.001 || 1 : (high - low) * 0.06;
  return { low: low - air, high: high + air };
};

/** 1, 2 or 5 times a power of ten, at least `least`. */
const computeStep = (least: number): number => {
  const power = 10 ** Math.floor(Math.log10(least));
  const times = least / power;
  return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
};

/** Round figures within a range, about `count` of them. */
export const listTicks = ({ low, high }: Range, count: number): readonly number[] => {
  const step = computeStep((high - low) / Math.max(1, count));
  const first = Math.ceil(low / step);
  const ticks: number[] = [];
  for (let at = first; at * step <= high && ticks.length < 50; at++) ticks.push(at * step);
  return ticks;
};

/** A figure of an axis, as exact as the step between ticks; large ones in millions, billions or trillions, as in cells. */
export const formatTick = (tick: number, step: number): string => {
  const scale = SCALES.find(({ digits }) => Math.abs(tick) >= 10 ** digits);
  if (scale === undefined) return formatStep(tick, step);
  return `${formatStep(tick / 10 ** scale.digits, step / 10 ** scale.digits)}${scale.suffix}`;
};

const formatStep = (tick: number, step: number): string => {
  const decimals = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  return tick.toFixed(decimals).replace(/^-(?=[0.]*$)/, '');
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 30].map((n) => n * DAY),
];

type TimeTicks = { readonly stepMs: number; readonly at: readonly number[] };

/** Round instants in UTC, about `count` of them. */
export const makeTimeTicks = (fromMs: number, toMs: number, count: number): TimeTicks => {
  const least = (toMs - fromMs) / Math.max(1, count);
  const stepMs = TIME_STEPS.find((step) => step >= least) ?? 30 * DAY;
  const at: number[] = [];
  for (let ms = Math.ceil(fromMs / stepMs) * stepMs; ms <= toMs && at.length < 100; ms += stepMs) at.push(ms);
  return { stepMs, at };
};

export const formatTimeTick = (ms: number, stepMs: number): string => {
  const text = new Date(ms).toISOString();
  // The first tick of a day names it.
  if (ms % DAY === 0 || stepMs >= DAY) return text.slice(5, 10);
  return stepMs >= MINUTE ? text.slice(11, 16) : text.slice(11, 19);
};
