// Which rows of the log are news to streams: each event once; a candle when it is complete, and again when its row changes; a gap once it is decided (ST-03).
import { CANDLE_FIGURES } from '../../schemas/layers/candle.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry, Row } from '../../schemas/topics.ts';
import { findRowLayer } from './row-events.ts';

/** A candle is sealed long before; one that never was is forgotten. */
const KEPT: Micros = 900_000_000;

type Told = { readonly text: string; readonly at: Micros };

const toKey = (venue: string, symbol: string, { at, texts }: Row): string =>
  `${venue}|${symbol}|${texts.price_type}|${texts.timeframe}|${at}`;

/** What streams show of a candle, as published. */
const printShown = ({ texts, instants, integers, figures }: Row): string =>
  JSON.stringify([
    ...[texts.status, texts.gap_cause, texts.quantity_unit, texts.null_reasons, instants.received_at],
    ...CANDLE_FIGURES.map((name) => figures[name]),
    ...[integers.trades, integers.minutes_present, integers.minutes_no_trades],
  ]);

export class RowNews {
  /** Candles that were told and may still change, in the order in which they became complete. */
  readonly #told = new Map<string, Told>();

  /** Takes in an entry of the log, null for a reading. The answer follows from the log alone: nodes that have followed it send the same. */
  takes(venue: string, entry: LiveEntry | null): boolean {
    const layer = entry === null ? null : findRowLayer(entry);
    if (entry === null || entry.row === null || layer !== 'candles') return layer !== null;
    const { kind, row, symbol, recorded_at: at } = entry;
    const [key, text] = [toKey(venue, symbol ?? '', row), printShown(row)];
    const before = this.#told.get(key);
    if (kind === 'sealed') this.#told.delete(key);
    else this.#told.set(key, { text, at });
    this.#forget(at - KEPT);
    return before?.text !== text;
  }

  /** Takes over what was told before the first entry that came here. */
  join(past: RowNews): void {
    for (const [key, told] of past.#told) if (!this.#told.has(key)) this.#told.set(key, told);
  }

  #forget(before: Micros): void {
    for (const [key, { at }] of this.#told) {
      if (at >= before) return;
      this.#told.delete(key);
    }
  }
}
