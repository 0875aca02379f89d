// Which rows of the log are news to streams: each event once; a candle when it is complete, and again when its row changes; a gap once it is decided (ST-03).
import { CANDLE_FIGURES } from '../../schemas/layers/candle.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Row } from '../../schemas/topics.ts';
import type { AppliedEntry } from '../live/memory.ts';
import { printPlace } from './ring.ts';
import { findRowLayer } from './row-events.ts';

/** A candle is sealed long before; one that never was is forgotten. */
const KEPT: Micros = 900_000_000;

type Told = { readonly text: string; readonly at: Micros };
/** A candle of which it is not known whether it was sent before the first entry received here. */
type Unsure = Told & { readonly place: string };

const toKey = (venue: string, symbol: string, { at, texts }: Row): string =>
  `${venue}|${symbol}|${texts.price_type}|${texts.timeframe}|${at}`;

/** What streams show of a candle, as published. */
const printShown = ({ texts, instants, integers, figures }: Row): string =>
  JSON.stringify([
    ...[texts.status, texts.gap_cause, texts.quantity_unit, texts.null_reasons, instants.received_at],
    ...CANDLE_FIGURES.map((name) => figures[name]),
    ...[integers.trades, integers.minutes_present, integers.minutes_no_trades],
  ]);

const forgetOld = (held: Map<string, Told>, before: Micros): void => {
  for (const [key, { at }] of held) {
    if (at >= before) return;
    held.delete(key);
  }
};

export class RowNews {
  /** Candles that were sent and may still change, in the order in which they became complete. */
  readonly #told = new Map<string, Told>();
  /** Null once all earlier entries have been added. */
  #unsure: Map<string, Unsure> | null = new Map();

  /** Takes in an entry of the log, null for a reading. The answer follows from the log alone: nodes that have followed it send the same. */
  takes({ venue, task, entry }: Pick<AppliedEntry, 'venue' | 'task' | 'entry'>): boolean {
    const layer = entry === null ? null : findRowLayer(entry);
    if (entry === null || entry.row === null || layer !== 'candles') return layer !== null;
    const { kind, row, symbol, recorded_at: at } = entry;
    const [key, text] = [toKey(venue, symbol ?? '', row), printShown(row)];
    const before = this.#told.get(key);
    if (before === undefined) this.#unsure?.set(key, { text, at, place: printPlace(task, entry) });
    if (kind === 'sealed') this.#told.delete(key);
    else this.#told.set(key, { text, at });
    forgetOld(this.#told, at - KEPT);
    if (this.#unsure !== null) forgetOld(this.#unsure, at - KEPT);
    return before?.text !== text;
  }

  /** Adds what was sent before the first entry received here. Returns the places of rows that were treated as new but were not. */
  join(past: RowNews): ReadonlySet<string> {
    const repeats = new Set<string>();
    for (const [key, { text, place }] of this.#unsure ?? []) if (past.#told.get(key)?.text === text) repeats.add(place);
    this.#unsure = null;
    for (const [key, told] of past.#told) if (!this.#told.has(key)) this.#told.set(key, told);
    return repeats;
  }
}
