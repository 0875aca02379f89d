// The readers of both verifiers (zstd, Parquet, CSV, JSONL) give back what the product writes: random files of many sizes and kinds of content.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { constants, createZstdCompress, zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import t from 'tap';
import {
  type ParquetCell,
  type ParquetColumn,
  type ParquetKind,
  writeParquet,
} from '../../../infra/runtime/files/parquet.ts';
import { formatInstantMicros } from '../../../schemas/instants.ts';
import { runCommand, VERIFIERS } from '../../support/days/verifiers.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'verify-files-'));
t.teardown(() => rmSync(FOLDER, { recursive: true, force: true }));
t.setTimeout(900_000);
const SCRIPTS = join(VERIFIERS.python.script, '..');

/** The same numbers in every run: a failure can be looked at again (xorshift32). */
const createRandom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
};
const random = createRandom(20260110);
const upTo = (limit: number): number => Math.floor(random() * limit);
const randomBytes = (count: number): Buffer => Buffer.from(Uint8Array.from({ length: count }, () => upTo(256)));

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

// zstd

const words = 'mark index 0.0001 -12.5 null "present" 币安 😂 2026-01-10T00:00 , { }'.split(' ');
const CONTENTS: readonly (readonly [string, (size: number) => Buffer])[] = [
  ['incompressible', randomBytes],
  ['one byte', (size) => Buffer.alloc(size, upTo(256))],
  ['a period', (size) => Buffer.alloc(size, randomBytes(1 + upTo(60)))],
  [
    'skewed letters',
    (size) => Buffer.from(Uint8Array.from({ length: size }, () => 97 + Math.floor(random() ** 4 * 26))),
  ],
  ['few symbols', (size) => Buffer.from(Uint8Array.from({ length: size }, () => upTo(2) * upTo(3) * 40))],
  [
    'words',
    (size) =>
      Buffer.from(Array.from({ length: size / 3 }, () => words[upTo(words.length)]).join(' ')).subarray(0, size),
  ],
  [
    'rows',
    (size) =>
      Buffer.from(
        Array.from(
          { length: size / 30 },
          (_, at) => `{"seq":"${at}","last":"${(random() * 1e5).toFixed(upTo(8))}"}\n`,
        ).join(''),
      ),
  ],
  [
    'text and noise by turns',
    (size) =>
      Buffer.concat(
        Array.from({ length: 6 }, (_, at) => (at % 2 ? randomBytes(size / 6) : Buffer.alloc(size / 6, 'abcab'))),
      ),
  ],
];
const SIZES = [0, 1, 3, 40, 256, 700, 4_096, 70_000, 131_072, 131_073, 300_000];
const LEVELS = [1, 3, 6, 12];

/** Two readings of the same: by pieces, as the archive writes, and in one call. */
const compress = async (data: Buffer, level: number): Promise<Buffer> => {
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: upTo(2) };
  if (upTo(2) === 0) return zstdCompressSync(data, { params });
  const stream = createZstdCompress({ params });
  for (let at = 0; at < data.length; at += 50_000) stream.write(data.subarray(at, at + 50_000));
  stream.end();
  return buffer(stream);
};

const ZSTD_LOOP = `
import hashlib, os, sys
sys.path.insert(0, sys.argv[1])
import verify
for name in sorted(os.listdir('.')):
    try:
        print(name, hashlib.sha256(verify.zstd_decode(open(name, 'rb').read())).hexdigest())
    except (verify.Broken, IndexError, ValueError):
        print(name, 'broken')
`;

t.test(
  'zstd: what zlib compressed, of any size, content and level, is read back by the decoder in Python',
  async (t) => {
    const folder = join(FOLDER, 'zstd');
    mkdirSync(folder);
    const expected: string[] = [];
    const add = (data: Buffer, hash: string): void => {
      const name = String(expected.length).padStart(4, '0');
      writeFileSync(join(folder, name), data);
      expected.push(`${name} ${hash}\n`);
    };
    for (const [, make] of CONTENTS) {
      for (const size of SIZES) {
        const data = make(size);
        const packed = await compress(data, LEVELS[expected.length % LEVELS.length] as number);
        add(packed, sha256(data));
        if (size === 4_096) {
          add(
            Buffer.concat([packed, Buffer.from('502a4d18030000007879'.concat('7a'), 'hex'), packed]),
            sha256(Buffer.concat([data, data])),
          );
          add(packed.subarray(0, packed.length - 6), 'broken');
          add(Buffer.concat([packed, Buffer.from('end')]), 'broken');
        }
      }
    }
    const { code, out, err } = await runCommand('python3', ['-B', '-c', ZSTD_LOOP, SCRIPTS], folder);
    t.same([code, err], [0, '']);
    t.same(out, expected.join(''), `${expected.length} frames`);
  },
);

// Parquet, CSV and JSONL

const KINDS: readonly ParquetKind[] = ['text', 'instant', 'integer', 'boolean'];
const NAMES: Readonly<Record<ParquetKind, string>> = {
  text: 'symbol',
  instant: 'received_at',
  integer: 'seq',
  boolean: 'late',
};
const VALUES: Readonly<Record<ParquetKind, readonly ((row: number) => ParquetCell)[]>> = {
  text: [
    () => randomBytes(1 + upTo(30)).toString('latin1'),
    () => words[upTo(words.length)] as string,
    () => 'present',
    (row) => `${row}.${upTo(1e9)}`,
    () => '',
  ],
  instant: [(row) => 1_768_003_200_000_000 + row * 10_000_000, () => upTo(2 ** 31) * 1_000_000 + upTo(1_000_000)],
  integer: [
    (row) => row,
    () => upTo(5),
    () => ((random() - 0.5) * 2 > 0 ? -upTo(2 ** 31) : Number.MAX_SAFE_INTEGER - upTo(9)),
  ],
  boolean: [() => random() < 0.5, () => true, (row) => row % 100 === 0],
};

const randomColumn = (kind: ParquetKind, rows: number): ParquetColumn => {
  const value = VALUES[kind][upTo(VALUES[kind].length)] as (row: number) => ParquetCell;
  const nulls = [0, 0, 0.01, 0.5, 1][upTo(5)] as number;
  const cells = Array.from({ length: rows }, (_, row) => (random() < nulls ? null : value(row)));
  return { name: NAMES[kind], kind, cells };
};

/** A row as both readers give it: instants and integers as text. */
const toText = (kind: ParquetKind, cell: ParquetCell): string | boolean | null => {
  if (cell === null || typeof cell === 'boolean') return cell;
  return kind === 'instant' ? formatInstantMicros(Number(cell)) : String(cell);
};
const hashColumns = (columns: readonly ParquetColumn[]): string => {
  const rows = Array.from({ length: columns[0]?.cells.length ?? 0 }, (_, row) =>
    JSON.stringify(columns.map(({ kind, cells }) => toText(kind, cells[row] ?? null))),
  );
  return sha256([JSON.stringify(columns.map(({ name }) => name)), ...rows].join('\n'));
};

/** Like the product, but integers and instants as differences: an encoding that its writer offers. */
const writeDeltas = async (columns: readonly ParquetColumn[]): Promise<Buffer> => {
  const writer = new ByteWriter();
  const isInteger = ({ kind }: ParquetColumn): boolean => kind === 'instant' || kind === 'integer';
  const file = new ParquetWriter({
    writer,
    schema: [
      { name: 'rows', num_children: columns.length },
      ...columns.map((column) => ({
        name: column.name,
        repetition_type: 'OPTIONAL' as const,
        type: isInteger(column)
          ? ('INT64' as const)
          : column.kind === 'boolean'
            ? ('BOOLEAN' as const)
            : ('BYTE_ARRAY' as const),
        ...(column.kind === 'text' ? { converted_type: 'UTF8' as const } : {}),
      })),
    ],
    codec: 'UNCOMPRESSED',
  });
  const columnData = columns.map((column) => ({
    name: column.name,
    data: isInteger(column) ? column.cells.map((cell) => (cell === null ? null : BigInt(cell))) : [...column.cells],
    ...(isInteger(column) ? { encoding: 'DELTA_BINARY_PACKED' as const } : {}),
  }));
  await file.write({ columnData, pageSize: 4_096 });
  await file.finish();
  return Buffer.from(writer.getBuffer());
};

const PYTHON_ROWS = `
import hashlib, json, os, sys
sys.path.insert(0, sys.argv[1])
import verify
write = json.JSONEncoder(ensure_ascii=False, separators=(',', ':')).encode
for name in sorted(os.listdir('.')):
    names, rows = verify.open_archive(open(name, 'rb').read())
    text = '\\n'.join([write(names), *(write(list(row)) for row in rows)])
    print(name, hashlib.sha256(text.encode('utf-8')).hexdigest())
`;
const readByNode = async (data: Buffer): Promise<string> => {
  const { openArchive } = (await import(VERIFIERS.node.script)) as {
    openArchive: (data: Buffer) => { names: string[]; rows: Iterable<unknown[]> };
  };
  const { names, rows } = openArchive(data);
  return sha256([names, ...rows].map((line) => JSON.stringify(line)).join('\n'));
};

t.test('Parquet: what the product writes is read back by both, a page and many row groups, any nulls', async (t) => {
  const folder = join(FOLDER, 'parquet');
  mkdirSync(folder);
  const expected: string[] = [];
  const add = async (columns: readonly ParquetColumn[], data: Buffer): Promise<void> => {
    const name = String(expected.length).padStart(4, '0');
    writeFileSync(join(folder, name), data);
    const hash = hashColumns(columns);
    expected.push(`${name} ${hash}\n`);
    if ((await readByNode(data)) !== hash) t.fail(`the reader in JavaScript differs in file ${name}`);
  };
  const make = (rows: number): ParquetColumn[] => KINDS.map((kind) => randomColumn(kind, rows));
  for (let at = 0; at < 260; at += 1) {
    const columns = make(upTo([3, 20, 200, 1_500][at % 4] as number) + 1);
    await add(columns, at % 4 === 3 ? await writeDeltas(columns) : await writeParquet(columns));
  }
  for (const rows of [10_000, 10_001, 25_000]) {
    const columns = make(rows);
    await add(columns, await writeParquet(columns));
  }
  // Pages above 128 KB and chunks of several pages, which nothing compresses.
  const noise: ParquetColumn = {
    name: 'symbol',
    kind: 'text',
    cells: Array.from({ length: 9_000 }, () => randomBytes(100).toString('base64')),
  };
  await add([noise], await writeParquet([noise]));
  const { code, out, err } = await runCommand('python3', ['-B', '-c', PYTHON_ROWS, SCRIPTS], folder);
  t.same([code, err], [0, '']);
  t.same(out, expected.join(''), `${expected.length} files`);
});

t.test('Parquet of another writer: data pages of version 1', async (t) => {
  const folder = new URL('../../fixtures/verify/', import.meta.url);
  const expected = JSON.parse(readFileSync(new URL('arrow-v1.json', folder), 'utf8')) as unknown[];
  const hash = sha256(expected.map((line) => JSON.stringify(line)).join('\n'));
  const data = readFileSync(new URL('arrow-v1.parquet', folder));
  t.equal(await readByNode(data), hash);
  const own = join(FOLDER, 'arrow');
  mkdirSync(own);
  writeFileSync(join(own, 'v1'), data);
  t.same(await runCommand('python3', ['-B', '-c', PYTHON_ROWS, SCRIPTS], own), {
    code: 0,
    out: `v1 ${hash}\n`,
    err: '',
  });
});
