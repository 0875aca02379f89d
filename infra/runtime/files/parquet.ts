// Parquet files: columns of four kinds, every one nullable, compressed with zstd (archive, N-15).
import { setImmediate as breathe } from 'node:timers/promises';
import { constants, zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';

/** `text` is UTF-8, `instant` microseconds since 1970 in UTC, `integer` 64 bits. Figures are texts, so that no digit is lost. */
export type ParquetKind = 'text' | 'instant' | 'integer' | 'boolean';
export type ParquetCell = string | number | boolean | null;
export type ParquetColumn = {
  readonly name: string;
  readonly kind: ParquetKind;
  /** One a row: texts, micros, whole numbers, flags. */
  readonly cells: readonly ParquetCell[];
};

type ParquetOptions = {
  /** Key-value metadata of the file. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Called after every row group with the bytes so far and the share of rows they hold; a throw ends the work. */
  readonly onBytes?: (bytes: number, share: number) => void;
};

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** Rows encoded without a pause; other work runs between two groups. */
const GROUP_ROWS = 10_000;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const toElement = ({ name, kind }: Pick<ParquetColumn, 'name' | 'kind'>): SchemaElement => {
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

/** The writer takes INT64 cells as bigints. */
const encode = (kind: ParquetKind, cells: readonly ParquetCell[]): (ParquetCell | bigint)[] => {
  if (kind !== 'instant' && kind !== 'integer') return [...cells];
  return cells.map((cell) => (typeof cell === 'number' ? BigInt(cell) : null));
};

/** Forwards the bytes of each row group, so that a file never has to fit into memory. */
class ForwardingWriter extends ByteWriter {
  readonly #forward: (bytes: Uint8Array) => void | Promise<void>;
  constructor(forward: (bytes: Uint8Array) => void | Promise<void>) {
    super();
    this.#forward = forward;
  }
  async flush(): Promise<void> {
    const bytes = this.getBytes().slice();
    this.index = 0;
    if (bytes.length > 0) await this.#forward(bytes);
  }
  override async finish(): Promise<void> {
    await this.flush();
  }
}

type ParquetFile = {
  /** Adds rows: for each column, in the order of the columns, equally many cells. */
  readonly append: (cells: readonly (readonly ParquetCell[])[]) => Promise<void>;
  /** Bytes written so far. */
  readonly bytes: () => number;
  readonly finish: () => Promise<void>;
};
type ParquetSink = {
  readonly metadata?: Readonly<Record<string, string>>;
  /** Receives the file's bytes, piece by piece in order. */
  readonly write: (bytes: Uint8Array) => void | Promise<void>;
};

/** A file written row group by row group. The same rows give the same bytes, however calls divide them. */
export const openParquet = (
  columns: readonly Pick<ParquetColumn, 'name' | 'kind'>[],
  { metadata = {}, write }: ParquetSink,
): ParquetFile => {
  const writer = new ForwardingWriter(write);
  const file = new ParquetWriter({
    writer,
    schema: [{ name: 'rows', num_children: columns.length }, ...columns.map(toElement)],
    codec: 'ZSTD',
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes, LEVEL) },
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: 'perp-market-data',
  });
  let held: ParquetCell[][] = columns.map(() => []);
  const writeGroup = async (): Promise<void> => {
    const columnData = columns.map(({ name, kind }, at) => ({
      name,
      data: encode(kind, (held[at] as ParquetCell[]).slice(0, GROUP_ROWS)),
    }));
    held = held.map((cells) => cells.slice(GROUP_ROWS));
    await file.write({ columnData, rowGroupSize: GROUP_ROWS });
    await breathe();
  };
  return {
    append: async (cells) => {
      for (const [at, more] of cells.entries()) for (const cell of more) held[at]?.push(cell);
      while ((held[0]?.length ?? 0) >= GROUP_ROWS) await writeGroup();
    },
    bytes: () => writer.offset,
    finish: async () => {
      if ((held[0]?.length ?? 0) > 0) await writeGroup();
      await file.finish();
    },
  };
};

/** The bytes of a file with these columns, all of one length. The same columns give the same bytes. */
export const writeParquet = async (
  columns: readonly ParquetColumn[],
  { metadata = {}, onBytes = () => undefined }: ParquetOptions = {},
): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  const file = openParquet(columns, { metadata, write: (bytes) => void pieces.push(bytes) });
  const rows = columns[0]?.cells.length ?? 0;
  for (let from = 0; from < rows; from += GROUP_ROWS) {
    await file.append(columns.map(({ cells }) => cells.slice(from, from + GROUP_ROWS)));
    onBytes(file.bytes(), Math.min(1, (from + GROUP_ROWS) / rows));
  }
  await file.finish();
  onBytes(file.bytes(), 1);
  return Buffer.concat(pieces);
};
