// Both verifiers of anchored data (AN-10) offline: a small day made by the product's own modules holds, each tampering is refused with its step.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ANCHORED_TABLES, formatPartitionLeaf } from '../../../schemas/anchored.ts';
import { createTree } from '../../../schemas/merkle/tree.ts';
import {
  type AnchoredRows,
  buildDay,
  DAY,
  FILE_FORMATS,
  type FileFormat,
  type FileRow,
  fileBytes,
  type ListingFile,
  listingFiles,
  makeDayAnswer,
  makeProof,
  writeTable,
} from '../../support/days/anchored-day.ts';
import {
  type Alike,
  failedSteps,
  openVerifiers,
  runBoth,
  runCommand,
  VERIFIERS,
} from '../../support/days/verifiers.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'verify-'));
t.teardown(() => rmSync(FOLDER, { recursive: true, force: true }));
const CONTRACT = JSON.parse(
  readFileSync(new URL('../../../infra/contract/AnchorRoots.json', import.meta.url), 'utf8'),
) as { deployedBytecode: string };

const day = buildDay();
const findPartition = (name: string): AnchoredRows =>
  day.partitions.find(({ table }) => table.table === name) as AnchoredRows;
const write = (name: string, content: unknown): string => {
  writeFileSync(join(FOLDER, name), typeof content === 'string' ? content : JSON.stringify(content));
  return name;
};

const verifiers = openVerifiers(t, FOLDER);
/** Passes both the same arguments; requires the same output and exit code `code`; returns the output. */
const verify = async (t: Test, words: readonly string[], code: number): Promise<string> =>
  compare(t, await verifiers.run(words), code);
/** As `verify`, by the command of a stranger. */
const verifyByCommand = async (t: Test, words: readonly string[], code: number): Promise<string> =>
  compare(t, await runBoth(words, FOLDER), code);
const compare = (t: Test, { python, node }: Alike, code: number): string => {
  t.equal(node.out + node.err, python.out + python.err, 'both print the same');
  t.same([python.code, node.code], [code, code], `exit code ${code}`);
  return python.out + python.err;
};
const requireSteps = async (
  t: Test,
  words: readonly string[],
  { steps, reason }: { readonly steps: readonly string[]; readonly reason: RegExp },
): Promise<void> => {
  const text = await verify(t, words, 1);
  t.same(failedSteps(text), steps, text.replaceAll('\n', ' | '));
  t.match(text, reason);
  t.match(text, `NOT VERIFIED: ${steps.join(', ')}\n`);
};
t.setTimeout(900_000);

t.test('the scripts run on what they promise and hold the hash of the committed contract', async (t) => {
  const python = readFileSync(VERIFIERS.python.script, 'utf8');
  const node = readFileSync(VERIFIERS.node.script, 'utf8');
  const code = createHash('sha256')
    .update(Buffer.from(CONTRACT.deployedBytecode.slice(2), 'hex'))
    .digest('hex');
  for (const text of [python, node]) t.match(text, `CODE_SHA256 = '${code}'`);
  const imports = [...node.matchAll(/^import .* from '(.*)';$/gm)].map(([, from]) => from as string);
  t.ok(imports.length > 0 && imports.every((from) => from.startsWith('node:')), 'Node itself and nothing else');
  const grammar = 'import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))';
  const parsed = await runCommand('python3', ['-c', grammar, VERIFIERS.python.script], FOLDER);
  t.same(parsed, { code: 0, out: '', err: '' }, 'the grammar of Python 3.9');
  const lone =
    'import sys; sys.path.insert(0, sys.argv[1]); import verify; ' +
    'print(*[m for m in sys.modules if getattr(sys.modules[m], "__file__", None) and "site-packages" in sys.modules[m].__file__])';
  t.equal(
    (await runCommand('python3', ['-S', '-B', '-c', lone, join(VERIFIERS.python.script, '..')], FOLDER)).out,
    '\n',
  );
});

t.test('every row of the day by one process, and fifty by commands', async (t) => {
  const names: string[] = [];
  for (const { table, rows } of day.partitions)
    for (const index of rows.keys())
      names.push(write(`${table.table}-${index}.json`, await makeProof(day, { table: table.table, index })));
  t.same(
    day.partitions.map(({ table }) => table.table),
    ANCHORED_TABLES.map(({ table }) => table),
    'every table',
  );
  const text = await verify(t, names, 0);
  t.equal(text.match(/^Only the offline part was checked/gm)?.length, names.length);
  t.equal(text.match(/^ok {3}/gm)?.length, 9 * names.length);
  const chosen = names.filter((_, at) => at % Math.floor(names.length / 50) === 0);
  for (let at = 0; at < chosen.length; at += 5) {
    const report = await verifyByCommand(t, chosen.slice(at, at + 5), 0);
    t.match(report, /^Only the offline part was checked: row \d+ of \d+ of \w+ leads to day_root [0-9a-f]{64}\. /m);
    t.match(report, /^skip chain id: [^\n]*\nskip contract code: [^\n]*\nskip chain root: [^\n]*\nskip transaction: /m);
  }
});

t.test('every table in every format', async (t) => {
  const answer = write('day.json', makeDayAnswer(day));
  for (const partition of day.partitions) {
    for (const format of FILE_FORMATS) {
      const names = await writeTable(FOLDER, listingFiles(partition), format);
      const text = await verify(t, [answer, ...names.reverse()], 0);
      t.match(text, `all of ${partition.table.table} leads to day_root ${day.root}`);
    }
  }
  const mixed = listingFiles(findPartition('candles')).map(async (file, at) => {
    const format = FILE_FORMATS[at % FILE_FORMATS.length] as FileFormat;
    writeFileSync(join(FOLDER, `mixed-${at}`), await fileBytes(file, format));
    return `mixed-${at}`;
  });
  await verify(t, [answer, ...(await Promise.all(mixed))], 0);
});

type Answer = {
  row: Record<string, unknown>;
  canonical: string;
  leaf_hash: string;
  path: string[];
  partition: { root: string; leaf: string; index: number; count: number; path: string[] };
  [member: string]: unknown;
};
const cut = (hash: string): string => hash.slice(2);
const flip = (hash: string): string => `${hash.startsWith('0') ? '1' : '0'}${hash.slice(1)}`;
const sha = (text: string): string => createHash('sha256').update(`\0${text}`).digest('hex');
type Tampering = readonly [what: string, steps: readonly string[], reason: RegExp, change: (answer: Answer) => unknown];

const PROOF_TAMPERINGS: readonly Tampering[] = [
  [
    'a digit of the row',
    ['canonical'],
    /another canonical text\n {5}expected \{.*\n {5}found {4}\{/,
    (a) => (a.row['last'] = '1'),
  ],
  ['`late` of the row', ['canonical'], /another canonical text/, (a) => (a.row['late'] = !a.row['late'])],
  ['null becomes a text', ['canonical'], /another canonical text/, (a) => (a.row['gap_cause'] = '')],
  ['a number in the row', ['canonical'], /seq is not a text, a boolean or null/, (a) => (a.row['seq'] = 3)],
  [
    'a digit of row and canonical',
    ['leaf_hash'],
    /the text has another hash/,
    (a) => {
      a.canonical = a.canonical.replace('"late":false', '"late":true');
      a.row['late'] = true;
    },
  ],
  [
    'another row that was hashed again',
    ['path'],
    /leads to another root/,
    (a) => {
      a.canonical = a.canonical.replace('"late":false', '"late":true');
      a.row['late'] = true;
      a.leaf_hash = sha(a.canonical);
    },
  ],
  [
    'a row with its own tree',
    ['partition.leaf'],
    /the text \{"day":.*\} has another hash/,
    (a) => {
      Object.assign(a, { index: 0, rows: 1, path: [] });
      a.partition.root = a.leaf_hash;
    },
  ],
  [
    'a partition of its own',
    ['day_root'],
    /leads to another root/,
    (a) => {
      Object.assign(a, { index: 0, rows: 1, path: [] });
      a.partition.root = a.leaf_hash;
      a.partition.leaf = sha(
        `{"day":"2026-01-10","root":"${a.leaf_hash}","rows":1,"schema_version":1,"table":"ticker"}`,
      );
    },
  ],
  [
    'white space in canonical',
    ['canonical', 'leaf_hash'],
    /another canonical text/,
    (a) => (a.canonical = a.canonical.replace(',', ', ')),
  ],
  [
    'order of the members of canonical',
    ['canonical', 'leaf_hash'],
    /another canonical text/,
    (a) => {
      a.canonical = a.canonical.replace(/^\{(.*),("window_start":.*)\}$/, '{$2,$1}');
    },
  ],
  [
    'an escape in canonical',
    ['canonical', 'leaf_hash'],
    /another canonical text/,
    (a) => (a.canonical = a.canonical.replace('"late"', '"l\\u0061te"')),
  ],
  ['hash of the leaf', ['leaf_hash', 'path'], /the text has another hash/, (a) => (a.leaf_hash = flip(a.leaf_hash))],
  ['index', ['path'], /leads to another root/, (a) => (a['index'] = 16)],
  ['index beyond the rows', ['path'], /leaf 102 is not in a tree of 102 leaves/, (a) => (a['index'] = 102)],
  ['a sibling', ['path'], /leads to another root/, (a) => (a.path[2] = flip(a.path[2] as string))],
  [
    'two siblings swapped',
    ['path'],
    /leads to another root/,
    (a) => a.path.splice(0, 2, a.path[1] as string, a.path[0] as string),
  ],
  ['a sibling dropped', ['path'], /shorter than the tree is high/, (a) => a.path.pop()],
  ['a sibling added', ['path'], /longer than the tree is high/, (a) => a.path.push(a.leaf_hash)],
  [
    'a sibling of 31 bytes',
    ['path'],
    /path\[1\] is not 64 lower-case hex digits \(32 bytes\)/,
    (a) => (a.path[1] = cut(a.path[1] as string)),
  ],
  ['a sibling of no bytes', ['path'], /path\[0\] is not 64/, (a) => (a.path[0] = '')],
  [
    'a hash with 0x',
    ['path', 'partition.leaf'],
    /partition\.root is not 64/,
    (a) => (a.partition.root = `0x${a.partition.root}`),
  ],
  ['a hash in upper case', ['path'], /path\[0\] is not 64/, (a) => (a.path[0] = `A${(a.path[0] as string).slice(1)}`)],
  [
    'root of the partition',
    ['path', 'partition.leaf'],
    /another hash/,
    (a) => (a.partition.root = flip(a.partition.root)),
  ],
  [
    'leaf of the partition',
    ['partition.leaf', 'day_root'],
    /another hash/,
    (a) => (a.partition.leaf = flip(a.partition.leaf)),
  ],
  ['rows', ['partition.leaf'], /"rows":95,/, (a) => (a['rows'] = 95)],
  ['index of the partition', ['day_root'], /leads to another root/, (a) => (a.partition.index = 6)],
  ['count of the partitions', ['day_root'], /longer than the tree is high/, (a) => (a.partition.count = 8)],
  [
    'a sibling of the partition',
    ['day_root'],
    /leads to another root/,
    (a) => (a.partition.path[0] = flip(a.partition.path[0] as string)),
  ],
  [
    'a sibling of the partition of 31 bytes',
    ['day_root'],
    /partition\.path\[0\] is not 64/,
    (a) => (a.partition.path[0] = cut(a.partition.path[0] as string)),
  ],
  ['the day root', ['day_root'], /leads to another root/, (a) => (a['day_root'] = flip(a['day_root'] as string))],
  [
    'another day',
    ['partition.leaf', 'row day'],
    /window_end is not in the day\n {5}expected after 2026-01-11T00/,
    (a) => (a['day'] = '2026-01-11'),
  ],
  [
    'another table',
    ['partition.leaf', 'columns'],
    /layer is not that of the table\n {5}expected mark\n {5}found {4}ticker/,
    (a) => (a['table'] = 'mark'),
  ],
  [
    'a table that is none',
    ['partition.leaf', 'row day', 'columns'],
    /none of the anchored ones/,
    (a) => (a['table'] = 'books'),
  ],
  ['another layer', ['columns'], /layer is not that of the table/, (a) => (a['layer'] = 'mark')],
  [
    'another schema_version',
    ['partition.leaf', 'columns'],
    /no other schema_version\n {5}expected 1\n {5}found {4}2/,
    (a) => (a['schema_version'] = 2),
  ],
  ['a column dropped', ['canonical', 'columns'], /venue_ts is missing/, (a) => delete a.row['venue_ts']],
  ['a column added', ['canonical', 'columns'], /note is not a column of ticker/, (a) => (a.row['note'] = null)],
  [
    'a column of Object',
    ['canonical', 'columns'],
    /__proto__ is not a column of ticker/,
    (a) => Object.defineProperty(a.row, '__proto__', { value: null, enumerable: true }),
  ],
  ['no listing', ['canonical', 'row day'], /symbol is not a text/, (a) => (a.row['symbol'] = null)],
  [
    'an instant of three digits',
    ['canonical', 'row day'],
    /not an instant with six digits/,
    (a) => (a.row['window_end'] = '2026-01-10T23:44:00.000Z'),
  ],
  [
    'a lone surrogate',
    ['text', 'canonical'],
    /row\.symbol has a lone surrogate/,
    (a) => (a.row['symbol'] = 'BTC\ud83d'),
  ],
  [
    'a lone surrogate in canonical',
    ['text', 'canonical', 'leaf_hash'],
    /the text has a lone surrogate/,
    (a) => (a.canonical = '{"a":"\udc00"}'),
  ],
  [
    'control characters that steer a terminal',
    ['canonical', 'leaf_hash'],
    /found {4}\{/,
    (a) => (a.canonical = '\u001b[2J\u009b1m'),
  ],
];

t.test('a proof that was tampered with is refused by the step that it breaks', async (t) => {
  const index = 17;
  for (const [at, [what, steps, reason, change]] of PROOF_TAMPERINGS.entries()) {
    const answer = (await makeProof(day, { table: 'ticker', index })) as Answer;
    change(answer);
    await t.test(what, (t) => requireSteps(t, [write(`proof-${at}.json`, answer)], { steps, reason }));
  }
  const text = JSON.stringify(await makeProof(day, { table: 'ticker', index }));
  const twice = (member: string): string => text.replace(`"${member}":`, `"${member}":"x","${member}":`);
  await verifyByCommand(t, ['proof-0.json'], 1);
  await requireSteps(t, [write('twice.json', twice('seq'))], { steps: ['text'], reason: /row\.seq appears twice/ });
  await requireSteps(t, [write('twice.json', twice('day_root'))], {
    steps: ['text'],
    reason: / day_root appears twice/,
  });
  t.notMatch(
    await verify(t, [write('esc.json', text.replace('"canonical":"', '"canonical":"\\u001b[2J'))], 1),
    '\u001b',
  );
});

/** Members of every level taken out, null, and of another kind: number for text, text for number. */
const spoilMembers = (value: unknown): unknown[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const { [name]: _, ...without } = value as Record<string, unknown>;
    const others = [null, typeof member === 'string' ? 5 : 'x', ...spoilMembers(member)];
    return [without, ...others.map((other) => (Array.isArray(value) ? [other] : { ...value, [name]: other }))];
  });
};

t.test('whatever member is spoilt, a proof or a day is verified or refused by a step', async (t) => {
  const proof = await makeProof(day, { table: 'mark', index: 0 });
  const answers = [...spoilMembers(proof), ...spoilMembers(makeDayAnswer(day))].filter(
    (one) => Object.hasOwn(one as object, 'row') || Object.hasOwn(one as object, 'partitions'),
  );
  for (const [at, answer] of answers.entries()) {
    const isProof = Object.hasOwn(answer as object, 'row');
    const words = [write(`spoilt-${at}.json`, answer), ...(isProof ? [] : ['proof-0.json'])];
    const { python, node } = await verifiers.run(words);
    t.equal(node.out + node.err, python.out + python.err, JSON.stringify(answer).slice(0, 400));
    t.same([python.code, node.code], isProof && /^Only the offline/m.test(node.out) ? [0, 0] : [1, 1]);
    if (node.code === 1) t.match(node.out, /^FAIL [\s\S]*^NOT VERIFIED: /m);
  }
  const form = { steps: ['form'] };
  const { anchor: _, ...noAnchor } = proof;
  const cases: readonly (readonly [RegExp, unknown])[] = [
    [/ anchor is missing or is not a object/, noAnchor],
    [/ index is missing or is not a whole number/, { ...proof, index: -1 }],
    [/ rows is missing or is not a whole number/, { ...proof, rows: 2 ** 53 }],
    [/ rows is missing/, JSON.stringify(proof).replace(/"rows":\d+/, '"rows":1.0')],
    [/ path is missing or is not a list of texts/, { ...proof, path: [1] }],
    [/ day is not a date YYYY-MM-DD/, { ...proof, day: '2026-02-30' }],
    [/ partition\.path is missing/, { ...proof, partition: { ...(proof['partition'] as object), path: null } }],
  ];
  for (const [reason, answer] of cases) await requireSteps(t, [write('form.json', answer)], { ...form, reason });
  const oneTable = { ...makeDayAnswer(day), partitions: [{ table: 'mark' }] };
  const reason = / partitions\[0\]\.rows is missing/;
  await requireSteps(t, [write('rows.json', oneTable), 'form.json'], { ...form, reason });
});

t.test('a batch fails when one of its proofs does', async (t) => {
  const good = await makeProof(day, { table: 'mark', index: 3 });
  const names = [write('a.json', good), write('b.json', { ...good, index: 4 }), write('c.json', good)];
  const text = await verify(t, names, 1);
  t.equal(text.match(/^Only the offline part/gm)?.length, 2);
  t.match(text, /proof b\.json[\s\S]*NOT VERIFIED: path\nproof c\.json/);
});

type Files = ListingFile[];
type FileTampering = readonly [what: string, steps: readonly string[], reason: RegExp, change: (files: Files) => Files];
const TABLE = 'trades';
const columns = findPartition(TABLE).table.columns.map(({ name }) => name);
const place = (name: string): number => [...columns, 'recorded_at', 'leaf_index'].indexOf(name);
const edit = (files: Files, file: number, change: (rows: FileRow[]) => FileRow[]): Files =>
  files.map((one, at) => (at === file ? { ...one, rows: change([...one.rows]) } : one));
const set = (row: FileRow, cells: Readonly<Record<string, string | number | boolean | null>>): FileRow =>
  row.map(
    (cell, at) =>
      Object.entries(cells).find(([name]) => place(name) === at)?.[1] ??
      (Object.keys(cells).some((name) => place(name) === at) ? null : cell),
  );
const ROOT = 'partition.root';

const FILE_TAMPERINGS: readonly FileTampering[] = [
  [
    'a cell',
    [ROOT],
    /the rows have another root/,
    (f) => edit(f, 2, (r) => r.with(3, set(r[3] as FileRow, { price: '1' }))),
  ],
  [
    '`late`',
    [ROOT],
    /the rows have another root/,
    (f) => edit(f, 0, (r) => r.with(0, set(r[0] as FileRow, { late: true }))),
  ],
  [
    'a cell emptied',
    [ROOT],
    /the rows have another root/,
    (f) => edit(f, 1, (r) => r.with(1, set(r[1] as FileRow, { side: null }))),
  ],
  [
    'another listing',
    ['listings', ROOT],
    /rows of binance:BTCUSDT are not together/,
    (f) => edit(f, 0, (r) => r.with(4, set(r[4] as FileRow, { symbol: 'BTCUSDC' }))),
  ],
  [
    'rows swapped with their index',
    ['order', ROOT],
    /is not after the row before it/,
    (f) =>
      edit(f, 1, (r) => {
        const [a, b] = [r[2] as FileRow, r[4] as FileRow];
        return r
          .with(2, set(b, { leaf_index: a.at(-1) as number }))
          .with(4, set(a, { leaf_index: b.at(-1) as number }));
      }),
  ],
  [
    'a row dropped',
    ['leaf_index'],
    /leaf_index 5 is missing\n {5}expected 114 rows\n {5}found {4}113 rows/,
    (f) => edit(f, 0, (r) => r.toSpliced(5, 1)),
  ],
  ['the last row dropped', ['leaf_index'], /leaf_index 113 is missing/, (f) => edit(f, 5, (r) => r.slice(0, -1))],
  [
    'a row dropped, the others counted again',
    ['leaf_index'],
    /leaf_index 113 is missing/,
    (f) =>
      f.map((file, at) => ({
        ...file,
        rows: (at === 0 ? file.rows.slice(1) : file.rows).map((row) =>
          set(row, { leaf_index: Number(row.at(-1)) - 1 }),
        ),
      })),
  ],
  [
    'a row twice',
    ['leaf_index'],
    /leaf_index 7 appears twice, in 0\./,
    (f) => edit(f, 0, (r) => r.toSpliced(7, 0, r[7] as FileRow)),
  ],
  [
    'a row added',
    ['leaf_index'],
    /leaf_index 114 is beyond the partition/,
    (f) =>
      edit(f, 5, (r) => [
        ...r,
        set(r.at(-1) as FileRow, { leaf_index: 114, seq: '19', received_at: '2026-01-10T00:59:00.000000Z' }),
      ]),
  ],
  [
    'a hole of leaf_index',
    ['leaf_index'],
    /leaf_index 113 is missing/,
    (f) => edit(f, 5, (r) => r.with(-1, set(r.at(-1) as FileRow, { leaf_index: 999 }))),
  ],
  [
    'a leaf_index emptied',
    ['leaf_index'],
    /row 3 of 4\.\S+ has no leaf_index: the file is not final/,
    (f) => edit(f, 4, (r) => r.with(2, set(r[2] as FileRow, { leaf_index: null }))),
  ],
  [
    'a file missing',
    ['leaf_index'],
    /leaf_index 38 is missing\n {5}expected 114 rows\n {5}found {4}95 rows/,
    (f) => f.toSpliced(2, 1),
  ],
  ['a file twice', ['leaf_index'], /leaf_index 19 appears twice/, (f) => [...f, f[1] as ListingFile]],
  [
    'a row of the next day',
    ['row day', ROOT],
    /row 19 of 3\.\S+: received_at is not in the day/,
    (f) => edit(f, 3, (r) => r.with(18, set(r[18] as FileRow, { received_at: '2026-01-11T00:00:00.000000Z' }))),
  ],
  [
    'listings in another order',
    ['listings', ROOT],
    /the listings do not ascend/,
    (f) => {
      const shuffled = f.toReversed().flatMap(({ rows }) => rows);
      return [{ ...(f[0] as ListingFile), rows: shuffled.map((row, at) => set(row, { leaf_index: at })) }];
    },
  ],
  [
    'a listing in two parts',
    ['listings', ROOT],
    /are not together/,
    (f) => {
      const rows = f.flatMap(({ rows }) => rows);
      const moved = [...rows.slice(5), ...rows.slice(0, 5)];
      return [{ ...(f[0] as ListingFile), rows: moved.map((row, at) => set(row, { leaf_index: at })) }];
    },
  ],
];

t.test('files that were tampered with are refused by the step that they break, in every format', async (t) => {
  const answer = write('day.json', makeDayAnswer(day));
  for (const [at, [what, steps, reason, change]] of FILE_TAMPERINGS.entries()) {
    const format = FILE_FORMATS[at % FILE_FORMATS.length] as FileFormat;
    const files = change([...listingFiles(findPartition(TABLE))]);
    const names = files.map((_, at) => `${at}.${format}`);
    for (const [at, file] of files.entries())
      writeFileSync(join(FOLDER, names[at] as string), await fileBytes(file, format));
    await t.test(`${what} (${format})`, (t) => requireSteps(t, [answer, ...names], { steps, reason }));
  }
});

t.test('files that cannot be read, and files of other tables', async (t) => {
  const answer = write('day.json', makeDayAnswer(day));
  const files = listingFiles(findPartition(TABLE));
  const bytes = async (format: FileFormat): Promise<Buffer> => fileBytes(files[0] as ListingFile, format);
  const refuse = async (name: string, data: Buffer, reason: RegExp): Promise<void> => {
    writeFileSync(join(FOLDER, name), data);
    await requireSteps(t, [answer, name], { steps: ['files'], reason });
  };
  for (const format of FILE_FORMATS.filter((format) => format.endsWith('.zst') || format === 'parquet')) {
    const whole = await bytes(format);
    await refuse(`half.${format}`, whole.subarray(0, whole.length / 2), /half\.\S+ cannot be read after row 0/);
    await refuse(`none.${format}`, whole.subarray(0, 4), /none\.\S+ cannot be read after row 0/);
  }
  await refuse('empty.csv', Buffer.alloc(0), /the columns of empty\.csv are those of no table/);
  await refuse('letter.txt', Buffer.from('dear reader\n'), /the columns of letter\.txt are those of no table/);
  await refuse(
    'short.csv',
    Buffer.concat([await bytes('csv'), Buffer.from('a,b\n')]),
    /short\.csv cannot be read after row 19/,
  );
  await refuse(
    'quote.csv',
    Buffer.concat([await bytes('csv'), Buffer.from('"a\n')]),
    /quote\.csv cannot be read after row 19/,
  );
  await refuse(
    'bytes.csv',
    Buffer.concat([await bytes('csv'), Buffer.from([255, 10])]),
    /bytes\.csv cannot be read after row 19/,
  );
  const lines = (await bytes('jsonl')).toString();
  const line = lines.slice(lines.lastIndexOf('\n', lines.length - 2) + 1);
  const otherLines = {
    line: '{}\n',
    more: line.replace('{', '{"more":"1",'),
    less: line.replace(/"seq":"\d+",?/, ''),
    named: line.replace('"seq":', '"sequence":'),
    twice: line.replace(/"seq":"\d+"/, '$&,$&'),
  };
  for (const [name, end] of Object.entries(otherLines)) {
    t.not(end, line, name);
    const reason = new RegExp(`${name}\\.jsonl cannot be read after row 19`);
    await refuse(`${name}.jsonl`, Buffer.from(lines + end), reason);
  }
  await refuse(
    'json.jsonl',
    Buffer.concat([await bytes('jsonl'), Buffer.from('[\n')]),
    /json\.jsonl cannot be read after row 19/,
  );
  const number = lines.replace('"seq":"0"', '"seq":0');
  await refuse('number.jsonl', Buffer.from(number), /row 2 of number\.jsonl: seq is not a text, a boolean or null/);
  const other = await writeTable(FOLDER, listingFiles(findPartition('mark')), 'parquet');
  const own = await writeTable(FOLDER, files, 'csv');
  await requireSteps(t, [answer, ...own, other[0] as string], {
    steps: ['files'],
    reason: /is of another table\n {5}expected trades\n {5}found {4}mark/,
  });
});

type Day = { day: string; day_root: string; schema_version: number; partitions: Record<string, string | number>[] };
const DAY_TAMPERINGS: readonly (readonly [string, readonly string[], RegExp, (answer: Day) => unknown])[] = [
  [
    'root of the partition',
    [ROOT, 'partition.leaf', 'day_root'],
    /the rows have another root/,
    (a) => Object.assign(a.partitions.at(-1) as object, { root: '0'.repeat(64) }),
  ],
  [
    'leaf of the partition',
    ['partition.leaf', 'day_root'],
    /another hash/,
    (a) => Object.assign(a.partitions.at(-1) as object, { leaf: '0'.repeat(64) }),
  ],
  [
    'leaf of another partition',
    ['day_root'],
    /the text \{.*"table":"mark"\} has another hash/,
    (a) => Object.assign(a.partitions[4] as object, { leaf: '0'.repeat(64) }),
  ],
  [
    'rows',
    ['leaf_index', 'partition.leaf', 'day_root'],
    /expected 115 rows/,
    (a) => Object.assign(a.partitions.at(-1) as object, { rows: 115 }),
  ],
  [
    'rows of another partition',
    ['day_root'],
    /another hash/,
    (a) => Object.assign(a.partitions[0] as object, { rows: 1 }),
  ],
  [
    'index',
    ['day_root'],
    /the index of trades\n {5}expected 7/,
    (a) => Object.assign(a.partitions.at(-1) as object, { index: 7 }),
  ],
  ['a partition dropped', ['day_root'], /the index of candles/, (a) => a.partitions.shift()],
  [
    'the last other partition dropped',
    ['day_root'],
    /the leaves have another root/,
    (a) => {
      a.partitions.splice(-2, 1);
      Object.assign(a.partitions.at(-1) as object, { index: 7 });
    },
  ],
  [
    'the partition of the files dropped',
    ['files', 'day_root'],
    /the day has not one partition trades/,
    (a) => a.partitions.pop(),
  ],
  ['partitions swapped', ['day_root'], /the tables do not ascend/, (a) => a.partitions.reverse()],
  ['the day root', ['day_root'], /the leaves have another root/, (a) => (a.day_root = 'f'.repeat(64))],
  ['another day', ['row day', 'partition.leaf', 'day_root'], /not in the day/, (a) => (a.day = '2026-01-09')],
  ['another schema_version', ['files', 'day_root'], /no other schema_version/, (a) => (a.schema_version = 2)],
];

t.test('a partition without rows is none, whatever its root', async (t) => {
  const answer = makeDayAnswer(day) as unknown as Day;
  const last = answer.partitions.at(-1) as Record<string, string | number>;
  last['rows'] = 0;
  last['leaf'] = sha(formatPartitionLeaf({ day: DAY, table: TABLE, rows: 0, root: last['root'] as string }));
  const tree = createTree();
  for (const { leaf } of answer.partitions) tree.append(Buffer.from(leaf as string, 'hex'));
  answer.day_root = tree.root()?.toString('hex') ?? '';
  const [file] = listingFiles(findPartition(TABLE));
  writeFileSync(join(FOLDER, 'none.csv'), await fileBytes({ ...(file as ListingFile), rows: [] }, 'csv'));
  await requireSteps(t, [write('none.json', answer), 'none.csv'], {
    steps: ['leaf_index'],
    reason: /the partition has no rows/,
  });
});

t.test('a day answer that was tampered with is refused by the step that it breaks', async (t) => {
  const names = await writeTable(FOLDER, listingFiles(findPartition(TABLE)), 'parquet');
  for (const [what, steps, reason, change] of DAY_TAMPERINGS) {
    const answer = makeDayAnswer(day) as unknown as Day;
    change(answer);
    await t.test(what, (t) => requireSteps(t, [write('changed.json', answer), ...names], { steps, reason }));
  }
});

t.test('--help prints the usage', async (t) => {
  for (const words of [['--help'], ['proof.json', '-h']])
    t.match(await verify(t, words, 0), /^usage: verify PROOF[^\n]+\n {7}verify DAY[^\n]+\n$/);
});

t.test('arguments and files that cannot be used end with 2 and the usage', async (t) => {
  const proof = await makeProof(day, { table: 'mark', index: 0 });
  const proofFile = write('proof.json', proof);
  const dayFile = write('day.json', makeDayAnswer(day));
  const cases: readonly (readonly [RegExp, ...string[]])[] = [
    [/^no file is given\nusage: verify PROOF/],
    [/^absent\.json cannot be opened/, 'absent.json'],
    [/^\. cannot be opened/, '.'],
    [/^absent\.csv cannot be opened/, dayFile, 'absent.csv'],
    [/^--rpc takes one URL/, proofFile, '--rpc'],
    [/^--rpc takes an http or https URL/, proofFile, '--rpc', 'localhost'],
    [/^--fast is not an option/, '--fast', proofFile],
    [/^the files of a table are missing/, dayFile],
    [/^day\.json is an answer for a day: it comes first/, proofFile, dayFile],
    [/^text\.json is not JSON/, write('text.json', 'PAR1')],
    [/^deep\.json is not JSON/, write('deep.json', `{"row":${'['.repeat(101)}${']'.repeat(101)}}`)],
    [/^comma\.json is not JSON/, write('comma.json', '{"row":{},}')],
    [/^nan\.json is not JSON/, write('nan.json', '{"row":NaN}')],
    [/^list\.json is neither a proof answer/, write('list.json', [])],
    [/^error\.json is neither a proof answer/, write('error.json', { error: { code: 'NOT_FOUND' } })],
    [/^errors\.json is neither a proof answer/, write('errors.json', { errors: [{ code: '\u001b[2J' }] })],
    [
      /^refusal\.json is a refusal of the service \(ANCHOR_NOT_FOUND\), not an answer to verify\n/,
      write('refusal.json', { errors: [{ code: 'ANCHOR_NOT_FOUND', message: '"2026-01-10" has no root.' }] }),
    ],
  ];
  await verifyByCommand(t, ['absent.json'], 2);
  for (const [reason, ...words] of cases) {
    const text = await verify(t, words, 2);
    t.match(text, reason);
    t.match(text, /\nusage: verify PROOF\.json\.\.\. \[--rpc URL\]\n {7}verify DAY\.json FILE\.\.\. \[--rpc URL\]\n$/);
  }
});
