// Answers as strangers use them: random rows of a closed day proved over HTTP, tampered answers and files refused by both verifiers (AN-10).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zstdDecompressSync } from 'node:zlib';
import t from 'tap';
import { readLeafRows } from '../../../infra/runtime/questdb/leaf-rows.ts';
import { ANCHORED_TABLES, type AnchoredTable } from '../../../schemas/anchored.ts';
import { formatInstant, parseInstant } from '../../../schemas/instants.ts';
import { READINGS } from '../../../schemas/layers/index.ts';
import { type Asked, DAY, LISTINGS, startAnchored } from '../../support/apps/anchored-fixture.ts';
import { micros } from '../../support/apps/live-fixture.ts';
import { openAnchorChain, recordPosted } from '../../support/days/posted-roots.ts';
import { failedSteps, openVerifiers } from '../../support/days/verifiers.ts';
import { useEngines } from '../../support/engines/engines.ts';

/** Rows proved; 1,000 take about two minutes. */
const ROWS = Number(process.env['PROOF_ROWS'] ?? 200);
const COUNT = 24;
t.setTimeout(900_000);

const engines = await useEngines(t, ['postgres', 'questdb', 'anvil']);
const service = await startAnchored(t, engines, COUNT);
const api = await service.serve();
const chain = await openAnchorChain(engines.endpoints.rpc_url);
const { rows: days } = await service.pool.query<{ day_root: string }>('select day_root from anchor_days');
const root = `0x${days[0]?.day_root ?? ''}` as const;
const posted = await chain.post(await chain.deploy(), DAY, root);
await recordPosted(service.pool, DAY, posted);
const verifiers = openVerifiers(t, service.folder);
const rpc = ['--rpc', engines.endpoints.rpc_url];

type Row = Readonly<Record<string, string | boolean | null>>;
type Leaf = { readonly table: AnchoredTable; readonly row: Row };
const readLeaves = async (table: AnchoredTable, listing: string): Promise<Leaf[]> => {
  const leaves: Leaf[] = [];
  const question = { table, listing, day: DAY, closedAt: micros('2026-01-17T00:00:00.000Z') };
  for await (const batch of readLeafRows(service, question))
    for (const { cells } of batch)
      leaves.push({ table, row: Object.fromEntries(table.columns.map(({ name }, at) => [name, cells[at] ?? null])) });
  return leaves;
};
const leaves: Leaf[] = [];
for (const table of ANCHORED_TABLES)
  for (const { venue, symbol } of LISTINGS) leaves.push(...(await readLeaves(table, `${venue}:${symbol}`)));

/** By its seq, and by its own name where it has one: of a late reading, and of a gap of events, only seq is one. */
const makeQuestions = ({ table, row }: Leaf): Asked[] => {
  const at = String(row[table.order[0] as string]);
  const listing = { venue: String(row['segment']), symbol: String(row['symbol']), layer: table.layer };
  const bySeq = { ...listing, at, seq: String(row['seq']) };
  if (table.dayIncludes === 'end') return row['late'] === true ? [bySeq] : [bySeq, { ...listing, at }];
  if (table.table === 'candles') return [bySeq, { ...listing, at, price_type: String(row['price_type']) }];
  return row['id'] === null ? [bySeq] : [bySeq, { ...listing, at, id: String(row['id']) }];
};

/** The same rows each run. */
const chosen = Array.from({ length: ROWS }, (_, n) => leaves[(n * 7_919 + 13) % leaves.length] as Leaf);
const write = (name: string, answer: unknown): string => {
  writeFileSync(join(service.folder, name), JSON.stringify(answer));
  return name;
};

t.test(
  `${ROWS} rows of ${leaves.length}, proved over HTTP and verified by both verifiers up to the chain`,
  async (t) => {
    const seen = new Set<string>();
    for (const [n, leaf] of chosen.entries()) {
      const questions = makeQuestions(leaf);
      const question = questions[n % questions.length] as Asked;
      const { status, body } = await api.proof(question);
      if (status !== 200) t.fail(`${JSON.stringify(question)}: ${JSON.stringify(body)}`);
      if (JSON.stringify(body['row']) !== JSON.stringify(leaf.row)) t.same(body['row'], leaf.row);
      const { python, node } = await verifiers.run([write('proof.json', body), ...rpc]);
      if (python.code !== 0) t.fail(`${JSON.stringify(question)}: ${python.out}${python.err}`);
      if (node.out !== python.out || node.code !== 0) t.equal(node.out, python.out, 'both print the same');
      seen.add(leaf.table.table);
    }
    t.equal(seen.size, ANCHORED_TABLES.length, `rows of ${[...seen].join(', ')}`);
  },
);

type Members = Record<string, unknown>;
type Tampering = readonly [
  what: string,
  steps: readonly string[],
  change: (answer: Members, other: Members) => unknown,
];
const part = (answer: Members, name: string): Members => answer[name] as Members;
const edit = (text: unknown): string => String(text).replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
const readPath = (answer: Members): string[] => answer['path'] as string[];

const TAMPERINGS: readonly Tampering[] = [
  ['a digit', ['canonical'], (a) => (part(a, 'row')['mark'] = `${part(a, 'row')['mark']}1`)],
  ['`late`', ['canonical'], (a) => (part(a, 'row')['late'] = true)],
  ['a cell emptied', ['canonical'], (a) => (part(a, 'row')['index'] = null)],
  [
    'a digit, also of the text',
    ['leaf_hash'],
    (a) => {
      const { mark } = part(a, 'row');
      part(a, 'row')['mark'] = '7';
      a['canonical'] = String(a['canonical']).replace(`"mark":"${String(mark)}"`, '"mark":"7"');
    },
  ],
  [
    'another row, with its text',
    ['leaf_hash'],
    (a, b) => Object.assign(a, { row: b['row'], canonical: b['canonical'] }),
  ],
  [
    'another row, with text and hash',
    ['path'],
    (a, b) => Object.assign(a, { row: b['row'], canonical: b['canonical'], leaf_hash: b['leaf_hash'] }),
  ],
  ['the hash', ['leaf_hash', 'path'], (a) => (a['leaf_hash'] = edit(a['leaf_hash']))],
  ['wrong index', ['path'], (a) => (a['index'] = Number(a['index']) + 1)],
  ['an index beyond the table', ['path'], (a) => (a['index'] = a['rows'])],
  ['one row more', ['path', 'partition.leaf'], (a) => (a['rows'] = Number(a['rows']) * 2)],
  ['wrong sibling', ['path'], (a) => (readPath(a)[2] = edit(readPath(a)[2]))],
  ['siblings swapped', ['path'], (a) => (a['path'] = [readPath(a)[1], readPath(a)[0], ...readPath(a).slice(2)])],
  ['a sibling dropped', ['path'], (a) => readPath(a).pop()],
  ['a sibling added', ['path'], (a) => readPath(a).push(String(a['day_root']))],
  [
    'root of the table',
    ['path', 'partition.leaf'],
    (a) => (part(a, 'partition')['root'] = edit(part(a, 'partition')['root'])),
  ],
  [
    'leaf of the table',
    ['partition.leaf', 'day_root'],
    (a) => (part(a, 'partition')['leaf'] = edit(part(a, 'partition')['leaf'])),
  ],
  ['place of the table', ['day_root'], (a) => (part(a, 'partition')['index'] = 0)],
  ['sibling of the table', ['day_root'], (a) => (readPath(part(a, 'partition'))[0] = String(a['day_root']))],
  ['other day', ['partition.leaf', 'row day', 'chain root', 'transaction'], (a) => (a['day'] = '2026-01-09')],
  ['other table', ['partition.leaf', 'columns'], (a) => Object.assign(a, { table: 'ticker', layer: 'ticker' })],
  ['other schema_version', ['partition.leaf', 'columns'], (a) => (a['schema_version'] = 2)],
  ['other root of the day', ['day_root', 'chain root', 'transaction'], (a) => (a['day_root'] = edit(a['day_root']))],
  ['other chain value', ['chain root', 'transaction'], (a) => (part(a, 'anchor')['contract'] = otherContract)],
  ['other network', ['chain id'], (a) => (a['network'] = 'eip155:1')],
  ['other block', ['transaction'], (a) => (part(a, 'anchor')['block'] = 1)],
  ['other transaction', ['transaction'], (a) => (part(a, 'anchor')['tx_hash'] = `0x${'1'.repeat(64)}`)],
];
const other = await chain.deploy();
const otherContract = other;
await chain.post(other, DAY, `0x${'2'.repeat(64)}`);

t.test('an answer that was tampered with is refused by the step that it breaks', async (t) => {
  const asked = { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark' };
  const [one, two] = await Promise.all(
    ['00:00:20', '00:00:40'].map((at) => api.proof({ ...asked, at: `${DAY}T${at}Z` })),
  );
  for (const [what, steps, change] of TAMPERINGS) {
    const answer = structuredClone(one?.body) as Members;
    change(answer, structuredClone(two?.body) as Members);
    const { python, node } = await verifiers.run([write('changed.json', answer), ...rpc]);
    t.same([failedSteps(python.out), python.code, node.code], [steps, 1, 1], `${what}: ${python.out}${python.err}`);
    t.equal(node.out, python.out, `${what}: both print the same`);
  }
});

/** The final files of a layer: name in the store and rows. */
const readFiles = async (layer: string) => {
  const { rows } = await service.pool.query<{ key: string; listing: string }>(
    `select object_key as key, venue || ':' || venue_symbol as listing from archive_files
     where layer = $1 and format = 'jsonl' and replaced_at is null order by key`,
    [layer],
  );
  return Promise.all(
    rows.map(async ({ key, listing }) => {
      const text = zstdDecompressSync(await buffer(await service.store.read(key))).toString();
      return { listing, lines: text.trimEnd().split('\n') };
    }),
  );
};
type Files = Awaited<ReturnType<typeof readFiles>>;
const withLines = (files: Files, change: (lines: string[]) => string[]): Files =>
  files.map((file, at) => (at === 0 ? { ...file, lines: change(file.lines) } : file));

t.test('all files of a table with the answer of the day: whole, and tampered with', async (t) => {
  const day = write('day.json', (await api.get(`/v2/anchors/${DAY}`)).body);
  const files = await readFiles('trades');
  const swapped = (lines: string[]): string[] => {
    const [a, b] = [JSON.parse(lines[2] ?? ''), JSON.parse(lines[3] ?? '')] as [Members, Members];
    const [x, y] = [
      { ...b, leaf_index: a['leaf_index'] },
      { ...a, leaf_index: b['leaf_index'] },
    ];
    return lines.toSpliced(2, 2, JSON.stringify(x), JSON.stringify(y));
  };
  const cases: readonly (readonly [string, readonly string[], Files])[] = [
    ['whole', [], files],
    [
      'a digit',
      ['partition.root'],
      withLines(files, (lines) => lines.with(0, lines[0]?.replace('"price":"', '"price":"9') ?? '')),
    ],
    ['rows swapped', ['order', 'partition.root'], withLines(files, swapped)],
    ['a row dropped', ['leaf_index'], withLines(files, (lines) => lines.toSpliced(4, 1))],
    ['a row twice', ['leaf_index'], withLines(files, (lines) => [...lines, lines[0] ?? ''])],
    ['a file missing', ['leaf_index'], files.slice(1)],
  ];
  for (const [what, steps, changed] of cases) {
    const names = changed.map((_, at) => `file-${at}.jsonl`);
    for (const [at, { lines }] of changed.entries())
      writeFileSync(join(service.folder, names[at] as string), `${lines.join('\n')}\n`);
    const { python, node } = await verifiers.run([day, ...names, ...rpc]);
    t.same([failedSteps(python.out), python.code], [steps, steps.length === 0 ? 0 : 1], `${what}: ${python.out}`);
    t.equal(node.out, python.out, `${what}: both print the same`);
  }
});

/** All readings are of the first hour. */
const READ_UNTIL = `${DAY}T01:00:00Z`;
const WINDOW = { from: `${DAY}T00:00:00Z`, to: '2026-01-11T00:00:00Z', number_format: 'string' };
type Item = { readonly venue: string; readonly venue_symbol: string; readonly [member: string]: unknown };
const readItems = async (path: string, asked: object): Promise<Map<string, Item>> => {
  const { status, body } = await api.post(path, { ...WINDOW, ...asked });
  if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
  return new Map((body['items'] as Item[]).map((item) => [`${item.venue}:${item.venue_symbol}`, item]));
};
const listRows = (items: ReadonlyMap<string, Item>, listing: string): Members[] =>
  (items.get(listing)?.['rows'] ?? []) as Members[];
const rowsIn = ({ lines }: Files[number]): Row[] => lines.map((line) => JSON.parse(line) as Row);
const instant = (text: unknown): string | null =>
  typeof text === 'string' ? formatInstant(parseInstant(text) ?? 0) : null;

t.test('items of history and the files of the day agree digit for digit', async (t) => {
  for (const { name, recordName, table, anchored, instants } of READINGS) {
    if (anchored === null) continue;
    const items = await readItems('/v2/snapshots/history', { layers: [name], raw: true, to: READ_UNTIL });
    const columns = ANCHORED_TABLES.find((one) => one.table === table)?.columns ?? [];
    for (const file of await readFiles(recordName)) {
      const layers = items.get(file.listing)?.['layers'] as Record<string, { rows: Members[] }>;
      const shown = new Map(layers[name]?.rows.map((row) => [`${row['received_at']} ${row['late'] ?? false}`, row]));
      const present = rowsIn(file).filter(({ status }) => status === 'present');
      for (const row of present) {
        const raw = shown.get(`${instant(row['received_at'])} ${row['late']}`);
        const values = (raw?.['values'] ?? {}) as Record<string, string>;
        const figures = columns.filter(
          ({ kind, stored }) => stored !== null && (kind === 'figure' || kind === 'integer'),
        );
        const same = figures.every(
          ({ name: column, stored }) => String(values[column] ?? values[stored ?? '']) === row[column],
        );
        const times = instants.every((one) => (raw?.['instants'] as Members | undefined)?.[one] === instant(row[one]));
        if (!same || !times || raw?.['venue_ts'] !== instant(row['venue_ts']))
          t.same(raw, row, `${name} of ${file.listing}`);
      }
      t.equal(
        [...shown.values()].filter(({ status }) => status === 'present').length,
        present.length,
        `${name}: every row`,
      );
    }
  }
});

t.test('so do candles and liquidations', async (t) => {
  const candles = await readFiles('candles');
  for (const price_type of ['trade', 'mark', 'index']) {
    const items = await readItems('/v2/candles', { timeframe: '1m', price_type });
    for (const file of candles) {
      const shown = new Map(listRows(items, file.listing).map((row) => [row['open_time'], row]));
      for (const row of rowsIn(file).filter((one) => one['price_type'] === price_type)) {
        const item = shown.get(instant(row['open_time'])) ?? {};
        const seen = (name: string): string | null => (item[name] == null ? null : String(item[name]));
        for (const name of ['status', 'open', 'high', 'low', 'close', 'volume', 'turnover', 'trades'])
          if (seen(name) !== row[name])
            t.equal(seen(name), row[name], `${name} of ${file.listing} at ${row['open_time']}`);
      }
    }
  }
  const items = await readItems('/v2/liquidations', {});
  for (const file of await readFiles('liquidation')) {
    const shown = new Map(listRows(items, file.listing).map((row) => [row['id'], row]));
    const counted = rowsIn(file).filter(({ late, status }) => late === false && status === 'present');
    for (const row of counted)
      for (const name of ['side', 'price', 'price_kind', 'quantity'])
        if (shown.get(row['id'])?.[name] !== row[name])
          t.equal(shown.get(row['id'])?.[name], row[name], `${name} of ${row['id']}`);
    t.equal(shown.size, counted.length, `liquidations of ${file.listing}`);
  }
});
