// The registry of layers: one line a layer; tables, columns, topics, names and fields of the query language are derived from it.
import { book } from './book.ts';
import { bookBands } from './book-bands.ts';
import { candle } from './candle.ts';
import { funding } from './funding.ts';
import type { CandleDeclaration, EventDeclaration, ReadingDeclaration, RecordIn } from './layer.ts';
import { liquidation } from './liquidation.ts';
import { mark } from './mark.ts';
import { oi } from './oi.ts';
import { stats } from './stats.ts';
import { ticker } from './ticker.ts';
import { trade } from './trade.ts';

const readings = [ticker, mark, funding, oi, book, stats, bookBands] as const;
const events = [trade, liquidation] as const;

type Declared = (typeof readings)[number] | (typeof events)[number] | typeof candle;

/** Name of a layer of readings, as in snapshots and history. */
export type ReadingLayer = (typeof readings)[number]['name'];
/** Name of one event: `layer` of its records. */
export type EventLayer = (typeof events)[number]['record'];
export type EventTable = (typeof events)[number]['table'];
/** Name of any layer, as in capabilities. */
export type LayerName = Declared['name'];
/** Any normalised record of a layer. */
export type LayerRecord = RecordIn<Declared>;

/** In documented order (L-02). */
export const READINGS: readonly ReadingDeclaration<ReadingLayer>[] = readings;
export const EVENTS: readonly (EventDeclaration<LayerName, EventLayer> & { readonly table: EventTable })[] = events;
export const CANDLES: CandleDeclaration<LayerName> = candle;

/** Name of a layer of rows on the stream: for events a single one, for candles the collection (L-01). */
export type RowLayer = EventLayer | (typeof candle)['name'];
export const ROW_STREAMS: ReadonlyMap<RowLayer, EventDeclaration<LayerName> | CandleDeclaration<LayerName>> = new Map<
  RowLayer,
  EventDeclaration<LayerName> | CandleDeclaration<LayerName>
>([[candle.name, CANDLES], ...EVENTS.map((event) => [event.record, event] as const)]);

/** Every layer, in the order of tables. */
export const ALL_LAYERS = [...READINGS, CANDLES, ...EVENTS];
