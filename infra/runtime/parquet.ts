// Parquet files in memory: columns of four kinds, every one nullable, compressed with zstd (archive, N-15).
import { setImmediate as breathe } from 'node:timers/promises';
import { constants, zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';

/** `text` is UTF-8, `instant` microseconds since 1970 in UTC, `integer` 64 bits. Figures are texts: no digit is lost. */
export type ParquetKind = 'text' | 'instant' | 'integer' | 'boolean';
export type ParquetCell = string | number | boolean | null;
export type ParquetColumn = {
  readonly name: string;
  readonly kind: ParquetKind;
  /** One a row: texts, micros, whole numbers, flags. */
  readonly cells: readonly ParquetCell[];
};

export type ParquetOptions = {
  /** Words that stay with the file (key-value metadata). */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Called after every row group with the bytes so far and the share of rows they hold; what it throws ends the work. */
  readonly onBytes?: (bytes: number, share: number) => void;
};

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** Rows encoded in one go; other work gets its turn between two groups. */
const GROUP_ROWS = 10_000;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const elementOf = ({ name, kind }: ParquetColumn): SchemaElement => {
  const element = { name, repetition_type: 'OPTIONAL' } as const;
  switch (kind) {
    case 'text':
      return { ...element, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
    case 'instant':
      return {
        ...element,
        type: 'INT64',
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      };
    case 'integer':
      return { ...element, type: 'INT64' };
    case 'boolean':
      return { ...element, type: 'BOOLEAN' };
    default:
      return kind satisfies never;
  }
};

/** INT64 cells are bigints to the writer. */
const encoded = ({ kind, cells }: ParquetColumn, from: number): (ParquetCell | bigint)[] => {
  const group = cells.slice(from, from + GROUP_ROWS);
  if (kind !== 'instant' && kind !== 'integer') return group;
  return group.map((cell) => (typeof cell === 'number' ? BigInt(cell) : null));
};

/** The bytes of a file with these columns, all of one length. The same columns give the same bytes. */
export const writeParquet = async (
  columns: readonly ParquetColumn[],
  { metadata = {}, onBytes = () => undefined }: ParquetOptions = {},
): Promise<Buffer> => {
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [{ name: 'rows', num_children: columns.length }, ...columns.map(elementOf)],
    codec: 'ZSTD',
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes, LEVEL) },
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: 'perp-market-data',
  });
  const rows = columns[0]?.cells.length ?? 0;
  for (let from = 0; from < rows; from += GROUP_ROWS) {
    const columnData = columns.map((column) => ({ name: column.name, data: encoded(column, from) }));
    await file.write({ columnData, rowGroupSize: GROUP_ROWS });
    onBytes(writer.offset, Math.min(1, (from + GROUP_ROWS) / rows));
    await breathe();
  }
  await file.finish();
  return Buffer.from(writer.getBuffer());
};
