// Answers of history as a follower takes them: rows by listing and layer, and the windows whose last reading is not known yet (N-11, H-16k).
import type { Digits, HistoryAnswer, HistoryRow } from './api-types.ts';
import { toComparable } from './delivered.ts';
import type { Followed, FollowedGap } from './followed.ts';
import { parseDurationMs } from './windows.ts';

/** Some layers have another name in requests than in the stream. */
const ALIASES: Readonly<Record<string, string>> = { venue_depth: 'book_bands' };
/** A window that is not known after this is taken for one that will never be. */
const GIVE_UP_MS = 600_000;

type Named = { readonly venue: string; readonly venue_symbol: string; readonly layer: string };

export const toPlace = ({ venue, venue_symbol, layer }: Named): string => `${venue}|${venue_symbol}|${layer}`;

export type Row<F extends Digits> = {
  /** Its receipt, or the end of its window, as text that can be compared. */
  readonly key: string;
  /** Its own instant, likewise. */
  readonly at: string;
  readonly told: Followed<F>;
  readonly row: HistoryRow<F>;
};

/** Rows in their order, and the ends of the windows of which there may be more later, ascending. */
export type Known<F extends Digits> = { readonly rows: readonly Row<F>[]; readonly open: readonly string[] };
/** The part of an answer for one listing and layer. */
type Series<F extends Digits> = Known<F> & { readonly place: string };

export const toIso = (ms: number): string => new Date(ms).toISOString();

const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:T(?!24)\d{2}:\d{2}(?::\d{2}(?:\.(\d{1,6}))?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** An instant in the form of the answers, with which it compares as text. What is no instant stays as it is: the service refuses it. */
export const toAnswerForm = (text: string): string => {
  const found = INSTANT.exec(text);
  const ms = Date.parse(text);
  if (found === null || Number.isNaN(ms)) return text;
  const [, day = '', fraction = ''] = found;
  // `Date` takes a day beyond the end of its month for one of the next.
  if (toIso(Date.parse(day)).slice(0, 10) !== day) return text;
  const micros = fraction.slice(3).padEnd(3, '0');
  return micros === '000' ? toIso(ms) : `${toIso(ms).slice(0, -1)}${micros}Z`;
};
const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Whether an unsettled answer has the last reading of the window that ends the row's period, or knows that there is none. */
const isKnown = ({ at, status, gap_cause, received_at }: HistoryRow<Digits>, cadence: string): boolean => {
  if (received_at === null) return status !== 'missing' || (gap_cause ?? 'unknown') !== 'unknown';
  const cadenceMs = parseDurationMs(cadence);
  // A row at its receipt is the row of its window; one of a period may be of an earlier window than the last.
  return at === received_at || !Number.isFinite(cadenceMs) || Date.parse(received_at) > Date.parse(at) - cadenceMs;
};

const isFinal = ({ settled, evaluated_at, to }: HistoryAnswer<Digits>): boolean =>
  settled || (to !== undefined && Date.parse(evaluated_at) >= Date.parse(to) + GIVE_UP_MS);

/** Each listing and layer of an answer, its rows in the order they were received. */
export const listSeries = <F extends Digits>(answer: HistoryAnswer<F>): Series<F>[] =>
  answer.items.flatMap(({ venue, venue_symbol, instrument, layers }) =>
    Object.entries(layers).map(([name, { rows, history_cadence }]) => {
      const layer = ALIASES[name] ?? name;
      const open = isFinal(answer) ? [] : rows.filter((row) => !isKnown(row, history_cadence));
      const taken = rows.map((row): Row<F> => {
        const received_at = row.received_at ?? row.at;
        const told = { source: 'history', venue, venue_symbol, instrument, layer, received_at, reading: row } as const;
        return { key: toComparable(received_at), at: toComparable(row.at), told, row };
      });
      return {
        place: toPlace({ venue, venue_symbol, layer }),
        rows: taken.sort((a, b) => compareTexts(a.key, b.key)),
        open: open.map(({ at }) => toComparable(at)).sort(compareTexts),
      };
    }),
  );

/** Answers about one time after the other, by place. */
export class Held<F extends Digits> {
  readonly #places = new Map<string, Known<F>>();

  get size(): number {
    return this.#places.size;
  }

  add(series: readonly Series<F>[]): void {
    for (const { place, rows, open } of series) {
      const known = this.of(place);
      this.#places.set(place, { rows: [...known.rows, ...rows], open: [...known.open, ...open] });
    }
  }

  has(place: string): boolean {
    return this.#places.has(place);
  }

  of(place: string): Known<F> {
    return this.#places.get(place) ?? { rows: [], open: [] };
  }

  [Symbol.iterator](): Iterator<[string, Known<F>]> {
    return this.#places[Symbol.iterator]();
  }
}

/** Whether it has figures: one that never held, or is late, is no reading of its window. */
export const isReading = ({ row }: Row<Digits>): boolean => hasFigures(row) && row.late !== true;
export const hasFigures = ({ status, withheld }: Pick<HistoryRow<Digits>, 'status' | 'withheld'>): boolean =>
  status === 'present' || (status === 'stale' && withheld !== undefined);

type Run = FollowedGap & { readonly source: 'history' };

/** Adjacent windows without a reading and with the same cause are delivered as one gap, once. */
export class GapRuns {
  readonly #deliver: (gap: FollowedGap) => void;
  readonly #runs = new Map<string, Run>();
  readonly #delivered = new Map<string, string>();

  constructor(deliver: (gap: FollowedGap) => void) {
    this.#deliver = deliver;
  }

  take({ told, row: { status, at, gap_cause }, key }: Row<Digits>): void {
    const place = toPlace(told);
    if (status !== 'missing' || key <= (this.#delivered.get(place) ?? '')) return;
    this.#delivered.set(place, key);
    const cause = gap_cause ?? 'unknown';
    const run = this.#runs.get(place);
    if (run !== undefined && run.cause === cause) {
      this.#runs.set(place, { ...run, to: at });
      return;
    }
    this.end(place);
    const { venue, venue_symbol, layer } = told;
    this.#runs.set(place, { source: 'history', venue, venue_symbol, layer, from: at, to: at, cause });
  }

  end(place: string): void {
    const run = this.#runs.get(place);
    if (run === undefined) return;
    this.#runs.delete(place);
    this.#deliver(run);
  }

  endAll(isOver: (place: string) => boolean): void {
    for (const place of [...this.#runs.keys()]) if (isOver(place)) this.end(place);
  }
}
