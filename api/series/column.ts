// One column of a series: values of consecutive periods and when each was received and recorded, growing at its newest end.
import type { Digits, Micros, QuantityUnit } from '../../schemas/records.ts';

/** The stamp of a proved empty minute: it came, and nothing was received for it (H-12). */
export const NOTHING_RECEIVED = Number.NEGATIVE_INFINITY;
/** Periods kept free at the newest end when a full column moves on. */
const SLACK = 64;
const BYTES_A_FIGURE = 8;
/** About, with their place in the map. */
const BYTES_OF_DIGITS = 100;
/** Newest periods whose instants of coming, and digits if they are no quantities, are kept: only those of the newest usable one are looked at, which lies at most 100 s back. */
export const NEWEST_PERIODS = 8;

/** The value of a row for one period. */
export type PeriodValue = {
  /** NaN: no element. */
  readonly value: number;
  /** When the last reading or candle of the period was received; `NOTHING_RECEIVED` of a proved empty minute; NaN: none came. */
  readonly received: Micros;
  /** Instant of the record in the log; NaN when there is none. Kept only by columns that are made for it. */
  readonly recorded?: Micros;
  /** When the row came in the log, where it is known; else when it was recorded. */
  readonly cameAt?: Micros;
  /** Where the double does not give the figure back (N-05 rule 1). */
  readonly digits?: Digits | undefined;
  /** The unit of the row's quantities, where the row has one. Kept by columns of quantities. */
  readonly unit?: QuantityUnit | null | undefined;
  /** Its minutes count in different units, so it has no volume (H-13). Kept by columns of quantities. */
  readonly unitsDiffer?: boolean;
};

/** Units by the number that a column keeps of each; 0: the row states none. */
const UNITS: readonly (QuantityUnit | null)[] = [null, 'base', 'contracts', 'quote'];
/** The number of a row whose minutes count in different units. */
const DIFFERENT = UNITS.length;

type ColumnOptions = {
  /** Keeps when each row was recorded: whether the layer still held it at its period's end depends on that (F-04). */
  readonly isSampled?: boolean;
  /** For conversions: the version in force is that of the instant a row was recorded, the unit is the row's own. */
  readonly isQuantity?: boolean;
  /** Drops elements after the last period, instead of moving on with them: what came later is no part of an answer about the past. */
  readonly isOfPast?: boolean;
  /** Of several rows of a period the last one counts, not the one received last: rows of candles come in the order of the log (H-13). */
  readonly keepsLastRow?: boolean;
};

const forgetBefore = (kept: Map<number, unknown>, first: number): void => {
  for (const held of kept.keys()) if (held < first) kept.delete(held);
};

/** Keeps the digits of the newest periods alone. */
const keepNewest = (kept: Map<number, Digits>, period: number, digits: Digits): void => {
  kept.set(period, digits);
  forgetBefore(kept, Math.max(...kept.keys()) - NEWEST_PERIODS + 1);
};

const makeNone = (room: number): Float64Array => new Float64Array(room).fill(Number.NaN);

export class Column {
  /** Number of the first period there is room for. */
  #first: number;
  #values: Float64Array;
  #received: Float64Array;
  #recorded: Float64Array | null;
  #units: Uint8Array | null;
  /** Of every period in a column of quantities, because conversions start from them; else of the newest periods. */
  readonly #digits = new Map<number, Digits>();
  /** The newest period of which something was put. */
  #newest = Number.NEGATIVE_INFINITY;
  /** When the first candle of a period came: a later one of the period replaces its figures, not this (H-13). At the period modulo its length. */
  readonly #came: { readonly period: number; readonly at: Micros }[] = [];
  readonly #last: number;
  readonly #keepsLastRow: boolean;

  /** Room for the periods `first` to `last`; a column that is not of the past moves on with later ones. */
  constructor(first: number, last: number, options: ColumnOptions = {}) {
    const { isSampled = false, isQuantity = false, isOfPast = false, keepsLastRow = false } = options;
    this.#keepsLastRow = keepsLastRow;
    const room = Math.max(0, last - first + 1) + (isOfPast ? 0 : SLACK);
    this.#first = first;
    this.#last = isOfPast ? last : Number.POSITIVE_INFINITY;
    this.#values = makeNone(room);
    this.#received = makeNone(room);
    this.#recorded = isSampled || isQuantity ? makeNone(room) : null;
    this.#units = isQuantity ? new Uint8Array(room) : null;
  }

  /** Every period from here on is known; what lies before must be loaded. */
  get first(): number {
    return this.#first;
  }

  get bytes(): number {
    const figures = this.#kept().length * this.#values.length * BYTES_A_FIGURE;
    return this.#units === null ? figures : figures + this.#units.length + this.#digits.size * BYTES_OF_DIGITS;
  }

  /**
   * Puts an element. The last received element of a period counts, of candles the last put; a repeat has the same value. Drops elements before the first period, and
   * in a column of the past those after the last.
   */
  put(period: number, element: PeriodValue): void {
    const { value, received, recorded = Number.NaN, digits, unit = null, unitsDiffer = false } = element;
    if (period < this.#first || period > this.#last) return;
    if (period - this.#first >= this.#values.length) this.#moveTo(period);
    this.#newest = Math.max(this.#newest, period);
    const i = period - this.#first;
    const held = this.#received[i] as number;
    if (held > received && !this.#keepsLastRow) return;
    if (Number.isNaN(held) && this.#keepsLastRow) this.#noteComing(period, element);
    this.#values[i] = value;
    this.#received[i] = received;
    if (this.#recorded !== null) this.#recorded[i] = recorded;
    if (this.#units !== null) this.#units[i] = unitsDiffer ? DIFFERENT : UNITS.indexOf(unit);
    this.#keepDigits(period, digits);
  }

  #keepDigits(period: number, digits: Digits | undefined): void {
    if (digits === undefined) this.#digits.delete(period);
    else if (this.#units === null) keepNewest(this.#digits, period, digits);
    else this.#digits.set(period, digits);
  }

  /** The figure of one of the newest periods where its double does not give it back; null where it does, or there is none. */
  digitsOf(period: number): Digits | null {
    return period > this.#newest - NEWEST_PERIODS ? (this.#digits.get(period) ?? null) : null;
  }

  /** As `copy`, of the digits of quantities that a double does not give back; null when there are none. */
  copyDigits(last: number, count: number): readonly (Digits | null)[] | null {
    if (this.#units === null || this.#digits.size === 0) return null;
    return Array.from({ length: count }, (_, i) => this.#digits.get(last - count + 1 + i) ?? null);
  }

  #noteComing(period: number, { received, recorded, cameAt = recorded }: PeriodValue): void {
    if (cameAt === undefined || Number.isNaN(cameAt) || Number.isNaN(received)) return;
    const place = period % NEWEST_PERIODS;
    const held = this.#came[place];
    if (held === undefined || held.period < period) this.#came[place] = { period, at: cameAt };
  }

  /** When the first candle of a period came; minus infinity where that is not known, or long ago. */
  cameAt(period: number): Micros {
    const held = this.#came[period % NEWEST_PERIODS];
    return held?.period === period ? held.at : Number.NEGATIVE_INFINITY;
  }

  #kept(): Float64Array[] {
    return [this.#values, this.#received, ...(this.#recorded === null ? [] : [this.#recorded])];
  }

  /** Whether a reading or candle of the period came, with this member or without it. */
  has(period: number): boolean {
    return !Number.isNaN(this.#received[period - this.#first] ?? Number.NaN);
  }

  /** Copies the values of `count` periods that end with `last`, oldest first; NaN where there is none. */
  copy(last: number, count: number): Float64Array {
    return this.#copyElements(this.#values, last, count);
  }

  /** As `copy`, of when they were recorded; null when the column does not keep it. */
  copyRecorded(last: number, count: number): Float64Array | null {
    return this.#recorded === null ? null : this.#copyElements(this.#recorded, last, count);
  }

  /** As `copy`, of when they were received; `NOTHING_RECEIVED` of a proved empty minute. */
  copyReceived(last: number, count: number): Float64Array {
    return this.#copyElements(this.#received, last, count);
  }

  /** As `copy`, for the units of the rows; null where a row has no unit, or the column keeps no units. */
  copyUnits(last: number, count: number): readonly (QuantityUnit | null)[] {
    const start = last - count + 1 - this.#first;
    return Array.from({ length: count }, (_, i) => UNITS[this.#units?.[start + i] ?? 0] ?? null);
  }

  /** Whether the period's candle has no volume because its minutes count in different units. */
  hasDifferentUnits(period: number): boolean {
    return this.#units?.[period - this.#first] === DIFFERENT;
  }

  #copyElements(kept: Float64Array, last: number, count: number): Float64Array {
    const out = new Float64Array(count).fill(Number.NaN);
    const start = last - count + 1 - this.#first;
    const from = Math.max(0, start);
    const to = Math.min(kept.length, last - this.#first + 1);
    if (to > from) out.set(kept.subarray(from, to), from - start);
    return out;
  }

  /** When the period's last reading or candle was received; null without one. */
  receivedAt(period: number): Micros | null {
    const received = this.#received[period - this.#first] ?? Number.NaN;
    return Number.isFinite(received) ? received : null;
  }

  /** When the period's last reading was recorded; NaN without one, and in a column that does not keep it. */
  recordedAt(period: number): Micros {
    return this.#recorded?.[period - this.#first] ?? Number.NaN;
  }

  /** The oldest periods make room: `drop-oldest`. */
  #moveTo(period: number): void {
    const by = Math.min(this.#values.length, period - this.#first - this.#values.length + 1 + SLACK);
    const step = period - this.#first - this.#values.length + 1 + SLACK;
    for (const kept of this.#kept()) {
      kept.copyWithin(0, by);
      kept.fill(Number.NaN, kept.length - by);
    }
    this.#units?.copyWithin(0, by);
    this.#units?.fill(0, this.#units.length - by);
    this.#first += step;
    forgetBefore(this.#digits, this.#first);
  }
}
