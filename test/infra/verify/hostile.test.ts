// Archive files that someone made to harm whoever checks them: both verifiers refuse them alike, soon, and without an error of their own.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import t, { type Test } from 'tap';
import {
  type AnchoredRows,
  buildDay,
  type FileFormat,
  fileBytes,
  listingFiles,
  makeDayAnswer,
  makeProof,
} from '../../support/days/anchored-day.ts';
import {
  changeThrift,
  formatThriftStruct,
  readThriftStruct,
  type ThriftField,
  type ThriftStruct,
} from '../../support/days/thrift.ts';
import { openVerifiers, runCommand, VERIFIERS } from '../../support/days/verifiers.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'verify-hostile-'));
t.teardown(() => rmSync(FOLDER, { recursive: true, force: true }));
t.setTimeout(300_000);

const day = buildDay();
const mark = day.partitions.find(({ table }) => table.table === 'mark') as AnchoredRows;
const files = listingFiles(mark);
const verifiers = openVerifiers(t, FOLDER);
writeFileSync(join(FOLDER, 'day.json'), JSON.stringify(makeDayAnswer(day)));
const names = files.map((_, at) => `file-${at}`);
const makeFiles = async (format: FileFormat): Promise<readonly Buffer[]> => {
  const made = await Promise.all(files.map(async (file) => Buffer.from(await fileBytes(file, format))));
  for (const [at, bytes] of made.entries()) writeFileSync(join(FOLDER, `file-${at}`), bytes);
  return made;
};

/** Both verifiers read the day with its first file replaced. */
const compare = async (t: Test, bytes: Buffer, what: string): Promise<string> => {
  writeFileSync(join(FOLDER, 'hostile'), bytes);
  const { python, node } = await verifiers.run(['day.json', 'hostile', ...names.slice(1)]);
  t.equal(node.out + node.err, python.out + python.err, `${what}: both print the same`);
  t.equal(node.code, python.code, `${what}: the same exit code`);
  return python.out;
};

const setTo =
  (value: ThriftField['value'], type?: number) =>
  (field: ThriftField): ThriftField => ({ ...field, type: type ?? field.type, value });
const leaveOut = (): null => null;

const [GROUPS, CHUNKS, META, ROWS] = [4, 1, 3, 3];
/** Of the metadata of a chunk: type, codec, values, place of its pages, place of its dictionary. */
const [TYPE, CODEC, VALUES, PAGES, WORDS] = [1, 4, 5, 9, 11];
const FIRST_CHUNK = [GROUPS, 0, CHUNKS, 0, META];

/** The file with a footer of ours and bytes of ours before it. */
const withFooter = (
  file: Buffer,
  change: (footer: ThriftStruct, end: number) => ThriftStruct,
  more: Buffer = Buffer.alloc(0),
): Buffer => {
  const begin = file.length - 8 - file.readUInt32LE(file.length - 8);
  const footer = formatThriftStruct(change(readThriftStruct(file, begin).fields, begin));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([file.subarray(0, begin), more, footer, length, Buffer.from('PAR1')]);
};

/** The chunk at `path` has its pages there, and no dictionary. */
const withPages = (footer: ThriftStruct, path: readonly number[], begin: bigint): ThriftStruct =>
  changeThrift(changeThrift(footer, [...path, PAGES], setTo(begin)), [...path, WORDS], leaveOut);

/** A page of version 1 without compression; `count` values are stated. */
const makePage = (count: bigint, data: Buffer): Buffer => {
  const field = (id: number, value: ThriftField['value'], type = 5): ThriftField => ({ id, type, value });
  const facts = [field(1, count), field(2, 0n), field(3, 3n), field(4, 3n)];
  const size = BigInt(data.length);
  return Buffer.concat([formatThriftStruct([field(1, 0n), field(2, size), field(3, size), field(5, facts, 12)]), data]);
};

/** One run of a level that is repeated so often: all nulls, in a few bytes. */
const makeRun = (length: bigint, level: number): Buffer => {
  const run = [...formatVarint(2n * length), level];
  return Buffer.from([run.length, 0, 0, 0, ...run]);
};
const formatVarint = (value: bigint): number[] =>
  value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...formatVarint(value >> 7n)];

t.test('members of a Parquet footer that are absent, of another type, negative or too large', async (t) => {
  const [file] = await makeFiles('parquet');
  if (file === undefined) throw new Error('no file');
  const unchanged = withFooter(file, (footer) => footer);
  t.match(await compare(t, unchanged, 'the same footer written anew'), /all of mark leads to day_root/);
  const changes: readonly (readonly [string, (field: ThriftField) => ThriftField | null])[] = [
    ['absent', leaveOut],
    ['negative', setTo(-1n, 6)],
    ['too large', setTo(2n ** 62n, 6)],
    ['one more', (field) => ({ ...field, value: typeof field.value === 'bigint' ? field.value + 1n : field.value })],
    ['a text', setTo(Buffer.from('\x01\x02\x03'), 8)],
    ['a flag', setTo(true, 1)],
    ['a struct', setTo([], 12)],
  ];
  const members = [TYPE, CODEC, VALUES, PAGES, WORDS].map((id) => [...FIRST_CHUNK, id]);
  const schema = [1, 3, 4, 5].map((id) => [2, 1, id]);
  const paths = [...members, FIRST_CHUNK, [GROUPS, 0, ROWS], [GROUPS, 0, CHUNKS], [GROUPS], [2], ...schema];
  for (const path of paths)
    for (const [what, change] of changes)
      await compare(
        t,
        withFooter(file, (footer) => changeThrift(footer, path, change)),
        `${path.join('.')} ${what}`,
      );
});

t.test('counts that a few bytes claim are not believed', async (t) => {
  const [file] = await makeFiles('parquet');
  if (file === undefined) throw new Error('no file');
  const levels = [GROUPS, 0, CHUNKS];
  for (const [what, count, level] of [
    ['a trillion nulls', 2n ** 40n, 0],
    ['more than 32 bits', 2n ** 31n - 1n, 0],
    ['a level that is none', 3n, 7],
  ] as const) {
    const page = makePage(count, makeRun(count, level));
    const spoilt = withFooter(
      file,
      (footer, begin) =>
        // Every column, so that no other one is of another length.
        Array.from({ length: mark.table.columns.length + 2 }, (_, at) => [...levels, at, META]).reduce(
          (found, path) => withPages(changeThrift(found, [...path, VALUES], setTo(count)), path, BigInt(begin)),
          changeThrift(footer, [GROUPS, 0, ROWS], setTo(count)),
        ),
      page,
    );
    t.match(await compare(t, spoilt, what), /hostile cannot be read after row 0/, what);
  }
});

t.test('whatever byte of a file is another one, both report the same', async (t) => {
  let state = 20260110;
  const upTo = (limit: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
  const [file] = await makeFiles('parquet');
  if (file === undefined) throw new Error('no file');
  const footer = file.readUInt32LE(file.length - 8);
  for (let n = 0; n < 200; n += 1) {
    const spoilt = Buffer.from(file);
    const at = n % 2 === 0 ? file.length - 8 - footer + upTo(footer) : upTo(file.length);
    spoilt[at] = [0, 0x7f, 0x80, 0xff, upTo(256), (file[at] ?? 0) ^ (1 << upTo(8))][upTo(6)] as number;
    await compare(t, spoilt, `byte ${at} is ${spoilt[at]}`);
  }
});

t.test('a page that unpacks to more than it states', async (t) => {
  const [file] = await makeFiles('parquet');
  if (file === undefined) throw new Error('no file');
  const packed = zstdCompressSync(Buffer.alloc(2 ** 27));
  const field = (id: number, value: ThriftField['value'], type = 5): ThriftField => ({ id, type, value });
  const facts = [field(1, 1n), field(2, 0n), field(3, 3n), field(4, 3n)];
  const header = [field(1, 0n), field(2, 8n), field(3, BigInt(packed.length)), field(5, facts, 12)];
  const page = Buffer.concat([formatThriftStruct(header), packed]);
  const spoilt = withFooter(file, (footer, begin) => withPages(footer, FIRST_CHUNK, BigInt(begin)), page);
  t.match(await compare(t, spoilt, 'a bomb'), /hostile cannot be read after row 0/);
});

t.test('a reader of the report that goes away ends it without a stack trace', async (t) => {
  writeFileSync(join(FOLDER, 'proof.json'), JSON.stringify(await makeProof(day, { table: 'mark', index: 0 })));
  // More than a pipe holds.
  const words = Array(300).fill('proof.json').join(' ');
  for (const { command, script } of Object.values(VERIFIERS)) {
    const { code, out, err } = await runCommand('sh', ['-c', `'${command}' '${script}' ${words} | head -n 1`], FOLDER);
    t.same([code, out, err], [0, 'proof proof.json\n', ''], script);
  }
});
