// The ids of a listing's events by which repeats are recognised, oldest first, in chunks: only the first and the last chunk change.
import type { Micros } from '../../schemas/records.ts';
import type { View } from './view.ts';

/** Repeats of an id are searched this far back, and among this many in any case: a new subscription may start with the last events, however old. */
const REPEATS_WITHIN: Micros = 600_000_000;
const REPEATS_AMONG = 64;
/** Of the ids of a listing's layer: a checkpoint has all of them in one record, of trades and liquidations together (D-435). */
const MOST_ID_BYTES = 4_000_000;
/** What an id costs beside its own bytes. */
const ID_OVERHEAD_BYTES = 16;
/** Ids of a chunk: as many as are copied and formatted in less than half a millisecond. Each lookup visits every chunk. */
const CHUNK_IDS = 2_048;

/** Ids with the instant of their record. */
type Chunk = Map<string, Micros>;
export type SeenIds = {
  readonly chunks: Chunk[];
  /** Of all ids, with what each costs beside its own bytes. */
  bytes: number;
};

/** As a checkpoint has them, and versions before chunks wrote them: the ids of each instant after its difference to the instant before. */
export type PlainSeenIds = readonly (readonly [since: Micros, ids: readonly string[]])[];

export const createSeenIds = (): SeenIds => ({ chunks: [], bytes: 0 });

const countIdBytes = (id: string): number => Buffer.byteLength(id) + ID_OVERHEAD_BYTES;

export const hasSeenId = ({ chunks }: View<SeenIds>, id: string): boolean => {
  for (let i = chunks.length - 1; i >= 0; i--) if (chunks[i]?.has(id)) return true;
  return false;
};

/** Stores an id that is not among the stored ones. */
export const rememberId = (seen: SeenIds, id: string, at: Micros): void => {
  seen.bytes += countIdBytes(id);
  const last = seen.chunks.at(-1);
  if (last !== undefined && last.size < CHUNK_IDS) last.set(id, at);
  else seen.chunks.push(new Map([[id, at]]));
};

/** Whether at least `REPEATS_AMONG` ids are left without the oldest. */
const isPlenty = ({ chunks }: SeenIds): boolean => {
  let left = -1;
  for (const { size } of chunks) {
    left += size;
    if (left >= REPEATS_AMONG) return true;
  }
  return false;
};

/** Forgets the ids that no repeat is searched among at `now`. */
export const forgetOldIds = (seen: SeenIds, now: Micros): void => {
  const { chunks } = seen;
  for (let first = chunks[0]; first !== undefined; first = chunks[0]) {
    for (const [id, at] of first) {
      const isKept = at >= now - REPEATS_WITHIN && seen.bytes <= MOST_ID_BYTES;
      if (isKept || !isPlenty(seen)) return;
      first.delete(id);
      seen.bytes -= countIdBytes(id);
    }
    chunks.shift();
    // From now on the next chunk changes, which a copy may share.
    if (chunks[0] !== undefined) chunks[0] = new Map(chunks[0]);
  }
};

/** A copy that later changes do not affect: chunks between the first and the last one are shared. */
export const copySeenIds = ({ chunks, bytes }: View<SeenIds>): SeenIds => {
  const shared = [...chunks] as Chunk[];
  for (const i of new Set([0, chunks.length - 1])) {
    const chunk = chunks[i];
    if (chunk !== undefined) shared[i] = new Map(chunk);
  }
  return { chunks: shared, bytes };
};

const findLastInstant = (chunk: View<Chunk> | undefined): Micros =>
  chunk === undefined ? 0 : ([...chunk.values()].at(-1) ?? 0);

/** The part of a chunk in the list of all ids, which goes on from the last instant of the chunk before it. */
const formatChunk = (chunk: View<Chunk>, before: View<Chunk> | undefined): string => {
  const groups: [Micros, string[]][] = [];
  let last = findLastInstant(before);
  for (const [id, at] of chunk) {
    const group = groups.at(-1);
    if (group !== undefined && at === last) group[1].push(id);
    else groups.push([at - last, [id]]);
    last = at;
  }
  return JSON.stringify(groups).slice(1, -1);
};

const texts = new WeakMap<View<Chunk>, string>();

/** The text of a chunk between two others is kept: neither it nor the last instant before it changes. */
const formatKeptChunk = (chunk: View<Chunk>, before: View<Chunk> | undefined): string => {
  const kept = texts.get(chunk) ?? formatChunk(chunk, before);
  texts.set(chunk, kept);
  return kept;
};

/** The JSON of `PlainSeenIds`. */
export const formatSeenIds = ({ chunks }: View<SeenIds>): string => {
  const end = chunks.length - 1;
  const parts = chunks.map((chunk, i) => (i > 0 && i < end ? formatKeptChunk : formatChunk)(chunk, chunks[i - 1]));
  return `[${parts.join()}]`;
};

export const parseSeenIds = (plain: PlainSeenIds): SeenIds => {
  const seen = createSeenIds();
  let at = 0;
  for (const [since, ids] of plain) {
    at += since;
    for (const id of ids) rememberId(seen, id, at);
  }
  return seen;
};
