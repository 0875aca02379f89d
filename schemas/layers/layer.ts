// The declaration of a layer: names, members, storage, anchored columns. Every other table of layers is derived from it (L-01).
import type { Micros } from '../scalars.ts';
import type { Unit } from '../units.ts';

/** Members that every normalised record of a venue has. */
export type RecordOf<L extends string, V> = {
  readonly layer: L;
  readonly venue: string;
  readonly venue_symbol: string;
  /** The venue's stamp for this value; null when the message has none. */
  readonly venue_ts: Micros | null;
  readonly received_at: Micros;
  readonly values: V;
};

/** Unit of a member, or `quantity`: resolved per listing to base, contracts or quote (N-08). */
export type MemberUnit = Unit | 'quantity';

type Member = {
  readonly unit: MemberUnit;
  /** Description of the member, printed by the catalogue of the query language and by the documentation. */
  readonly sentence: string;
  /** Members from which it is computed at storage (N-05 rule 2); absent for a published figure. */
  readonly from?: readonly string[];
  /** Its column where its name is an SQL keyword. */
  readonly column?: string;
};
export type Members = Readonly<Record<string, Member>>;

/** A field of the query language. A member states only its differences from a number that can be sampled. */
export type LayerField = {
  readonly type?: 'duration';
  readonly isSampleable?: false;
  /** May be summed across venues (DQL-24). */
  readonly isAdditive?: true;
  /** For a field that is no member: its description, and the members or instants from which it is computed. */
  readonly computed?: Member;
};

/** Figures are texts of decimal digits; integers are digits too, and INT64 in files (AR-07). */
export type AnchoredKind = 'text' | 'figure' | 'integer' | 'instant' | 'boolean';
/** Anchored columns in order: their kind, and the stored column where it has another name. */
export type AnchoredPart = { readonly [name: string]: AnchoredKind | readonly [AnchoredKind, stored: string] };

type Named<N extends string> = {
  /** Used in capabilities, covers and plans; for readings also in snapshots, history and the query language. */
  readonly name: N;
  /** Used in listing records, the archive and proofs (L-01). */
  readonly recordName: string;
  /** Other names that requests may use. */
  readonly aliases: readonly string[];
  /** QuestDB table of its rows; the view is `v_<table>`. */
  readonly table: string;
  /** In documented order, which is the order of columns. */
  readonly members: Members;
  /** Its columns by AN-07 besides those of its kind; null: not anchored. */
  readonly anchored: AnchoredPart | null;
};

/** A layer whose readings are sampled into windows and returned by snapshots and history. */
export type ReadingDeclaration<N extends string = string> = Named<N> & {
  readonly kind: 'reading';
  /** `layer` of its normalised records and name of its topic `md.<record>`; null where it is derived from the records of `source`. */
  readonly record: string | null;
  /** The layer from whose messages this one is derived, if it has no messages itself: policy, losses and gaps are those of that layer. */
  readonly source?: string;
  /** Freshness bound in milliseconds (F-03). */
  readonly freshnessMs: number;
  /** Sampling window in milliseconds; a window is sealed 100.001 s after its end (N-11). */
  readonly windowMs: number;
  /** Instants of a reading beside its figures, in the order of columns. */
  readonly instants: readonly string[];
  /** Fields of the query language, in the order of the catalogue. */
  readonly fields: Readonly<Record<string, LayerField>>;
  /** Whether a stream request without layers includes it (ST-08). */
  readonly isStreamedUnasked: boolean;
};

/** A layer whose rows are events, each stored on arrival. */
export type EventDeclaration<N extends string = string, E extends string = string> = Named<N> & {
  readonly kind: 'event';
  /** One event: `layer` of its records, of its topic and on the stream (L-01). */
  readonly record: E;
  /** The endpoint that returns them instead of snapshots and history. */
  readonly endpoint: string;
  /** Whether an endpoint returns stored ones, for which the API keeps the newest in memory. */
  readonly isAnswered: boolean;
};

export type CandleDeclaration<N extends string = string> = Named<N> & {
  readonly kind: 'candle';
  readonly record: string;
  readonly endpoint: string;
};

declare const RECORD: unique symbol;
/** Ties a declaration to the type of its records, for the compiler. */
type Carries<R> = { readonly [RECORD]?: R };
/** The type of the records of a declaration. */
export type RecordIn<D> = D extends Carries<infer R> ? R : never;

/** Declares a layer of readings with records `R`; `never` where another layer's records make it. */
export const declareReading =
  <R>() =>
  <const D extends ReadingDeclaration>(declared: D): D & Carries<R> =>
    declared;

/** Declares a layer of events with records `R`. */
export const declareEvent =
  <R>() =>
  <const D extends EventDeclaration>(declared: D): D & Carries<R> =>
    declared;

/** Declares the layer of candles, with records `R`. */
export const declareCandle =
  <R>() =>
  <const D extends CandleDeclaration>(declared: D): D & Carries<R> =>
    declared;
