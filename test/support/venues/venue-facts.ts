// Facts of a venue by its docs that tests of the whole registry need, from `test/ingest/venues/<id>.facts.ts`.
import { venues } from '../../../ingest/venues/index.ts';

/** Permitted changes of a message's digits by a venue's mapping, beyond copying them. */
export type Arithmetic = {
  /** The day's change is sent in percent (`scale:0.01`). */
  readonly percent?: boolean;
  /** A size's sign is its side. */
  readonly signed?: boolean;
  /** A level is removed without a size of zero being sent. */
  readonly removals?: boolean;
};

/** What a frame of candles is made from; `volume` has the member of the volume, or not. */
type CandleParts = {
  readonly openMs: number;
  readonly prices: Readonly<Record<'open' | 'high' | 'low' | 'close', string>>;
  readonly letters: Readonly<Record<'o' | 'h' | 'l' | 'c', string>>;
  readonly volume: Readonly<Record<string, unknown>>;
};

type RefusedAnswer = readonly [path: string, text: string];

export type VenueFacts = {
  /** A listing of each market, as requests name it. */
  readonly symbols: readonly string[];
  /** Contracts with a delivery, beside the listings they are like; empty where the venue has none. */
  readonly dated: readonly (readonly [symbol: string, dated: string])[];
  /** An answer without candles. */
  readonly noCandles: unknown;
  /** Candles are requested from an instant on, without an end. */
  readonly asksWithoutEnd?: true;
  /** Paths of the elements of an answer about listings (`*` is every member), and the member that names a listing. */
  readonly elements: { readonly paths: readonly string[]; readonly name: string };
  /** Members of a listing's element whose values are its kind or its state. */
  readonly deciding: readonly string[];
  /** Members that name a frame's channel, with a name that the venue does not use. */
  readonly unknownChannel: Readonly<Record<string, string>>;
  /** Members that are a trade's side; `isBuy`: whether such a value says that the taker bought; `none`: where a trade has no taker, unless absent or empty. */
  readonly side: {
    readonly members: readonly string[];
    readonly isBuy: (word: unknown) => boolean;
    readonly none?: readonly unknown[];
  };
  /** Operations of the mapping on digits, beyond copying them. */
  readonly arithmetic?: Arithmetic;
  /** Streams that a frame subscribes to, as the venue counts them (`limits.streamsPerConnection`). */
  readonly streams: (frame: Readonly<Record<string, unknown>>) => readonly unknown[];
  /** A frame with a one-minute candle of trades, and the name of its volume. */
  readonly candle: { readonly volume: string; readonly frame: (parts: CandleParts) => unknown };
  /** Refusals in the forms of the docs. Absent: the venue refuses such requests by a status alone. */
  readonly refusals: {
    readonly frames: readonly string[];
    /** Answers to requests of readings, and of listings, with their paths. */
    readonly answers?: readonly RefusedAnswer[];
    readonly listings?: readonly RefusedAnswer[];
  };
  /** Messages of books have no numbers. */
  readonly unnumbered?: true;
  /** Members that a listing cannot be told without: its names, the kind of the contract or of the answer. */
  readonly needed: readonly string[];
  /** Recordings whose figures were edited by hand: their records need not fit together. */
  readonly edited?: readonly string[];
  /** A frame that has what an answer about listings has, where no such answer is recorded: the answer's text in it, and its request. */
  readonly listingsFrame?: { readonly answer: RegExp; readonly request: string };
};

const readFacts = async (id: string): Promise<VenueFacts> => {
  const module = (await import(`../../ingest/venues/${id}.facts.ts`)) as { readonly facts: VenueFacts };
  return module.facts;
};

const FACTS: ReadonlyMap<string, VenueFacts> = new Map(
  await Promise.all([...venues.keys()].map(async (id) => [id, await readFacts(id)] as const)),
);

export const factsAbout = ({ id }: { readonly id: string }): VenueFacts => {
  const facts = FACTS.get(id);
  if (!facts) throw new Error(`${id} is not in the registry`);
  return facts;
};
