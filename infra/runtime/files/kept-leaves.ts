// Compares rows of a listing with the kept hashes of their leaves, batch by batch (AN-05): nightly for partitions, and for the listing of a proof.
import { buffer } from 'node:stream/consumers';
import { type AnchoredTable, createRowWriter } from '../../../schemas/anchored.ts';
import { HASH_BYTES, hashLeaf } from '../../../schemas/merkle/hash.ts';
import type { LeafRow } from '../questdb/leaf-rows.ts';
import type { ObjectStore } from './object-store.ts';

/** The leaves of one listing in its partition: `[first, first + rows)`. */
export type LeafRange = { readonly first: number; readonly rows: number };
/** Hashes of a partition, under their key in the store. */
export type KeptHashes = { readonly store: ObjectStore; readonly treeKey: string };

/** Hashes `[first, first + count)` of the file. */
export const readHashes = async ({ store, treeKey }: KeptHashes, first: number, count: number): Promise<Buffer> => {
  if (count <= 0) return Buffer.of();
  return buffer(await store.read(treeKey, { start: first * HASH_BYTES, end: (first + count) * HASH_BYTES }));
};

/** A row that equals its leaf. */
export type EqualRow = LeafRow & {
  /** Place of its leaf in the partition. */
  readonly index: number;
  /** The text that is hashed. */
  readonly canonical: string;
  readonly leaf: Buffer;
};
type Comparison = {
  readonly table: AnchoredTable;
  readonly rows: AsyncIterable<readonly LeafRow[]>;
  readonly range: LeafRange;
  readonly kept: KeptHashes;
  /** Called for each row in leaf order: whether it is the row to find; absent: none is. */
  readonly isMeant?: (row: LeafRow) => boolean;
};
type Compared = {
  /** The difference between the rows and their leaves, count and hashes; null: none. */
  readonly difference: string | null;
  /** The last row in leaf order that `isMeant` selects and that equals its leaf. */
  readonly meant: EqualRow | null;
};

/** Compares rows in leaf order with their leaves, up to the first difference. */
export const compareLeaves = async (comparison: Comparison): Promise<Compared> => {
  const { table, rows, range, kept, isMeant = () => false } = comparison;
  const write = createRowWriter(table);
  let meant: EqualRow | null = null;
  let seen = 0;
  for await (const batch of rows) {
    const held = Math.max(0, Math.min(batch.length, range.rows - seen));
    const hashes = await readHashes(kept, range.first + seen, held);
    const lost = held - Math.floor(hashes.length / HASH_BYTES);
    if (lost > 0)
      return { difference: `${lost} of the kept hashes from leaf ${range.first + seen} on are lost`, meant };
    for (let at = 0; at < held; at++) {
      const row = batch[at] as LeafRow;
      const index = range.first + seen + at;
      const canonical = write(row.cells);
      const leaf = hashLeaf(canonical);
      if (hashes.compare(leaf, 0, HASH_BYTES, at * HASH_BYTES, (at + 1) * HASH_BYTES) !== 0)
        return { difference: `leaf ${index} differs from its stored row`, meant };
      if (isMeant(row)) meant = { ...row, index, canonical, leaf };
    }
    seen += batch.length;
  }
  const difference = seen === range.rows ? null : `${seen} stored rows for ${range.rows} leaves`;
  return { difference, meant };
};
