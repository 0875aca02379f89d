// What the API served against what the simulator's market was: digit by digit at the reading's own stamp, derived members by another arithmetic.
import { closeSync, openSync, readSync } from 'node:fs';
import { Decimal } from 'decimal.js';
import type { FaultEntry } from '../../infra/simulator/faults.ts';
import type { TruthBook, TruthRow } from '../../infra/simulator/truth-log.ts';
import { parseInstant } from '../../schemas/instants.ts';
import { BANDS } from '../../schemas/layers.ts';

export const TRUE_LAYERS = ['book', 'funding', 'mark', 'venue_depth'] as const;
export type TrueLayer = (typeof TRUE_LAYERS)[number];

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
  readonly withheld?: { readonly values: Readonly<Record<string, string | number | null>> };
};
export type Snapshots = {
  readonly evaluated_at: string;
  readonly served_at: string;
  readonly items: readonly {
    readonly venue_symbol: string;
    readonly layers: Readonly<Record<TrueLayer, LayerObject>>;
  }[];
};

/** One layer object of one answer. `at`: the answer's evaluation instant, microseconds. */
export type Seen = {
  readonly symbol: string;
  readonly layer: TrueLayer;
  readonly at: number;
  readonly object: LayerObject;
};

/** Microseconds; an instant that is missing or malformed is not one that any truth has. */
export const microsOf = (text: string | null | undefined): number => parseInstant(text ?? '') ?? Number.NaN;

export const seenOf = (answer: Snapshots): Seen[] =>
  answer.items.flatMap(({ venue_symbol, layers }) =>
    TRUE_LAYERS.map((layer) => ({
      symbol: venue_symbol,
      layer,
      at: microsOf(answer.evaluated_at),
      object: layers[layer],
    })),
  );

export const stateOf = ({ status, reason, gap_cause }: LayerObject): string =>
  [status, reason, gap_cause].filter((part) => part !== undefined).join(' ');

// ---- truth ----

const CHUNK_BYTES = 1 << 20;

/** The rows of truth in the simulator's log file, by symbol, layer and stamp; several where a snapshot repeats a diff's stamp. */
export class TruthIndex {
  readonly #file: string;
  readonly #rows = new Map<string, TruthRow[]>();
  #offset = 0;
  #rest = '';

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

  rows(symbol: string, layer: string, ts: number): readonly TruthRow[] {
    return this.#rows.get(`${symbol} ${layer} ${ts}`) ?? [];
  }

  get size(): number {
    return this.#rows.size;
  }

  #add(line: string): void {
    if (!/"layer":"(mark|funding|book)"/.test(line)) return;
    const { truth } = JSON.parse(line) as { truth?: TruthRow };
    if (truth === undefined) return;
    const key = `${truth.symbol} ${truth.layer} ${truth.venue_ts}`;
    const rows = this.#rows.get(key);
    if (rows === undefined) this.#rows.set(key, [truth]);
    else rows.push(truth);
  }
}

// ---- comparison ----

const Exact = Decimal.clone({ precision: 120, rounding: Decimal.ROUND_HALF_EVEN });
/** One division, half-even at 18 significant digits (N-05 rule 2). */
const Rounded = Decimal.clone({ precision: 18, rounding: Decimal.ROUND_HALF_EVEN });

const plain = (value: Decimal): string => (value.isZero() ? '0' : value.toFixed());
const quotient = (dividend: Decimal, divisor: Decimal): string => plain(new Rounded(dividend).div(divisor));

type Members = Readonly<Record<string, string>>;

const differing = (found: Readonly<Record<string, unknown>>, wanted: Members): string[] =>
  Object.entries(wanted)
    .filter(([name, digits]) => String(found[name]) !== digits)
    .map(([name, digits]) => `${name} is ${String(found[name])}, true is ${digits}`);

const midOf = (bid: string, ask: string): Decimal => new Exact(bid).plus(ask).div(2);

const bookMembers = ({ values }: TruthRow): Members => {
  const [bid, ask] = [String(values.bid), String(values.ask)];
  const mid = midOf(bid, ask);
  return {
    bid,
    ask,
    bid_size: String(values.bid_size),
    ask_size: String(values.ask_size),
    mid: plain(mid),
    spread: quotient(new Exact(ask).minus(bid), mid),
  };
};

const fundingMembers = ({ values }: TruthRow): Members => {
  const [funding, interval] = [String(values.funding), String(values.funding_interval_ms)];
  return {
    funding,
    funding_interval: interval,
    funding_8h: quotient(new Exact(funding).times(28_800_000), new Exact(interval)),
  };
};

const SECOND = 1_000_000;

/**
 * A listing whose mark and index come apart has the older stamp (records.md): each member is then the truth of that
 * second or of a later one by receipt, and at least one is of that second.
 */
const markDifferences = ({ symbol, object }: Seen, found: LayerObject['values'], truth: TruthIndex): string[] => {
  const ts = microsOf(object.venue_ts);
  const own = truth.rows(symbol, 'mark', ts)[0]?.values ?? {};
  const later: TruthRow['values'][] = [];
  for (let at = ts; at <= microsOf(object.received_at); at += SECOND) {
    later.push(...truth.rows(symbol, 'mark', at).map(({ values }) => values));
  }
  const isJoined = symbol.endsWith('_PERP');
  const members = ['mark', 'index'] as const;
  const ownMembers = members.filter((name) => found[name] === own[name]);
  const [mark, index] = [new Exact(String(found.mark)), new Exact(String(found.index))];
  const basis = differing(found, { basis: quotient(mark.minus(index), index) });
  if (ownMembers.length === 2) return basis;
  const isTrue = isJoined && ownMembers.length === 1 && members.every((n) => later.some((v) => v[n] === found[n]));
  return isTrue ? basis : [...differing(found, { mark: String(own.mark), index: String(own.index) }), ...basis];
};

const isCrossedRow = ({ values }: TruthRow): boolean => values.crossed === true;

/** Every way in which what was served at one stamp is not what was true at it; null when the log has no truth of that stamp (yet). */
export const differencesOf = (seen: Seen, truth: TruthIndex): readonly string[] | null => {
  const { symbol, layer, object } = seen;
  const served = object.withheld?.values ?? object.values;
  const rows = truth.rows(symbol, layer === 'venue_depth' ? 'book' : layer, microsOf(object.venue_ts));
  const [row] = rows;
  if (row === undefined) return null;
  switch (layer) {
    case 'mark':
      return markDifferences(seen, served, truth);
    case 'funding': {
      const settlement = microsOf(object.instants?.next_funding_at);
      const wrong = settlement === row.values.next_funding_at ? [] : [`next_funding_at is ${settlement}`];
      return [...differing(served, fundingMembers(row)), ...wrong];
    }
    case 'book':
      return [...(isCrossedRow(row) ? ['a crossed book'] : []), ...differing(served, bookMembers(row))];
    case 'venue_depth':
      return [
        ...(isCrossedRow(row) ? ['bands of a crossed book'] : []),
        ...differing(served, { mid: bookMembers(row).mid ?? '' }),
      ];
    default:
      return layer satisfies never;
  }
};

/** Members of `venue_depth` of a whole book (L-02, L-03, H-14). `contractSize`: quote a contract, null where sizes are base. */
export const bandMembers = ({ bids, asks }: TruthBook, contractSize: number | null): Members => {
  const mid = midOf(bids[0]?.[0] ?? '0', asks[0]?.[0] ?? '0');
  const members: Record<string, string> = { mid: plain(mid) };
  for (const band of BANDS) {
    const width = new Exact(Number.parseInt(band, 10)).div(10_000);
    const low = mid.times(new Exact(1).minus(width));
    const high = mid.times(new Exact(1).plus(width));
    const inside = {
      bid: bids.filter(([price]) => low.lte(price)),
      ask: asks.filter(([price]) => high.gte(price)),
    };
    for (const side of ['bid', 'ask'] as const) {
      const zero = new Exact(0);
      const size = inside[side].reduce((sum, [, quantity]) => sum.plus(quantity), zero);
      const value = inside[side].reduce((sum, [price, quantity]) => sum.plus(new Exact(price).times(quantity)), zero);
      members[`depth_${side}_${band}`] = plain(size);
      members[`depth_${side}_value_${band}`] = plain(contractSize === null ? value : size.times(contractSize));
      members[`levels_${side}_${band}`] = String(inside[side].length);
    }
  }
  return members;
};

export const bandDifferences = ({ values }: LayerObject, members: Members): readonly string[] =>
  differing(values, members);

// ---- faults ----

/** What a fault may turn a reading into, by its kind (L-07, L-08). */
const CONSEQUENCES: Readonly<Record<string, readonly string[]>> = {
  disconnect: ['stale connection_lost', 'stale horizon_passed'],
  sequence_hole: ['missing gap sequence_break'],
  crossed_book: ['missing gap crossed_book'],
  malformed: ['missing gap sequence_break', 'stale horizon_passed'],
  silence: ['missing gap sequence_break', 'stale horizon_passed'],
};

/** The venue's recovery belongs to the fault: seconds after its end do not count. */
const AFTER = 5 * SECOND;

const layersOf = ({ kind, streams }: FaultEntry): ReadonlySet<string> => {
  if (kind === 'sequence_hole' || kind === 'crossed_book') return new Set(['book', 'venue_depth']);
  const names = streams.flatMap((stream) =>
    stream.includes('@depth') ? ['book', 'venue_depth'] : ['mark', 'funding'],
  );
  return new Set(names);
};

type FaultWindow = {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
  readonly symbols: ReadonlySet<string>;
  readonly layers: ReadonlySet<string>;
};

/** The simulator's fault log as questions: which faults explain what was seen, and whether what was seen follows from them. */
export class FaultWindows {
  readonly #windows: readonly FaultWindow[];

  constructor(log: readonly FaultEntry[]) {
    this.#windows = log.map((entry) => ({
      kind: entry.kind,
      from: entry.from,
      to: (entry.to ?? Number.POSITIVE_INFINITY) + AFTER,
      symbols: new Set(entry.symbols),
      layers: layersOf(entry),
    }));
  }

  /** Kinds of the faults that touch this listing and layer at that instant. */
  touching({ symbol, layer, at }: Seen): readonly string[] {
    return this.#windows
      .filter((w) => w.from <= at && at <= w.to && w.symbols.has(symbol) && w.layers.has(layer))
      .map(({ kind }) => kind);
  }
}

export const followsFrom = (kinds: readonly string[], object: LayerObject): boolean =>
  kinds.some((kind) => CONSEQUENCES[kind]?.includes(stateOf(object)));
