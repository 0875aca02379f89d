// The proof of one row: its stored rows compared with the kept leaves, and the paths to the root of the day (AN-05, AN-06).
import { DamagedFile, readFinalRows } from '../../infra/runtime/files/final-rows.ts';
import { compareLeaves, type EqualRow, type KeptHashes, readHashes } from '../../infra/runtime/files/kept-leaves.ts';
import type { ObjectStore } from '../../infra/runtime/files/object-store.ts';
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import { countLeafRows, type LeafRow, type LeafSource, readLeafRows } from '../../infra/runtime/questdb/leaf-rows.ts';
import type { AnchoredTable } from '../../schemas/anchored.ts';
import { makeServiceError, type ServiceError } from '../../schemas/errors.ts';
import { MICROS_PER_DAY, parseInstant } from '../../schemas/instants.ts';
import { HASH_BYTES } from '../../schemas/merkle/hash.ts';
import { createTileReader } from '../../schemas/merkle/tiles.ts';
import { verifyInclusion } from '../../schemas/merkle/verify.ts';
import type { Micros } from '../../schemas/records.ts';
import { formatListingId, RETENTION_DAYS } from '../../schemas/tables.ts';
import { clip } from '../contract/sent-text.ts';
import { storeAway } from '../history/store.ts';
import type { ClosedDay, ClosedDays, ClosedPartition, ListingLeaves } from './closed-days.ts';
import { type ComparedListings, notePlaces } from './compared.ts';
import { createRowTest, findKind, type RowName } from './row-choice.ts';

export type ProofQuestion = RowName & {
  readonly table: AnchoredTable;
  readonly venue: string;
  readonly venueSymbol: string;
  readonly day: ClosedDay;
  readonly evaluatedAt: Micros;
};
export type Proof = {
  readonly row: EqualRow;
  readonly partition: ClosedPartition;
  /** From the leaf upwards, lower-case hex. */
  readonly path: readonly string[];
  /** Place of the partition in the day tree. */
  readonly partitionIndex: number;
  readonly partitionPath: readonly string[];
};

export type ProofDeps = {
  readonly days: ClosedDays;
  readonly store: ObjectStore;
  /** Stored history; null while none is configured. */
  readonly stored: LeafSource | null;
  /** What earlier proofs compared; absent: each compares all rows. */
  readonly compared?: ComparedListings;
};

const refuseNoRow = ({ table, venue, venueSymbol, day }: ProofQuestion): ServiceError => {
  const message = `There is no stored row of ${table.layer} of "${clip(formatListingId(venue, venueSymbol))}" on ${day.day} that the request names.`;
  return makeServiceError('ANCHOR_NOT_FOUND', message, {
    hint: 'The final file of that day in GET /v2/archive has every row.',
  });
};

const refuseChanged = (table: string, day: string): ServiceError =>
  makeServiceError('ANCHOR_CHANGED', `Stored rows of ${table} of ${day} differ from what was anchored.`, {
    hint: 'No proof is returned until they are equal again. The final files contain the anchored rows.',
  });

/** Rows of whole days are dropped when they are this old; a day on the safe side, for a window may end at 24:00. */
const isRetained = ({ table, day, evaluatedAt }: ProofQuestion): boolean =>
  (parseInstant(day.day) ?? 0) > evaluatedAt - (RETENTION_DAYS[findKind(table)] - 1) * MICROS_PER_DAY;

/** The stored rows of the listing, which are those of the final file once retention has dropped the others (AR-08). */
const readStoredRows = (
  question: ProofQuestion,
  leaves: ListingLeaves,
  { store, stored }: ProofDeps,
): AsyncIterable<readonly LeafRow[]> => {
  const { table, venue, venueSymbol, day } = question;
  if (!isRetained(question)) return readFinalRows(table, { store, key: leaves.fileKey });
  if (stored === null) throw storeAway();
  return readLeafRows(stored, {
    table,
    listing: formatListingId(venue, venueSymbol),
    day: day.day,
    closedAt: day.closedAt,
  });
};

/** What differs between the stored rows of a listing without leaves and its leaves: that there are any. */
const findAddedRows = async (question: ProofQuestion, stored: LeafSource | null): Promise<string | null> => {
  const { table, venue, venueSymbol, day } = question;
  if (!isRetained(question)) return null;
  if (stored === null) throw storeAway();
  const listing = formatListingId(venue, venueSymbol);
  const count = await countLeafRows(stored, { table, listing, day: day.day, closedAt: day.closedAt });
  return count === 0 ? null : `${listing}: ${count} stored rows and no leaf`;
};

type Found = { readonly difference: string | null; readonly row: EqualRow | null };

/** Compares every stored row of the listing with its leaf and keeps the row that is meant. */
const compareRows = async (
  question: ProofQuestion,
  leaves: ListingLeaves,
  { kept, deps, note }: { readonly kept: KeptHashes; readonly deps: ProofDeps; readonly note?: (row: LeafRow) => void },
): Promise<Found> => {
  const { table, venue, venueSymbol } = question;
  const rows = readStoredRows(question, leaves, deps);
  try {
    const isChosen = createRowTest(table, question);
    const isMeant = (row: LeafRow): boolean => {
      note?.(row);
      return isChosen(row.cells);
    };
    const { difference, meant } = await compareLeaves({ table, rows, range: leaves, kept, isMeant });
    return {
      difference: difference === null ? null : `${formatListingId(venue, venueSymbol)}: ${difference}`,
      row: meant,
    };
  } catch (error) {
    if (error instanceof DamagedFile) return { difference: error.message, row: null };
    throw error;
  }
};

/** The row that is meant, once the stored rows of its listing are known to equal their leaves. */
const findRow = async (question: ProofQuestion, kept: KeptHashes, deps: ProofDeps): Promise<Found> => {
  const { table, venue, venueSymbol, day } = question;
  const leaves = await deps.days.leavesOf({ day: day.day, venue, venueSymbol, layer: table.layer });
  if (leaves === null) return { difference: await findAddedRows(question, deps.stored), row: null };
  const { stored: source, compared } = deps;
  if (source === null || compared === undefined || findKind(table) !== 'readings' || !isRetained(question))
    return compareRows(question, leaves, { kept, deps });
  const listing = formatListingId(venue, venueSymbol);
  const asked = {
    ...{ source, kept, first: leaves.first },
    question: { table, listing, day: day.day, closedAt: day.closedAt },
  };
  const known = await compared.find(asked, question);
  if (known !== null) return { difference: null, row: known.row };
  const digest = await compared.digest(asked);
  const { note, places } = notePlaces(table);
  const found = await compareRows(question, leaves, { kept, deps, note });
  // The caller does not wait for this: it only helps the next request.
  if (found.difference === null) compared.remember(asked, digest, places).catch(() => undefined);
  return found;
};

const toHex = (hashes: readonly Uint8Array[]): string[] => hashes.map((hash) => Buffer.from(hash).toString('hex'));

/** The path of a leaf through the tiles of its partition. Throws MerkleError when the kept hashes do not lead to the root. */
const readPath = async ({ index, leaf }: EqualRow, { rows: size, root }: ClosedPartition, kept: KeptHashes) => {
  const path = await createTileReader(size, (first, count) => readHashes(kept, first, count)).path(index);
  verifyInclusion({ leaf, index, size, path }, Buffer.from(root, 'hex'));
  return toHex(path);
};

const readPartitionPath = async ({ partitions }: ClosedDay, index: number): Promise<string[]> => {
  const leaves = Buffer.concat(partitions.map(({ leaf }) => Buffer.from(leaf, 'hex')));
  const read = async (first: number, count: number): Promise<Buffer> =>
    leaves.subarray(first * HASH_BYTES, (first + count) * HASH_BYTES);
  return toHex(await createTileReader(partitions.length, read).path(index));
};

/** Proves the row. Throws ServiceError: ANCHOR_CHANGED, ANCHOR_NOT_FOUND for no such row, UNAVAILABLE. */
export const proveRow = async (question: ProofQuestion, deps: ProofDeps): Promise<Proof> => {
  const { table, day } = question;
  const partitionIndex = day.partitions.findIndex((partition) => partition.table === table.table);
  const partition = day.partitions[partitionIndex];
  // No store holds a symbol that is no text, so the store is not queried for one.
  if (partition === undefined || !isStorable(question.venueSymbol)) throw refuseNoRow(question);
  if (partition.changed) throw refuseChanged(table.table, day.day);
  const kept = { store: deps.store, treeKey: partition.treeKey };
  const { difference, row } = await findRow(question, kept, deps);
  if (difference !== null) {
    await deps.days.markChanged({ day: day.day, table: table.table }, difference);
    throw refuseChanged(table.table, day.day);
  }
  if (row === null) throw refuseNoRow(question);
  const [path, partitionPath] = [await readPath(row, partition, kept), await readPartitionPath(day, partitionIndex)];
  return { row, partition, path, partitionIndex, partitionPath };
};
