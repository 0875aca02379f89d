// Writes the files of one listing, table and day into the store. They become current when the caller records them in the manifest.
import { rm } from 'node:fs/promises';
import type { Pool } from 'pg';
import type { ObjectStore } from '../../../../infra/runtime/files/object-store.ts';
import { type LeafSource, readLeafRows } from '../../../../infra/runtime/questdb/leaf-rows.ts';
import { type AnchoredTable, createRowWriter } from '../../../../schemas/anchored.ts';
import { type Hash, hashLeaf } from '../../../../schemas/merkle/hash.ts';
import type { Micros } from '../../../../schemas/records.ts';
import type { Day } from '../../day.ts';
import type { DayListing } from './listings.ts';
import type { FileSet, StoredFile } from './manifest.ts';
import { type FileRow, openRowFiles, type RowFiles, type WrittenFile } from './row-files.ts';
import type { Tier } from './tiers.ts';

/** `reached` is called at places where a kill must leave no partial state; once `signal` is aborted nothing more is stored. */
export type ArchiveTarget = LeafSource & {
  readonly database: Pool;
  readonly store: ObjectStore;
  readonly reached?: ((place: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

type SetQuestion = {
  readonly table: AnchoredTable;
  readonly listing: DayListing;
  readonly day: Day;
  readonly tier: Tier;
  readonly closedAt: Micros;
  /** For a closed day the position of the listing's first leaf in its partition, and the receiver of the leaves in order. */
  readonly leaves: { readonly first: number; readonly take: (leaf: Hash) => void | Promise<void> } | null;
};

/** A text as one part of a key: the characters that encodeURIComponent keeps and a key must not contain are encoded, too. */
const toKeyPart = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

const ENDINGS = { parquet: 'parquet', csv: 'csv.zst', jsonl: 'jsonl.zst' } as const;

/** The key contains the hash, so that a link never leads to other bytes (AR-02, AR-06). */
const makeKey = ({ day, table, listing }: SetQuestion, { format, sha256 }: WrittenFile): string =>
  `${day}/${table.layer}/${toKeyPart(listing.id)}/${sha256}.${ENDINGS[format]}`;

const storeFiles = async (
  { store, reached, signal }: ArchiveTarget,
  question: SetQuestion,
  files: readonly WrittenFile[],
): Promise<StoredFile[]> => {
  const stored: StoredFile[] = [];
  for (const file of files) {
    const key = makeKey(question, file);
    signal?.throwIfAborted();
    await store.put(key, file.path);
    reached?.('file-stored');
    stored.push({ key, format: file.format, bytes: file.bytes, sha256: file.sha256 });
  }
  return stored;
};

/** Writes every row of the question; returns their number. */
const writeRows = async (target: ArchiveTarget, question: SetQuestion, files: RowFiles): Promise<number> => {
  const { table, listing, day, closedAt, leaves } = question;
  const write = createRowWriter(table);
  let rows = 0;
  for await (const batch of readLeafRows(target, { table, listing: listing.id, day, closedAt })) {
    target.signal?.throwIfAborted();
    const first = leaves === null ? null : leaves.first + rows;
    for (const { cells } of leaves === null ? [] : batch) {
      // Nearly always nothing to wait for, and a wait costs a tenth of the hash.
      const pending = leaves?.take(hashLeaf(write(cells)));
      if (pending !== undefined) await pending;
    }
    await files.append(batch.map((row, at): FileRow => ({ ...row, leafIndex: first === null ? null : first + at })));
    rows += batch.length;
  }
  return rows;
};

const writeFiles = async (target: ArchiveTarget, question: SetQuestion, folder: string): Promise<FileSet | null> => {
  const { table, listing, day, leaves } = question;
  const files = await openRowFiles(table, folder);
  try {
    const rows = await writeRows(target, question, files);
    const written = await files.finish();
    target.reached?.('rows-written');
    if (rows === 0) return null;
    return {
      ...{ day, venue: listing.venue, venueSymbol: listing.venueSymbol, layer: table.layer },
      ...{ instrument: listing.instrument, tier: question.tier, rows, firstLeaf: leaves?.first ?? null },
      files: await storeFiles(target, question, written),
    };
  } finally {
    await files.release();
  }
};

/** The set to record; null for a listing without rows. Rejects with ENOSPC on a full disk, before anything is stored. */
export const writeSet = async (target: ArchiveTarget, question: SetQuestion): Promise<FileSet | null> => {
  const { table, day, leaves } = question;
  const folder = await target.store.workFolder(`${day}-${table.table}${leaves === null ? '' : '-final'}`);
  try {
    return await writeFiles(target, question, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
