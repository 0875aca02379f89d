// A small anchored day made by the product's own modules: rows of every table, their trees, proof answers, day answers and archive files.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { type ArchiveFormat, openRowFiles } from '../../../processors/nightly/steps/archive/row-files.ts';
import {
  ANCHOR_SCHEMA_VERSION,
  ANCHORED_TABLES,
  type AnchoredCell,
  type AnchoredColumn,
  type AnchoredTable,
  createRowWriter,
  formatPartitionLeaf,
  toPlace,
} from '../../../schemas/anchored.ts';
import { formatInstantMicros, parseInstant } from '../../../schemas/instants.ts';
import { type Hash, hashLeaf } from '../../../schemas/merkle/hash.ts';
import { createTileReader, listKeptLevels } from '../../../schemas/merkle/tiles.ts';
import { createTree } from '../../../schemas/merkle/tree.ts';
import { createLeafOrder } from './leaf-order.ts';

export const DAY = '2026-01-10';
const MINUTE = 60_000_000;
const BEGIN = parseInstant(DAY) as number;

/** In the order of leaves: two classes, each ascending; a symbol above U+FFFF comes after one below, unlike in UTF-16. */
const LISTINGS: readonly (readonly [string, string])[] = [
  ['binance', 'BTCUSDT'],
  ['okx', 'ETH-USDT-SWAP'],
  ['binance', '币安人生USDT'],
  ['binance', '\uFB33USDT'],
  ['binance', '😂USDT'],
  ['hyperliquid', 'xyz:"A,B"'],
];

export type AnchoredRows = {
  readonly table: AnchoredTable;
  /** In leaf order. */
  readonly rows: readonly (readonly AnchoredCell[])[];
  readonly leaves: readonly Hash[];
  readonly root: string;
  /** Text of the leaf in the day tree, hashed. */
  readonly leaf: string;
};
type AnchoredDay = { readonly partitions: readonly AnchoredRows[]; readonly root: string };

export type AnchorFacts = {
  readonly network: string | null;
  readonly binding?: false;
  readonly contract: string | null;
  readonly tx_hash: string | null;
  readonly block: number | null;
  readonly anchored_at: string | null;
};
const NOT_POSTED: AnchorFacts = {
  network: 'eip155:8453',
  contract: null,
  tx_hash: null,
  block: null,
  anchored_at: null,
};

type RowFacts = { readonly listing: readonly [string, string]; readonly at: number; readonly n: number };

/** Every fifth row is a gap, every seventh late; figures have digits that a double cannot hold. */
const makeCell = (table: AnchoredTable, { name, kind }: AnchoredColumn, { listing, at, n }: RowFacts): AnchoredCell => {
  const isGap = n % 5 === 4;
  const known: Record<string, AnchoredCell> = {
    segment: listing[0],
    symbol: listing[1],
    [table.order[0] as string]: formatInstantMicros(at),
    seq: String(n),
    late: n % 7 === 6,
    status: isGap ? 'missing' : 'present',
    gap_cause: isGap ? 'venue "down",\nno word' : null,
    price_type: n % 2 === 0 ? 'mark' : 'trade',
    id: isGap ? null : `${n % 2 === 0 ? '😂' : '\uFB33'}${n}`,
  };
  if (name in known) return known[name] ?? null;
  if (isGap) return null;
  if (kind === 'instant') return formatInstantMicros(at - 1_234_567);
  if (kind === 'figure') return `${n}${'0123456789'.repeat(2)}.${n + 1}`;
  if (kind === 'integer') return String(n * 1_000_003);
  return kind === 'boolean' ? false : `${name} é ${n}`;
};

/** `count` is odd: two rows of each instant, and one of the last. */
const makeRows = (table: AnchoredTable, count: number): readonly AnchoredCell[][] =>
  LISTINGS.flatMap((listing) => {
    // The first window of the day ends after 00:00, the last at 24:00.
    const first = table.dayIncludes === 'end' ? BEGIN + 1_440 * MINUTE - (count - 1) * MINUTE : BEGIN;
    const rows = Array.from({ length: count }, (_, n) =>
      table.columns.map((column) =>
        makeCell(table, column, { listing, at: first + Math.floor(n / 2) * 2 * MINUTE, n }),
      ),
    );
    return rows.sort(createLeafOrder(table));
  });

const makeTree = (leaves: readonly Hash[]): string => {
  const tree = createTree();
  for (const leaf of leaves) tree.append(leaf);
  return (tree.root() as Hash).toString('hex');
};

const makePartition = (table: AnchoredTable, rows: readonly (readonly AnchoredCell[])[]): AnchoredRows => {
  const write = createRowWriter(table);
  const leaves = rows.map((cells) => hashLeaf(Buffer.from(write(cells))));
  const root = makeTree(leaves);
  const text = formatPartitionLeaf({ day: DAY, table: table.table, rows: rows.length, root });
  return { table, rows, leaves, root, leaf: hashLeaf(Buffer.from(text)).toString('hex') };
};

/** Rows of every table, or of those that are given. */
export const buildDay = (tables: readonly AnchoredTable[] = ANCHORED_TABLES): AnchoredDay => {
  const partitions = tables.map((table, at) => makePartition(table, makeRows(table, 3 + 2 * at)));
  return { partitions, root: makeTree(partitions.map(({ leaf }) => Buffer.from(leaf, 'hex'))) };
};

/** The audit path as a proof reads it: through the tiles of the tree's file. */
const makePath = async (leaves: readonly Hash[], index: number): Promise<string[]> => {
  const hashes: Hash[][] = [[...leaves]];
  const tree = createTree((level, hash) => {
    hashes[level] ??= [];
    hashes[level].push(hash);
  });
  for (const leaf of leaves) tree.append(leaf);
  const file = Buffer.concat(listKeptLevels(leaves.length).flatMap(({ level }) => hashes[level] ?? []));
  const reader = createTileReader(leaves.length, async (first, count) =>
    file.subarray(32 * first, 32 * (first + count)),
  );
  return (await reader.path(index)).map((hash) => hash.toString('hex'));
};

const makeAnchor = ({ contract, tx_hash, block, anchored_at }: AnchorFacts): object => ({
  anchored: block !== null,
  status: block === null ? 'pending' : 'confirmed',
  ...{ contract, tx_hash, block, anchored_at },
  anchored_lag_days: block === null ? null : 7,
  explorer_url: null,
});
const makeNetwork = ({ network, binding }: AnchorFacts): object => ({
  network,
  ...(binding === undefined ? {} : { binding }),
});

/** An answer of GET /v2/anchors/proof. */
export const makeProof = async (
  { partitions, root }: AnchoredDay,
  { table, index }: { readonly table: string; readonly index: number },
  facts: AnchorFacts = NOT_POSTED,
): Promise<Record<string, unknown>> => {
  const at = partitions.findIndex((partition) => partition.table.table === table);
  const partition = partitions[at] as AnchoredRows;
  const cells = partition.rows[index] as readonly AnchoredCell[];
  const { columns, layer } = partition.table;
  const days = partitions.map(({ leaf }) => Buffer.from(leaf, 'hex'));
  return {
    evaluated_at: '2026-01-20T00:00:00.000Z',
    day: DAY,
    ...makeNetwork(facts),
    schema_version: ANCHOR_SCHEMA_VERSION,
    ...{ layer, table },
    row: Object.fromEntries(columns.map(({ name }, place) => [name, cells[place] ?? null])),
    canonical: createRowWriter(partition.table)(cells),
    leaf_hash: (partition.leaves[index] as Hash).toString('hex'),
    index,
    rows: partition.rows.length,
    path: await makePath(partition.leaves, index),
    partition: {
      root: partition.root,
      leaf: partition.leaf,
      index: at,
      count: partitions.length,
      path: await makePath(days, at),
    },
    day_root: root,
    anchor: makeAnchor(facts),
    verify: 'https://example.org/docs/verify',
  };
};

/** An answer of GET /v2/anchors/{day}. */
export const makeDayAnswer = (
  { partitions, root }: AnchoredDay,
  facts: AnchorFacts = NOT_POSTED,
): Record<string, unknown> => ({
  evaluated_at: '2026-01-20T00:00:00.000Z',
  day: DAY,
  ...makeNetwork(facts),
  schema_version: ANCHOR_SCHEMA_VERSION,
  closed_at: '2026-01-17T00:00:00.000Z',
  day_root: root,
  partitions: partitions.map(({ table, rows, root, leaf }, index) => ({
    ...{ table: table.table, rows: rows.length, root, leaf, index },
  })),
  anchor: makeAnchor(facts),
});

/** A row of an archive file: cells of the anchored columns, then `recorded_at` and `leaf_index` (AR-03). */
export type FileRow = readonly (AnchoredCell | number)[];
export const FILE_FORMATS = ['parquet', 'csv.zst', 'jsonl.zst', 'csv', 'jsonl'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];
export type ListingFile = {
  readonly table: AnchoredTable;
  readonly listing: string;
  readonly rows: readonly FileRow[];
};

/** The rows of each listing's final file, in leaf order. */
export const listingFiles = ({ table, rows }: AnchoredRows): readonly ListingFile[] => {
  const files = new Map<string, FileRow[]>();
  for (const [index, cells] of rows.entries()) {
    const listing = `${cells[toPlace(table, 'segment')]}:${cells[toPlace(table, 'symbol')]}`;
    const held = files.get(listing) ?? [];
    held.push([...cells, index % 3 === 0 ? null : formatInstantMicros(BEGIN + index), index]);
    files.set(listing, held);
  }
  return [...files].map(([listing, rows]) => ({ table, listing, rows }));
};

/** The file of each format as the nightly step names it; the plain texts are what it compresses. */
const WRITTEN: Readonly<Record<FileFormat, ArchiveFormat>> = {
  ...{ parquet: 'parquet', 'csv.zst': 'csv', 'jsonl.zst': 'jsonl', csv: 'csv', jsonl: 'jsonl' },
};

/** The bytes of an archive file, as the nightly step writes them (AR-07). */
export const fileBytes = async ({ table, rows }: ListingFile, format: FileFormat): Promise<Buffer> => {
  const folder = mkdtempSync(join(tmpdir(), 'row-files-'));
  const files = await openRowFiles(table, folder);
  await files.append(
    rows.map((row) => {
      const [recordedAt, leafIndex] = row.slice(-2);
      return {
        cells: row.slice(0, -2) as AnchoredCell[],
        recordedAt: recordedAt === null ? null : parseInstant(String(recordedAt)),
        leafIndex: leafIndex as number | null,
      };
    }),
  );
  const written = (await files.finish()).find((file) => file.format === WRITTEN[format]);
  const bytes = readFileSync(written?.path ?? '');
  rmSync(folder, { recursive: true });
  return format === 'csv' || format === 'jsonl' ? zstdDecompressSync(bytes) : bytes;
};

/** Writes the files of a table into a folder; gives their names. */
export const writeTable = async (
  folder: string,
  files: readonly ListingFile[],
  format: FileFormat,
): Promise<string[]> => {
  const names: string[] = [];
  for (const [at, file] of files.entries()) {
    const name = `${file.table.table}-${at}.${format}`;
    writeFileSync(join(folder, name), await fileBytes(file, format));
    names.push(name);
  }
  return names;
};
