// The three files of a listing, table and day: same rows, same order; equal rows always give equal bytes (AR-03, AR-07).
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, createZstdCompress, type ZstdCompress } from 'node:zlib';
import { openParquet, type ParquetCell, type ParquetKind } from '../../../../infra/runtime/files/parquet.ts';
import type { LeafRow } from '../../../../infra/runtime/questdb/leaf-rows.ts';
import type { AnchoredCell, AnchoredColumn, AnchoredKind, AnchoredTable } from '../../../../schemas/anchored.ts';
import { formatCanonicalString } from '../../../../schemas/canonical-json.ts';
import { formatInstantMicros, parseInstant } from '../../../../schemas/instants.ts';

const ARCHIVE_FORMATS = ['parquet', 'csv', 'jsonl'] as const;
export type ArchiveFormat = (typeof ARCHIVE_FORMATS)[number];

/** `leafIndex`: position among the leaves of the partition, null until the day is closed. */
export type FileRow = LeafRow & { readonly leafIndex: number | null };

/** A finished file: its path, and its data for the manifest. */
export type WrittenFile = {
  readonly format: ArchiveFormat;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
};

const ZSTD_LEVEL = 6;
/** Text is compressed in pieces of one size, so that the bytes do not depend on how rows arrive. */
const PIECE_BYTES = 256 * 1024;

/** Columns of a file: those of the anchored row, then two that are not hashed (AR-03). */
const listFileColumns = ({ columns }: AnchoredTable): readonly Pick<AnchoredColumn, 'name' | 'kind'>[] => [
  ...columns,
  { name: 'recorded_at', kind: 'instant' },
  { name: 'leaf_index', kind: 'integer' },
];

/** A file that is hashed and measured while written, and durable once closed. */
type HashedFile = {
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly close: () => Promise<WrittenFile>;
  /** Closes files that are still open; written bytes stay. */
  readonly release: () => Promise<void>;
};

const openHashed = async (format: ArchiveFormat, path: string): Promise<HashedFile> => {
  const handle: FileHandle = await open(path, 'w');
  const digest = createHash('sha256');
  let bytes = 0;
  return {
    write: async (piece) => {
      digest.update(piece);
      bytes += piece.length;
      await handle.writeFile(piece);
    },
    close: async () => {
      await handle.sync();
      await handle.close();
      return { format, path, bytes, sha256: digest.digest('hex') };
    },
    release: () => handle.close(),
  };
};

type RowWriter = {
  readonly append: (rows: readonly FileRow[]) => Promise<void>;
  readonly finish: () => Promise<WrittenFile>;
  readonly release: () => Promise<void>;
};

const PARQUET_KINDS: Readonly<Record<AnchoredKind, ParquetKind>> = {
  text: 'text',
  figure: 'text',
  integer: 'integer',
  instant: 'instant',
  boolean: 'boolean',
};

const toParquetCell = (kind: AnchoredKind, cell: string | boolean | null): ParquetCell => {
  if (cell === null || typeof cell === 'boolean') return cell;
  if (kind === 'instant') return parseInstant(cell);
  return kind === 'integer' ? Number(cell) : cell;
};

export const openParquetRows = async (table: AnchoredTable, path: string): Promise<RowWriter> => {
  const file = await openHashed('parquet', path);
  const columns = listFileColumns(table).map(({ name, kind }) => ({ name, kind: PARQUET_KINDS[kind] }));
  const parquet = openParquet(columns, { write: file.write });
  return {
    append: (rows) =>
      parquet.append([
        ...table.columns.map(({ kind }, at) => rows.map(({ cells }) => toParquetCell(kind, cells[at] ?? null))),
        rows.map(({ recordedAt }) => recordedAt),
        rows.map(({ leafIndex }) => leafIndex),
      ]),
    finish: async () => {
      await parquet.finish();
      return file.close();
    },
    release: file.release,
  };
};

/** Lines of text in one zstd frame. */
const openTextRows = async (
  format: 'csv' | 'jsonl',
  path: string,
  { header, line }: { readonly header: string; readonly line: (row: FileRow) => string },
): Promise<RowWriter> => {
  const file = await openHashed(format, path);
  const zstd: ZstdCompress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
  const written = (async () => {
    for await (const piece of zstd) await file.write(piece as Uint8Array);
  })();
  // A full disk may end the compression at any moment; the next `put` or `finish` reports it.
  written.catch(() => undefined);
  let held = Buffer.from(header);
  const put = async (piece: Buffer): Promise<void> => {
    const failure = await new Promise<Error | null | undefined>((settle) => zstd.write(piece, settle));
    if (failure == null) return;
    // Throws the cause of the stream's end rather than the fact.
    await written;
    throw failure;
  };
  return {
    append: async (rows) => {
      held = Buffer.concat([held, Buffer.from(rows.map(line).join(''))]);
      for (; held.length >= PIECE_BYTES; held = held.subarray(PIECE_BYTES)) await put(held.subarray(0, PIECE_BYTES));
    },
    finish: async () => {
      zstd.end(held);
      await written;
      return file.close();
    },
    release: async () => {
      zstd.destroy();
      await file.release();
    },
  };
};

const toCsvCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const toCellText = (cell: AnchoredCell): string => {
  if (cell === null) return '';
  return typeof cell === 'string' ? toCsvCell(cell) : String(cell);
};
const formatRecordedAt = ({ recordedAt }: FileRow): string | null =>
  recordedAt === null ? null : formatInstantMicros(recordedAt);

const openCsvRows = (table: AnchoredTable, path: string): Promise<RowWriter> =>
  openTextRows('csv', path, {
    header: `${listFileColumns(table)
      .map(({ name }) => name)
      .join(',')}\n`,
    line: (row) => {
      let text = '';
      for (const cell of row.cells) text += `${toCellText(cell)},`;
      return `${text}${toCellText(formatRecordedAt(row))},${row.leafIndex ?? ''}\n`;
    },
  });

const toJsonCell = (cell: AnchoredCell): string =>
  typeof cell === 'string' ? formatCanonicalString(cell) : String(cell);

const openJsonRows = (table: AnchoredTable, path: string): Promise<RowWriter> => {
  const labels = listFileColumns(table).map(({ name }, at) => `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const [recordedAt, leafIndex] = labels.slice(-2);
  return openTextRows('jsonl', path, {
    header: '',
    line: (row) => {
      let text = '';
      for (let at = 0; at < row.cells.length; at++) text += labels[at] + toJsonCell(row.cells[at] ?? null);
      return `${text}${recordedAt}${toJsonCell(formatRecordedAt(row))}${leafIndex}${row.leafIndex}}\n`;
    },
  });
};

export type RowFiles = {
  readonly append: (rows: readonly FileRow[]) => Promise<void>;
  /** The files, durable on this machine's disk. */
  readonly finish: () => Promise<readonly WrittenFile[]>;
  /** Must be called after any outcome. */
  readonly release: () => Promise<void>;
};

/** Waits for all of them even if one fails, so that nothing is being written when the failure is reported. */
const settleAll = async <T>(works: readonly Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(works);
  return Promise.all(works);
};

/** Opens the files of one listing, table and day in `folder`, which exists and contains no file with these names. */
export const openRowFiles = async (table: AnchoredTable, folder: string): Promise<RowFiles> => {
  const writers = await Promise.all([
    openParquetRows(table, join(folder, 'rows.parquet')),
    openCsvRows(table, join(folder, 'rows.csv.zst')),
    openJsonRows(table, join(folder, 'rows.jsonl.zst')),
  ]);
  return {
    append: async (rows) => {
      await settleAll(writers.map((writer) => writer.append(rows)));
    },
    finish: () => settleAll(writers.map((writer) => writer.finish())),
    release: async () => {
      await settleAll(writers.map((writer) => writer.release()));
    },
  };
};
