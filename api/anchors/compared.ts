// Listings of closed days whose stored rows were found equal to their leaves, so that the next proof compares one digest (AN-05).
import { type EqualRow, type KeptHashes, readHashes } from '../../infra/runtime/files/kept-leaves.ts';
import {
  type LeafQuestion,
  type LeafRow,
  type LeafSource,
  readLeafRowsAt,
} from '../../infra/runtime/questdb/leaf-rows.ts';
import { digestLeafRows } from '../../infra/runtime/questdb/row-digest.ts';
import { type AnchoredTable, createRowWriter, toPlace } from '../../schemas/anchored.ts';
import { parseInstant } from '../../schemas/instants.ts';
import { HASH_BYTES, hashLeaf } from '../../schemas/merkle/hash.ts';
import { isSilence } from '../history/store.ts';
import type { RowName } from './row-choice.ts';

/** An entry of 8,640 rows is 112 KB. The least recently requested entry is removed. */
const MOST = 256;

/** The members that choose a row, by its place among the leaves of the listing. */
type Places = { readonly at: readonly number[]; readonly seq: readonly number[]; readonly late: readonly boolean[] };

/** Takes note of rows in leaf order. */
export const notePlaces = (table: AnchoredTable) => {
  const [at, seq, late] = [table.order[0] as string, 'seq', 'late'].map((name) => toPlace(table, name)) as [
    number,
    number,
    number,
  ];
  const places = { at: [] as number[], seq: [] as number[], late: [] as boolean[] };
  return {
    places: places as Places,
    note: ({ cells }: LeafRow): void => {
      places.at.push(parseInstant(String(cells[at])) ?? 0);
      places.seq.push(Number(cells[seq]));
      places.late.push(cells[late] === true);
    },
  };
};

/** As `createRowTest` chooses among readings: the row of a `seq`, else the newest up to `at` that is not late; -1 when there is none. */
const findPlaceOfRow = ({ at, seq, late }: Places, name: Pick<RowName, 'at' | 'seq'>): number => {
  if (name.seq !== null) return seq.indexOf(name.seq);
  return at.findLastIndex((held, place) => held <= name.at && late[place] === false);
};

type Comparison = {
  readonly question: LeafQuestion;
  readonly source: LeafSource;
  readonly kept: KeptHashes;
  /** Place of the listing's first leaf in its partition. */
  readonly first: number;
};

/** The row at a place, read now; null when it does not equal its leaf. */
const readPlace = async (places: Places, place: number, { question, source, kept, first }: Comparison) => {
  const at = places.at[place] as number;
  const begin = places.at.indexOf(at);
  const seqs = places.seq.slice(begin, places.at.lastIndexOf(at) + 1);
  const row = (await readLeafRowsAt(source, question, { at, seqs }))[place - begin];
  if (row === undefined) return null;
  const index = first + place;
  const canonical = createRowWriter(question.table)(row.cells);
  const leaf = hashLeaf(canonical);
  const held = await readHashes(kept, index, 1);
  return held.length === HASH_BYTES && held.equals(leaf) ? { ...row, index, canonical, leaf } : null;
};

type Compared = { readonly digest: string; readonly places: Places };

export type ComparedListings = {
  /** The meant row when the stored rows are those that were compared, null in it when no row is meant; else null: compare them. */
  readonly find: (asked: Comparison, name: RowName) => Promise<{ readonly row: EqualRow | null } | null>;
  /** The stored rows of the question now; to be taken before they are compared. */
  readonly digest: (asked: Comparison) => Promise<string | null>;
  /** The rows were found equal after `digest` was taken. They are remembered if it is the same still. */
  readonly remember: (asked: Comparison, digest: string | null, places: Places) => Promise<void>;
};

const toName = ({ question, kept }: Comparison): string => `${kept.treeKey} ${question.listing} ${question.closedAt}`;

export const createComparedListings = (): ComparedListings => {
  const held = new Map<string, Compared>();
  /** Null when the store cannot make it: rows are then compared one by one. A silent store is not asked for them, too. */
  const digest = ({ source, question }: Comparison): Promise<string | null> =>
    digestLeafRows(source, question).catch((error: unknown) => {
      if (isSilence(error)) throw error;
      return null;
    });
  return {
    digest,
    find: async (asked, name) => {
      const key = toName(asked);
      const known = held.get(key);
      if (known === undefined) return null;
      const place = findPlaceOfRow(known.places, name);
      // Side by side: the digest takes the store ten times as long as one row.
      const [now, row] = await Promise.all([digest(asked), place < 0 ? null : readPlace(known.places, place, asked)]);
      held.delete(key);
      if (now !== known.digest) return null;
      held.set(key, known);
      return place >= 0 && row === null ? null : { row };
    },
    remember: async (asked, before, places) => {
      if (before === null || (await digest(asked)) !== before) return;
      held.set(toName(asked), { digest: before, places });
      const [oldest] = held.keys();
      if (held.size > MOST && oldest !== undefined) held.delete(oldest);
    },
  };
};
