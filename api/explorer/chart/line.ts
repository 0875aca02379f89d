// A layer's history as a line with its holes: nothing is interpolated, every row without a figure is a hole with its reason.
import { countLeading } from '../../../schemas/binary-search.ts';
import type { Reading } from '../board/reading.ts';
import { describeReason, formatReason } from '../board/reason-words.ts';

/** A row of `POST /v2/snapshots/history`, figures as digits. */
export type HistoryRow = Omit<Reading, 'age_ms'> & { readonly at: string; readonly late?: boolean };

/** A period without a figure, from after `fromMs` up to `toMs`, with its reason. */
export type Hole = {
  readonly fromMs: number;
  readonly toMs: number;
  /** Reason and cause as the answer has them. */
  readonly reason: string;
  readonly cause: string | null;
  readonly label: string;
  readonly words: string;
};

/** Points ascending by time. `ys` is NaN where a hole begins: no line is drawn from its neighbour before to the one after. */
export type Line = {
  readonly name: string;
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  /** The figures as digits, by point; null in a hole. */
  readonly digits: readonly (string | null)[];
  readonly holes: readonly Hole[];
  /** Points that were recorded too late to count in any other answer. */
  readonly late: readonly number[];
  /** Beside each figure: a currency, an asset; left out where the figure's own text names it. */
  readonly unit?: string;
};

type Empty = { readonly reason: string; readonly cause: string | null };

const findEmptiness = (row: HistoryRow, member: string): Empty | null => {
  if (row.status !== 'present') return { reason: row.reason ?? row.status, cause: row.gap_cause ?? null };
  const digits = row.values[member];
  return digits === undefined || digits === null
    ? { reason: row.null_reasons?.[member] ?? 'no_value', cause: null }
    : null;
};

const isSameHole = (hole: Hole | undefined, { reason, cause }: Empty, fromMs: number): boolean =>
  hole !== undefined && hole.reason === reason && hole.cause === cause && hole.toMs === fromMs;

/** `stepMs`: the time that a row covers; for stored rows the layer's own window. */
export const buildLine = (
  name: string,
  rows: readonly HistoryRow[],
  { member, stepMs }: { readonly member: string; readonly stepMs: number },
): Line => {
  const xs: number[] = [];
  const ys: number[] = [];
  const digits: (string | null)[] = [];
  const holes: Hole[] = [];
  const late: number[] = [];
  let previousMs: number | null = null;
  for (const row of rows) {
    const at = Date.parse(row.at);
    const empty = findEmptiness(row, member);
    const fromMs = previousMs === null ? at - stepMs : Math.max(previousMs, at - stepMs);
    previousMs = at;
    xs.push(at);
    if (empty === null) {
      if (row.late === true) late.push(xs.length - 1);
      digits.push(row.values[member] ?? null);
      ys.push(Number(row.values[member]));
      continue;
    }
    digits.push(null);
    ys.push(Number.NaN);
    const last = holes.at(-1);
    if (last !== undefined && isSameHole(last, empty, fromMs)) holes[holes.length - 1] = { ...last, toMs: at };
    else
      holes.push({
        ...{ fromMs, toMs: at, ...empty },
        label: formatReason(empty.reason, empty.cause ?? undefined),
        words: describeReason(empty.reason, empty.cause ?? undefined),
      });
  }
  return { name, xs, ys, digits, holes, late };
};

/** The hole that an instant lies in, or null. */
export const findHole = ({ holes }: Pick<Line, 'holes'>, ms: number): Hole | null =>
  holes.find(({ fromMs, toMs }) => ms > fromMs && ms <= toMs) ?? null;

/** Place of the point nearest to an instant; -1 of an empty line. */
export const findNearestPoint = (xs: readonly number[], ms: number): number => {
  const last = xs.length - 1;
  const next = Math.min(
    last,
    countLeading(xs.length, (i) => (xs[i] ?? 0) < ms),
  );
  const before = next - 1;
  return before >= 0 && ms - (xs[before] ?? 0) <= (xs[next] ?? 0) - ms ? before : next;
};
