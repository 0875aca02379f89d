// Rows as NDJSON, CSV and Parquet from one real answer: the same rows, the same hash, the same limits (N-10, N-14, N-15, H-08).
import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet';
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { writeRows } from '../../../api/data-app/row-formats.ts';
import type { RowGroup } from '../../../api/history/row-groups.ts';
import { findEarliest, keepSettledSample } from '../../../api/history/settled-sample.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { makeGapRow, makeReadingRow } from '../../../processors/task/rows.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import { makeFigure } from '../../../schemas/json.ts';
import type { Micros } from '../../../schemas/records.ts';
import { hashSettledItems } from '../../../schemas/settled-items.ts';
import type { Row } from '../../../schemas/topics.ts';
import {
  Feed,
  LISTED,
  listing,
  listingValues,
  micros,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['questdb', 'postgres']);
const { history, write } = await openTestStore(t, engines);

const WINDOW: Micros = 10_000_000;
const ROWS = 30_000;
const END = micros('2026-01-15T11:00:00.000Z');
const START = END - ROWS * WINDOW;

/** Every fiftieth window is a gap; figures that no double can give back among them. */
const storedRow = (index: number): Row => {
  const at = START + (index + 1) * WINDOW;
  const identity = { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark' } as const;
  const span = { from: at - WINDOW, at, srcOffset: index, late: false };
  if (index % 50 === 7) return makeGapRow(identity, span, 'no_update');
  const times = { venue_ts: at - 2_000_000, received_at: at - 1_234_567, recorded_at: at - 1_000_000 };
  const values = { mark: `6${index}.123456789012345678`, index: '60000', basis: '-0.0001' };
  return makeReadingRow(identity, span, reading({ ...times, layer: 'mark', values, instants: {} }));
};
await write(Array.from({ length: ROWS }, (_, index) => storedRow(index)));

const feed = new Feed(['binance']);
feed.watermark('binance', LISTED);
feed.venue('binance');
feed.list(listing('binance', listingValues()));
feed.memory.applyHistoryWatermark('binance', 0, NOW - 190_000);
const { app, as } = await testApp(feed, { history });
t.teardown(() => app.close());

const HOUR = {
  where: 'symbol = "BTCUSDT"',
  layers: ['mark'],
  interval: '10s',
  from: formatInstant(END - 360 * WINDOW),
  to: formatInstant(END),
};
const RAW = { where: HOUR.where, layers: ['mark'], raw: true, from: formatInstant(START), to: formatInstant(END) };
const ask = (body: unknown, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: '/v2/snapshots/history',
    headers: { 'content-type': 'application/json', ...as('pro_plus'), ...headers },
    payload: JSON.stringify(body),
  });

type Cells = Readonly<Record<string, unknown>>;
type AnswerRow = { readonly at: string; readonly status: string; readonly values: Cells };
type Answer = { items_sha256: string; items: { layers: { mark: { rows: AnswerRow[] } } }[] };
const PARQUET = 'application/vnd.apache.parquet';
const read = async (bytes: Buffer): Promise<Record<string, unknown>[]> =>
  parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
    compressors: { ZSTD: (input) => zstdDecompressSync(input) },
  });
/** Cells of a CSV without quotes in it. */
const csvRows = (text: string): Record<string, string>[] => {
  const [head = '', ...lines] = text.trimEnd().split('\r\n');
  const names = head.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [names[i] ?? '', cell])));
};

t.test('the three tables hold the rows of the JSON answer, digit for digit, and its hash', async (t) => {
  const json = await ask(HOUR);
  const items = json.body.slice(json.body.indexOf('"items":[') + 8, -1);
  const sha = createHash('sha256').update(items).digest('hex');
  const { rows } = json.json<Answer>().items[0]?.layers.mark ?? { rows: [] };
  t.equal(rows.length, 360);
  const figures = [...items.matchAll(/"mark":(6\d+\.\d+)/g)].map(([, digits]) => digits);
  t.equal(figures.length, 353);

  const lines = await ask(HOUR, { accept: 'application/x-ndjson' });
  t.match(lines.headers, { 'content-type': 'application/x-ndjson; charset=utf-8', 'x-service-items-sha256': sha });
  t.match(lines.headers, { 'x-service-settled': 'true', 'x-service-mode': 'interval', vary: /accept/ });
  const parsed = lines.body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Cells);
  const { rows: _, ...ofLayer } = json.json<Answer>().items[0]?.layers.mark ?? { rows: [] };
  const NAMES = { venue: 'binance', venue_symbol: 'BTCUSDT', instrument: 'BTC-PERP', quote: 'USDT', layer: 'mark' };
  const LISTING = { ...NAMES, ...ofLayer };
  t.same(
    parsed,
    rows.map((row) => ({ ...LISTING, ...row })),
  );
  t.same(
    [...lines.body.matchAll(/"mark":(6\d+\.\d+)/g)].map(([, digits]) => digits),
    figures,
  );

  const csv = await ask(HOUR, { accept: 'text/csv' });
  t.match(csv.headers, { 'content-type': 'text/csv; charset=utf-8; header=present', 'x-service-items-sha256': sha });
  const table = csvRows(csv.body);
  t.same(
    table.map(({ at, status }) => [at, status]),
    rows.map(({ at, status }) => [at, status]),
  );
  t.same(
    table.map((row) => row['values.mark']).filter((cell) => cell !== ''),
    figures,
  );

  const parquet = await ask(HOUR, { accept: PARQUET });
  t.match(parquet.headers, { 'content-type': PARQUET, 'x-service-items-sha256': sha });
  const columns = await read(parquet.rawPayload);
  t.same(
    columns.map(({ at, status }) => [(at as Date).toISOString(), status]),
    rows.map(({ at, status }) => [at, status]),
  );
  t.same(
    columns.map((row) => row['values.mark']).filter((cell) => cell !== null),
    figures,
  );
  t.same(
    [columns[0]?.received_at, columns[0]?.age_ms, columns[0]?.venue, columns[0]?.['units.mark']],
    [new Date((END - 359 * WINDOW - 1_234_567) / 1_000), 1234n, 'binance', 'quote'],
  );
  t.ok(columns[0]?.retention_from instanceof Date);
});

t.test('a settled answer has one tag a format and is not sent twice', async (t) => {
  const tags = new Set<unknown>();
  for (const accept of ['application/json', 'application/x-ndjson', 'text/csv', PARQUET]) {
    const first = await ask(HOUR, { accept });
    const again = await ask(HOUR, { accept });
    t.ok(first.rawPayload.equals(again.rawPayload) || accept === 'application/json', `${accept}: the same bytes`);
    t.equal(first.headers['cache-control'], 'private, max-age=86400, immutable');
    tags.add(first.headers.etag);
    const kept = await ask(HOUR, { accept, 'if-none-match': String(first.headers.etag) });
    t.same([kept.statusCode, kept.body], [304, '']);
  }
  t.equal(tags.size, 4);
});

t.test('content coding changes no byte and no hash', async (t) => {
  const undo = {
    gzip: gunzipSync,
    br: brotliDecompressSync,
    zstd: zstdDecompressSync,
    identity: (bytes: Buffer) => bytes,
  };
  for (const accept of ['application/x-ndjson', 'text/csv', PARQUET]) {
    const plain = await ask(HOUR, { accept, 'accept-encoding': 'identity' });
    for (const coding of ['gzip', 'br', 'zstd']) {
      const coded = await ask(HOUR, { accept, 'accept-encoding': coding });
      const used = String(coded.headers['content-encoding'] ?? 'identity') as keyof typeof undo;
      t.ok(undo[used](coded.rawPayload).equals(plain.rawPayload), `${accept} ${coding}`);
      t.equal(coded.headers['x-service-items-sha256'], plain.headers['x-service-items-sha256']);
      if (accept !== PARQUET) t.equal(used, coding);
    }
  }
});

type Refusal = {
  readonly errors: readonly { readonly code: string; readonly message: string; readonly hint: string }[];
};

t.test('each format is judged by its own bytes, with the window that would fit', async (t) => {
  for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
    const limited = { accept, 'x-service-max-bytes': '30000' };
    const refused = await ask(HOUR, limited);
    const [error] = refused.json<Refusal>().errors;
    // The writing of lines ends where they are too many, so the message has no size of all of them.
    const size = accept === 'application/json' ? '(\\d+)' : 'at least (\\d+)';
    const message = new RegExp(`^The answer has ${size} bytes, the limit is 30000\\.$`);
    t.match(error, { code: 'DQL_LIMIT', message });
    const whole = (await ask(HOUR, { accept })).rawPayload.length;
    const told = Number(message.exec(error?.message ?? '')?.[1]);
    t.ok(accept === 'application/json' ? told === whole : told <= whole, `${accept}: the size is true`);
    const micros = Number(/(\d+)s(?: fits|\))/.exec(error?.hint ?? '')?.[1]) * 1_000_000;
    const smaller = { ...HOUR, from: formatInstant(END - micros) };
    t.equal((await ask(smaller, limited)).statusCode, 200, `${accept}: the size in the hint fits`);
    const larger = { ...HOUR, from: formatInstant(END - micros * 1.5) };
    t.equal((await ask(larger, limited)).statusCode, 400, 'and is not far from the limit');
  }
  const json = await ask(RAW);
  t.match(json.json<Refusal>().errors, [
    { code: 'DQL_LIMIT', message: /the limit is 8388608/, hint: /One answer reaches to about \S+ \(\d+s\)/ },
  ]);
  const parquet = await ask(RAW, { accept: PARQUET });
  t.equal(parquet.statusCode, 200, 'what is too large as JSON may fit as Parquet');
  const rows = await read(parquet.rawPayload);
  // The window that ends with `from` has a row too: nothing was stored of it.
  t.equal(new Set(rows.map(({ at }) => String(at))).size, ROWS + 1);
});

t.test('over a socket: the same bytes, and a client that leaves ends the work on its answer', async (t) => {
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const send = (body: unknown, accept: string, signal?: AbortSignal) =>
    fetch(`${base}/v2/snapshots/history`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...as('pro_plus'), accept },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  const served = Buffer.from(await (await send(HOUR, 'text/csv')).arrayBuffer());
  t.ok(served.equals((await ask(HOUR, { accept: 'text/csv' })).rawPayload));
  const leaving = new AbortController();
  const left = send(RAW, PARQUET, leaving.signal);
  setImmediate(() => leaving.abort());
  await t.rejects(left, { name: 'AbortError' });
  t.equal((await send(HOUR, PARQUET)).status, 200, 'and others are served');
});

const COLUMNS = ['venue', 'venue_symbol', 'instrument', 'quote'];
const findTable = (
  groups: readonly RowGroup[],
  format: 'csv' | 'ndjson' | 'parquet',
  onBytes = () => undefined,
): Promise<Buffer> => writeRows({ format, columns: COLUMNS, groups, numberFormat: 'json', metadata: {}, onBytes });

t.test('rows of any shape: columns that come late, quotes, escapes, nested and empty items', async (t) => {
  const items: readonly RowGroup[] = [
    {
      head: { venue: 'a', venue_symbol: 'x"y,\\', instrument: 'I', quote: 'Q' },
      rows: [
        { at: '2026-01-15T00:00:00.000001Z', trades: 3, p: makeFigure('1.5'), base_candles: { expected: 60 } },
        { at: '2026-01-15T00:01:00.000Z', late: true, id: 'line\nbreak', tags: ['[', '}'], conversion: undefined },
      ],
    },
    { head: { venue: 'b', venue_symbol: 'none', instrument: 'I', quote: 'Q' }, rows: [] },
  ];
  t.equal(
    String(await findTable(items, 'csv')),
    [
      'venue,venue_symbol,instrument,quote,at,trades,p,base_candles.expected,late,id,tags',
      'a,"x""y,\\",I,Q,2026-01-15T00:00:00.000001Z,3,1.5,60,,,',
      'a,"x""y,\\",I,Q,2026-01-15T00:01:00.000Z,,,,true,"line\nbreak","[""["",""}""]"',
      '',
    ].join('\r\n'),
  );
  const lines = String(await findTable(items, 'ndjson'))
    .trimEnd()
    .split('\n');
  t.equal(
    lines[0],
    '{"venue":"a","venue_symbol":"x\\"y,\\\\","instrument":"I","quote":"Q","at":"2026-01-15T00:00:00.000001Z","trades":3,"p":1.5,"base_candles":{"expected":60}}',
  );
  const file = await findTable(items, 'parquet');
  const schema = parquetSchema(
    parquetMetadata(file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer),
  );
  t.match(
    schema.children.map(({ element }) => [element.name, element.logical_type?.type ?? element.type]),
    [
      ['venue', 'STRING'],
      ['venue_symbol', 'STRING'],
      ['instrument', 'STRING'],
      ['quote', 'STRING'],
      ['at', 'TIMESTAMP'],
      ['trades', 'INT64'],
      ['p', 'STRING'],
      ['base_candles.expected', 'INT64'],
      ['late', 'BOOLEAN'],
      ['id', 'STRING'],
      ['tags', 'STRING'],
    ],
  );
  t.match(await read(file), [
    { venue_symbol: 'x"y,\\', trades: 3n, p: '1.5', late: null },
    { trades: null, late: true, id: 'line\nbreak' },
  ]);
  t.equal(String(await findTable([], 'csv')), 'venue,venue_symbol,instrument,quote\r\n');
  t.equal(String(await findTable([], 'ndjson')), '');
  t.same(await read(await findTable([], 'parquet')), []);
});

t.test('a long table gives way to other work, and ends when nobody waits for it', async (t) => {
  const row = { at: '2026-01-15T00:00:00.000Z', status: 'present', values: { mark: makeFigure('60000.1') } };
  const head = { venue: 'v', venue_symbol: 's', instrument: 'i', quote: 'q', layer: 'mark' };
  const items = [{ head, rows: Array.from({ length: 20_000 }, () => row) }];
  for (const format of ['ndjson', 'csv', 'parquet'] as const) {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await findTable(items, format);
    clearInterval(timer);
    t.ok(turns > 5, `${format}: ${turns} other turns`);
    const gone = new Error('gone');
    const leave = (): never => {
      throw gone;
    };
    await t.rejects(findTable(items, format, leave), gone);
  }
});

t.test('settled answers of plans that narrow nothing are kept for the nightly check, each once', async (t) => {
  const pool = openPostgres(await engines.database(), { max: 2 });
  t.teardown(() => pool.end());
  await migrate(pool);
  const sample = keepSettledSample(pool, createLog('formats-test', 'silent'));
  const kept = { path: '/v2/snapshots/history', input: HOUR, items: '[1]', plan: PLANS.pro };
  sample.note(kept);
  sample.note({ ...kept, items: '[2]' });
  sample.note({ ...kept, input: Object.fromEntries(Object.entries(HOUR).reverse()) });
  sample.note({ ...kept, input: { ...HOUR, layers: ['funding'] }, plan: PLANS.free });
  sample.note({ ...kept, input: { where: 'x' } });
  // No column holds these: with one of them the whole second would be lost.
  for (const where of ['lone \ud800', 'zero \0']) sample.note({ ...kept, input: { ...HOUR, where } });
  const quiet = { at: ['2026-01-15T11:00:00.000Z'] };
  const old = '{"at":"2026-01-15T11:00:00.000Z","received_at":"2026-01-02T00:00:00.000001Z"}';
  sample.note({
    ...kept,
    path: '/quiet',
    input: quiet,
    items: `[${old},{"received_at":"2026-01-09T00:00:00.000Z"},null]`,
  });
  await sample.stop();
  const { rows: before } = await pool.query("delete from settled_requests where path = '/quiet' returning earliest");
  t.same(
    before,
    [{ earliest: new Date('2026-01-02T00:00:00.000Z') }],
    'a reading of before the instant is looked at too',
  );
  const { rows } = await pool.query('select path, request, items_sha256, earliest from settled_requests');
  t.same(rows, [
    { path: kept.path, request: HOUR, items_sha256: hashSettledItems('[1]'), earliest: new Date(HOUR.from) },
  ]);
  t.equal(findEarliest({ at: ['2026-01-15', '2026-01-14'] }), micros('2026-01-14T00:00:00.000Z'));
  t.equal(findEarliest({ as_of: 'never' }), null);
});
