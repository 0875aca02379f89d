// Answers of the API, layer object by layer object, and the simulators' log of the truth, by stamp.
import { closeSync, openSync, readSync } from 'node:fs';
import type { TruthRow } from '../../../infra/dev/simulator/truth-rows.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { parseInstant } from '../../../schemas/instants.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';

/** As L-04 shapes it under `number_format: "string"`. */
export type LayerObject = {
  readonly status: string;
  readonly reason?: string;
  readonly gap_cause?: string;
  readonly venue_ts: string | null;
  readonly received_at: string | null;
  readonly age_ms: number | null;
  readonly venue_age_ms: number | null;
  readonly valid_until: string | null;
  readonly horizon_source: string | null;
  readonly anchor: string | null;
  readonly values: Readonly<Record<string, string | number | null>>;
  readonly null_reasons?: Readonly<Record<string, string>>;
  readonly units: Readonly<Record<string, string>>;
  readonly instants?: Readonly<Record<string, string>>;
  readonly withheld?: {
    readonly values: Readonly<Record<string, string | number | null>>;
    readonly null_reasons?: Readonly<Record<string, string>>;
  };
};
export type Snapshots = {
  readonly evaluated_at: string;
  readonly served_at: string;
  readonly items: readonly {
    readonly venue: string;
    readonly venue_symbol: string;
    readonly layers: Readonly<Record<ReadingLayer, LayerObject>>;
  }[];
};

/** One layer object of one answer. `at`: the answer's evaluation instant, microseconds. */
export type Seen = {
  readonly venue: string;
  readonly symbol: string;
  readonly layer: ReadingLayer;
  readonly at: number;
  readonly object: LayerObject;
};

/** Microseconds; an instant that is missing or malformed is not one that any truth has. */
export const toMicros = (text: string | null | undefined): number => parseInstant(text ?? '') ?? Number.NaN;

export const formatState = ({ status, reason, gap_cause }: LayerObject): string =>
  [status, reason, gap_cause].filter((part) => part !== undefined).join(' ');

/** Whether we collect a layer, or events, of a venue. */
export const isCollected = (venue: string, layer: string): boolean => venues.get(venue)?.layers[layer]?.policy === 'on';

export const listCollected = (venue: string): readonly ReadingLayer[] =>
  READING_LAYERS.filter((layer) => isCollected(venue, layer));

/** The state of a layer that its venue does not publish (L-07). */
const NOT_PUBLISHED = 'not_published venue_capability';

/** A layer that a venue does not publish has one state only; it is omitted, unless it has another. */
export const listSeen = (answer: Snapshots): Seen[] => {
  const at = toMicros(answer.evaluated_at);
  return answer.items.flatMap(({ venue, venue_symbol, layers }) => {
    const judged = (layer: ReadingLayer): boolean =>
      isCollected(venue, layer) || formatState(layers[layer]) !== NOT_PUBLISHED;
    return READING_LAYERS.filter(judged).map((layer) => ({
      venue,
      symbol: venue_symbol,
      layer,
      at,
      object: layers[layer],
    }));
  });
};

/** The numbers of a layer object, shown or withheld. */
export const readFigures = ({ values, withheld }: LayerObject): LayerObject['values'] => withheld?.values ?? values;

const CHUNK_BYTES = 1 << 20;
const SECOND = 1_000_000;

/** Rows of one listing and layer in the order the simulator wrote them, with when it did and their place among all rows of the listing. */
type Series = {
  readonly rows: TruthRow[];
  readonly writtenAt: number[];
  readonly places: number[];
  readonly byStamp: Map<number, number[]>;
};
type Listed = { readonly series: Map<string, Series>; readonly placeOf: Map<number, number>; count: number };
export type Subject = Pick<Seen, 'venue' | 'symbol'>;

const toKey = ({ venue, symbol }: Subject): string => `${venue}:${symbol}`;

/** Where a message carries no stamp, its values were true when it was sent: at most this long before it was received, a slow link included. */
const LONGEST_WAY = 5 * SECOND;
/** Two clocks of one machine. */
const CLOCKS_APART = 50_000;

/** The simulator's log of truth. */
export class TruthIndex {
  readonly #file: string;
  readonly #listed = new Map<string, Listed>();
  #offset = 0;
  #rest = '';
  #size = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** Reads what the simulator has written since. */
  read(): void {
    const file = openSync(this.#file, 'r');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const bytes = readSync(file, chunk, 0, CHUNK_BYTES, this.#offset);
      if (bytes === 0) break;
      this.#offset += bytes;
      // The log holds ASCII alone, so no character is cut.
      const lines = (this.#rest + chunk.toString('latin1', 0, bytes)).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#add(line);
    }
    closeSync(file);
  }

  /** All rows of a listing and layer, oldest first. */
  all(subject: Subject, layer: string): readonly TruthRow[] {
    return this.#series(subject, layer)?.rows ?? [];
  }

  /**
   * Rows true at a stamp: several where a skewed clock came back to it or a snapshot repeats a diff's stamp. A message may repeat a figure that
   * it did not bring (a delta ticker after a lost one): then the row in force when the listing's message of that stamp was made.
   */
  at(subject: Subject, layer: string, ts: number): readonly TruthRow[] {
    const series = this.#series(subject, layer);
    const exact = series?.byStamp.get(ts);
    if (series === undefined) return [];
    if (exact !== undefined) return exact.flatMap((i) => series.rows[i] ?? []);
    const place = this.#listed.get(toKey(subject))?.placeOf.get(ts);
    if (place === undefined) return [];
    const row = series.rows[series.places.findLastIndex((at) => at <= place)];
    return row === undefined ? [] : [row];
  }

  /** From the first row of a stamp on. */
  from(subject: Subject, layer: string, ts: number): readonly TruthRow[] {
    const series = this.#series(subject, layer);
    const first = series?.byStamp.get(ts)?.[0];
    return series === undefined || first === undefined ? [] : series.rows.slice(first);
  }

  /** Where the venue stamps nothing: rows that were in force within `LONGEST_WAY` before the receipt. */
  around(subject: Subject, layer: string, receivedAt: number): readonly TruthRow[] {
    const series = this.#series(subject, layer);
    if (series === undefined) return [];
    const { rows, writtenAt } = series;
    const before = writtenAt.findLastIndex((at) => at <= receivedAt - LONGEST_WAY);
    const last = writtenAt.findLastIndex((at) => at <= receivedAt + CLOCKS_APART);
    return rows.slice(Math.max(0, before), last + 1);
  }

  get size(): number {
    return this.#size;
  }

  #series(subject: Subject, layer: string): Series | undefined {
    return this.#listed.get(toKey(subject))?.series.get(layer);
  }

  #add(line: string): void {
    const { truth, written_at } = JSON.parse(line) as { truth?: TruthRow; written_at: number };
    if (truth === undefined) return;
    this.#size += 1;
    const key = toKey(truth);
    const listed = this.#listed.get(key) ?? { series: new Map(), placeOf: new Map(), count: 0 };
    this.#listed.set(key, listed);
    const series = listed.series.get(truth.layer) ?? { rows: [], writtenAt: [], places: [], byStamp: new Map() };
    listed.series.set(truth.layer, series);
    const held = series.byStamp.get(truth.venue_ts);
    if (held === undefined) series.byStamp.set(truth.venue_ts, [series.rows.length]);
    else held.push(series.rows.length);
    listed.count += 1;
    listed.placeOf.set(truth.venue_ts, listed.count);
    series.rows.push(truth);
    series.writtenAt.push(written_at);
    series.places.push(listed.count);
  }
}
