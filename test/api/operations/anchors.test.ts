// Anchored days and proofs over real PostgreSQL, QuestDB and files: names of rows, members, faults, plans, retention, changed rows (AN-01 to AN-06).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import type { ObjectStore } from '../../../infra/runtime/files/object-store.ts';
import { readLeafRows } from '../../../infra/runtime/questdb/leaf-rows.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { compare } from '../../../processors/nightly/steps/merkle/compare.ts';
import { makeReadingRow } from '../../../processors/task/rows.ts';
import { ANCHORED_TABLES, toPlace } from '../../../schemas/anchored.ts';
import type { Row } from '../../../schemas/topics.ts';
import { type Asked, DAY, LATER, LISTINGS, startAnchored } from '../../support/apps/anchored-fixture.ts';
import { markReading, micros } from '../../support/apps/live-fixture.ts';
import { rowsOfDay } from '../../support/days/closed-day.ts';
import { recordPosted } from '../../support/days/posted-roots.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);
const COUNT = 24;
const CLOSED_AT = micros('2026-01-17T00:00:00.000Z');
const engines = await useEngines(t, ['postgres', 'questdb']);
const service = await startAnchored(t, engines, COUNT);
const { pool, makeDeps } = service;
const api = await service.serve();

type Fault = { readonly code: string; readonly path?: string; readonly message: string; readonly hint?: string };
const listFaults = ({ body }: { readonly body: Readonly<Record<string, unknown>> }): string[] =>
  ((body['errors'] ?? []) as readonly Fault[]).map(({ code, path }) => `${code} ${path ?? ''}`.trim());
const BTC = { venue: 'binance', symbol: 'BTCUSDT' };
const at = (text: string): string => `${DAY}T${text}Z`;

t.test('a closed day: members in order, both spellings, no key needed', async (t) => {
  const { status, body, headers } = await api.get(`/v2/anchors/${DAY}`);
  t.equal(status, 200);
  t.match(headers, { 'cache-control': 'no-store', 'x-service-receipt': /^rcp_/ });
  const { partitions, day_root, ...rest } = body;
  t.same(Object.keys(body), [
    ...['evaluated_at', 'day', 'network', 'binding', 'schema_version', 'closed_at', 'day_root', 'partitions', 'anchor'],
  ]);
  const none = { contract: null, tx_hash: null, block: null, anchored_at: null };
  t.same(rest, {
    ...{ evaluated_at: '2026-01-18T12:00:00.000Z', day: DAY, network: null, binding: false, schema_version: 1 },
    closed_at: '2026-01-17T00:00:00.000Z',
    anchor: { anchored: false, status: 'pending', ...none, anchored_lag_days: null, explorer_url: null },
  });
  const { rows } = await pool.query(
    'select table_name as "table", rows::int, root, leaf from anchor_partitions order by table_name collate "C"',
  );
  t.same(
    partitions,
    rows.map((row, index) => ({ ...row, index })),
  );
  t.equal(rows.length, ANCHORED_TABLES.length);
  t.same(Object.keys((partitions as object[])[0] as object), ['table', 'rows', 'root', 'leaf', 'index']);
  t.match(day_root, /^[0-9a-f]{64}$/);
  t.same((await api.get('/v2/anchors/20260110')).body, body);
  t.same((await api.get(`/v2/anchors/${DAY}`, {}, 'free')).body, body, 'a key adds no scope');
});

t.test('days that are none, are not closed, or will never be', async (t) => {
  for (const day of ['2026-1-10', '20260132', '2026-13-01', '1999-12-31', '2101-01-01', '202601100', 'today', '%20']) {
    const answer = await api.get(`/v2/anchors/${day}`);
    t.same(listFaults(answer), ['DQL_JSON_SCHEMA /day'], day);
    const [error] = answer.body['errors'] as [Fault];
    t.equal(error.message, `"${decodeURIComponent(day)}" is not a day.`, 'as it was sent');
  }
  const readAnswer = async (day: string): Promise<[number, string, string]> => {
    const { status, body } = await api.get(`/v2/anchors/${day}`);
    const [error] = body['errors'] as [Fault];
    return [status, error.code, `${error.message} ${error.hint}`];
  };
  for (const day of ['2026-01-12', '20260118', '2099-12-31']) {
    const [status, code, words] = await readAnswer(day);
    t.same([status, code], [404, 'ANCHOR_NOT_FOUND'], day);
    t.match(
      words,
      /^"\d{4}-\d\d-\d\d" is not closed yet\. Its root will be available at \d{4}-\d\d-\d\dT02:00:00\.000Z or later\./,
    );
  }
  t.match((await readAnswer('2026-01-12'))[2], '2026-01-19T02:00:00.000Z');
  t.match(await readAnswer('2026-01-11'), [
    404,
    'ANCHOR_NOT_FOUND',
    /^"2026-01-11" has no root\. It was due at 2026-01-18T02:00:00\.000Z/,
  ]);
  t.match(await readAnswer('2026-01-09'), [
    404,
    'ANCHOR_NOT_FOUND',
    /^"2026-01-09" is before the first anchored day, 2026-01-10/,
  ]);
  const proof = await api.proof({ ...BTC, layer: 'mark', at: '2026-01-15T12:00:00Z' });
  t.equal(proof.status, 404);
  t.match(proof.body, { errors: [{ code: 'ANCHOR_NOT_FOUND', hint: /2026-01-22T02:00:00\.000Z/ }] });
});

t.test('`proof` is no day; a proof needs a key; wrong methods', async (t) => {
  t.match(await api.get('/v2/anchors/proof'), { status: 401, body: { errors: [{ code: 'AUTH_REQUIRED' }] } });
  t.equal((await api.proof({})).status, 400);
  t.match(await api.post('/v2/anchors/proof', {}), { status: 405, headers: { allow: 'GET, HEAD' } });
  t.match(await api.post(`/v2/anchors/${DAY}`, {}), { status: 405, headers: { allow: 'GET, HEAD' } });
});

t.test('a proof: members in order, row as AN-07 orders it', async (t) => {
  const { status, body } = await api.proof({ ...BTC, layer: 'funding', at: at('12:00:00') });
  t.equal(status, 200, JSON.stringify(body));
  t.same(Object.keys(body), [
    ...[
      'evaluated_at',
      'day',
      'network',
      'binding',
      'schema_version',
      'layer',
      'table',
      'row',
      'canonical',
      'leaf_hash',
    ],
    ...['index', 'rows', 'path', 'partition', 'day_root', 'anchor', 'verify'],
  ]);
  const { row, partition, day_root, anchor, verify } = body;
  const table = ANCHORED_TABLES.find(({ table }) => table === 'funding');
  t.same(
    Object.keys(row as object),
    table?.columns.map(({ name }) => name),
  );
  t.same(Object.keys(partition as object), ['root', 'leaf', 'index', 'count', 'path']);
  const day = (await api.get(`/v2/anchors/${DAY}`)).body;
  t.same([day_root, anchor, verify], [day['day_root'], day['anchor'], 'http://api.test/docs/verify']);
});

t.test('network and posting: where the service posts, what was mined, how many days it took', async (t) => {
  const facts = {
    network: 'eip155:8453',
    contract: `0x${'ab'.repeat(20)}`,
    tx_hash: `0x${'cd'.repeat(32)}`,
    block: 1_234_567,
    anchored_at: '2026-01-18T02:00:07.000Z',
  } as const;
  const anchorNow = async () => {
    const { network, binding, anchor } = (await api.get(`/v2/anchors/${DAY}`)).body;
    return { network, binding, anchor };
  };
  await recordPosted(pool, DAY, facts, { binding: true });
  const { network, ...mined } = facts;
  t.same(await anchorNow(), {
    ...{ network, binding: undefined },
    anchor: {
      ...{ anchored: true, status: 'confirmed', ...mined, anchored_lag_days: 8 },
      explorer_url: `https://basescan.org/tx/${facts.tx_hash}`,
    },
  });
  await pool.query("update anchor_days set status = 'failed', block = null, anchored_at = null, confirmed_at = null");
  t.match(await anchorNow(), {
    anchor: { anchored: false, status: 'failed', tx_hash: facts.tx_hash, block: null, anchored_lag_days: null },
  });
  await pool.query(
    `update anchor_days set status = 'pending', network = null, binding = null, genesis_hash = null, contract = null, tx_hash = null`,
  );
  t.match(await anchorNow(), { network, binding: undefined, anchor: { status: 'pending', contract: null } });
  await pool.query('update anchor_contracts set binding = false');
  t.match(await anchorNow(), { network, binding: false }, 'a local chain may have the id of Base');
  await pool.query(
    `insert into anchor_contracts (genesis_hash, contract, network, binding, owner, added_at)
     select genesis_hash, $1, 'eip155:84532', false, owner, added_at + interval '1 day' from anchor_contracts`,
    [`0x${'ef'.repeat(20)}`],
  );
  t.match(await anchorNow(), { network: 'eip155:84532' }, 'where the newest contract is');
  await pool.query('delete from anchor_contracts');
});

/** The stored rows, as the closing read them. */
const readLeaves = async (name: string): Promise<Record<string, unknown>[]> => {
  const table = ANCHORED_TABLES.find(({ table }) => table === name);
  if (table === undefined) throw new Error(`${name} is no table`);
  const leaves: Record<string, unknown>[] = [];
  const question = { table, listing: 'binance:BTCUSDT', day: DAY, closedAt: CLOSED_AT };
  for await (const batch of readLeafRows(service, question))
    for (const { cells } of batch)
      leaves.push(Object.fromEntries(table.columns.map(({ name: column }) => [column, cells[toPlace(table, column)]])));
  return leaves;
};

t.test('which row is meant: readings, candles, events, and any row by its seq', async (t) => {
  const readRow = async (asked: Asked): Promise<Record<string, unknown>> => {
    const { status, body } = await api.proof({ ...BTC, ...asked });
    return status === 200 ? (body['row'] as Record<string, unknown>) : { status, ...body };
  };
  const marks = await readLeaves('mark');
  const onTime = marks.filter(({ late }) => late === false);
  const end = (n: number): string => String(onTime[n]?.['window_end']);
  t.same(await readRow({ layer: 'mark', at: end(3) }), onTime[3], 'the window that ends at this instant');
  t.same(
    await readRow({ layer: 'mark', at: end(3).replace('0.000000Z', '9.999999Z') }),
    onTime[3],
    'and until the next ends',
  );
  t.same(await readRow({ layer: 'mark', at: end(6) }), onTime[6], 'a gap is a row');
  t.match(onTime[6], { status: 'missing', gap_cause: 'no_update' });
  t.same(await readRow({ layer: 'mark', at: '2026-01-11' }), onTime.at(-1), '24:00 belongs to the day that ends there');
  t.match(await readRow({ layer: 'mark', at: at('00:00:00') }), { status: 404 }, '00:00 to the day before');
  t.match(await readRow({ layer: 'mark', at: at('00:00:05') }), {
    status: 404,
    errors: [{ message: /no stored row/ }],
  });
  const late = marks.find((row) => row['late'] === true) ?? {};
  t.same(
    await readRow({ layer: 'mark', at: at('00:00:05'), seq: String(late['seq']) }),
    late,
    'of `at` only the day counts',
  );
  t.match(await readRow({ layer: 'mark', at: at('12:00:00'), seq: 10_000 }), { status: 404 });
  for (const symbol of ['BTC\0USDT', '\0', 'BTCUSDT\0'])
    t.match(await readRow({ layer: 'mark', at: end(3), symbol }), {
      status: 404,
      errors: [{ message: /no stored row/ }],
    });
  for (const name of ['ticker', 'funding', 'oi', 'open_interest', 'stats', 'venue_depth', 'book_bands'])
    t.match(await readRow({ layer: name, at: at('23:00:00') }), { segment: 'binance', late: false }, name);

  const candles = await readLeaves('candles');
  const candle = (minute: string, type: string) =>
    candles.find((row) => row['open_time'] === at(`00:${minute}:00.000000`) && row['price_type'] === type);
  t.same(await readRow({ layer: 'candles', at: at('00:05') }), candle('05', 'trade'), 'the price type is trade');
  t.same(await readRow({ layer: 'candle', at: at('00:05'), price_type: 'index' }), candle('05', 'index'));
  t.match(await readRow({ layer: 'candles', at: at('23:00') }), {
    status: 404,
    errors: [{ message: /no stored row/ }],
  });
  t.same(
    await readRow({ layer: 'candles', at: at('12:34:56'), seq: 0 }),
    candles.find((row) => row['seq'] === '0'),
  );

  const trades = await readLeaves('trades');
  const some = trades.find(({ id }) => id === '\u{1F319}1005') ?? {};
  t.same(await readRow({ layer: 'trades', at: String(some['received_at']), id: '\u{1F319}1005' }), some);
  t.same(await readRow({ layer: 'trade', at: at('23:59:59.999999'), id: '\u{1F319}1005' }), some);
  t.match(
    await readRow({ layer: 'trades', at: at('00:00:00'), id: '\u{1F319}1005' }),
    { status: 404 },
    'received later',
  );
  t.match(await readRow({ layer: 'trades', at: '2026-01-11', id: '\u{1F319}1005' }), { status: 404 }, 'another day');
  const lateTrade = trades.find((row) => row['late'] === true) ?? {};
  t.same(
    await readRow({ layer: 'trades', at: at('23:00'), id: String(lateTrade['id']) }),
    lateTrade,
    'late events have ids',
  );
  const gap = trades.find(({ status }) => status === 'missing') ?? {};
  t.same(
    await readRow({ layer: 'trades', at: at('00:00'), seq: String(gap['seq']) }),
    gap,
    'a gap of events has no id',
  );
  t.match(
    await readRow({ layer: 'trades', at: at('23:00'), seq: String(gap['seq']), id: 'x' }),
    { status: 404 },
    'both hold',
  );
  t.match(await readRow({ layer: 'liquidations', at: at('23:00'), id: '1000' }), { price_kind: 'fill', id: '1000' });
});

t.test('every fault of form with its path, names that are not known', async (t) => {
  const valid = { ...BTC, layer: 'mark', at: at('12:00:00') };
  for (const [asked, faults] of [
    [{}, ['/at', '/layer', '/symbol', '/venue']],
    [{ ...valid, at: 'noon' }, ['/at']],
    [{ ...valid, at: '1999-12-31T23:59:59Z' }, ['/at']],
    [{ ...valid, at: '2100-01-01T00:00:01Z' }, ['/at']],
    [{ ...valid, at: '2026-01-10T12:00:00.1234567Z' }, ['/at']],
    [{ ...valid, layer: 'nothing' }, ['/layer']],
    [{ ...valid, layer: 'book' }, ['/layer']],
    [{ ...valid, price_type: 'mark' }, ['/price_type']],
    [{ ...valid, id: '7' }, ['/id']],
    [{ ...valid, seq: -1 }, ['/seq']],
    [{ ...valid, seq: '1.5' }, ['/seq']],
    [{ ...valid, colour: 'red' }, ['/colour']],
    [{ ...valid, layer: 'candles', at: at('12:00:01') }, ['/at']],
    [{ ...valid, layer: 'candles', price_type: 'last' }, ['/price_type']],
    [{ ...valid, layer: 'candles', id: '7', at: at('12:00:01') }, ['/at', '/id']],
    [{ ...valid, layer: 'trades' }, ['/id']],
    [{ ...valid, layer: 'liquidation', id: '', price_type: 'mark' }, ['/id', '/price_type']],
    [{ ...valid, symbol: '' }, ['/symbol']],
  ] as const) {
    const answer = await api.proof(asked);
    t.same(
      [answer.status, ...listFaults(answer)],
      [400, ...faults.map((path) => `DQL_JSON_SCHEMA ${path}`)],
      JSON.stringify(asked),
    );
  }
  t.match((await api.proof({ ...valid, layer: 'book' })).body, { errors: [{ hint: /book_bands/ }] });
  t.same(listFaults(await api.proof({ ...valid, venue: 'nosuch', seq: -1 })), [
    'DQL_JSON_SCHEMA /seq',
    'DQL_UNKNOWN_VENUE /venue',
  ]);
  t.match(await api.proof({ ...valid, symbol: 'NONE' }), {
    status: 404,
    body: { errors: [{ code: 'ANCHOR_NOT_FOUND', message: /no stored row/ }] },
  });
  t.match(await api.proof({ ...valid, symbol: 'btcusdt' }), { status: 404 }, 'a symbol is byte for byte');
  t.match(await api.proof({ ...valid, venue: 'Binance' }), { status: 200, body: { row: { segment: 'binance' } } });
});

t.test('a plan narrows venues, instruments and layers, not days; 403 comes before 404', async (t) => {
  const ask = async (asked: Asked): Promise<unknown> => {
    const answer = await api.proof({ ...BTC, at: at('12:00:00'), ...asked }, 'free');
    return [answer.status, ...listFaults(answer)];
  };
  t.same(await ask({ layer: 'mark' }), [200], 'eight days ago, with a plan of seven');
  t.same(await ask({ layer: 'book_bands' }), [403, 'PLAN_LIMIT /layer']);
  t.same(await ask({ layer: 'mark', venue: 'zeta' }), [403, 'PLAN_VENUE_NOT_INCLUDED /venue']);
  t.same(await ask({ layer: 'mark', symbol: '😂USDT' }), [403, 'PLAN_LIMIT /symbol']);
  t.same(await ask({ layer: 'trades', id: '1', venue: 'zeta' }), [
    ...[403, 'PLAN_LIMIT /layer', 'PLAN_VENUE_NOT_INCLUDED /venue'],
  ]);
  t.same(
    await ask({ layer: 'trades', id: '1000', at: '2026-01-17' }),
    [403, 'PLAN_LIMIT /layer'],
    'also of a day without a root',
  );
  t.same(await ask({ layer: 'trades', id: '1000', venue: 'nosuch' }), [400, 'DQL_UNKNOWN_VENUE /venue']);
});

t.test('a proof reads tiles of 2 KiB beside the leaves of its listing', async (t) => {
  let bytes = 0;
  const store = {
    ...service.store,
    read: (key: string, range?: { readonly start: number; readonly end: number }) => {
      bytes += range === undefined ? Number.NaN : range.end - range.start;
      return service.store.read(key, range);
    },
  };
  const counting = await service.serve({ deps: makeDeps({ store }) });
  const { status } = await counting.proof({ ...BTC, layer: 'mark', at: at('12:00:00') });
  t.equal(status, 200);
  const own = (await readLeaves('mark')).length * 32;
  t.ok(bytes >= own && bytes <= own + 4 * 2_048, `${bytes} bytes, ${own} of them of the listing`);
});

t.test('past retention the rows are those of the final file', async (t) => {
  const asked = { ...BTC, layer: 'liquidations', at: at('23:00'), id: '1000' };
  const mark = { ...BTC, layer: 'mark', at: at('12:00:00') };
  const [event, reading] = [await api.proof(asked), await api.proof(mark)];
  const away = openQuestdbReader('127.0.0.1:1', { max: 1, timeoutMs: 1_000 });
  t.teardown(() => away.close());
  const deps = makeDeps({ stored: { questdb: away, namespace: 'away.' } });
  const without = ({ body }: { body: object }) => ({ ...body, evaluated_at: null });
  const inDays = (days: number) =>
    service.serve({ deps, nowMicros: micros(`${DAY}T00:00:00Z`) + days * 86_400_000_000 });
  const month4 = await inDays(120);
  t.same(without(await month4.proof(asked)), without(event), 'the same proof');
  t.match(
    await month4.proof(mark),
    { status: 503, body: { errors: [{ code: 'UNAVAILABLE' }] } },
    'readings are stored for longer',
  );
  t.match(await (await inDays(80)).proof(asked), { status: 503 });
  const year2 = await inDays(500);
  t.same(without(await year2.proof(mark)), without(reading));
  t.match(await year2.proof({ ...mark, symbol: 'NONE' }), { status: 404 });

  const { rows } = await pool.query<{ key: string }>(
    "select object_key as key from archive_files where layer = 'mark' and venue_symbol = 'BTCUSDT' and format = 'jsonl' and replaced_at is null",
  );
  const path = join(service.folder, 'store', rows[0]?.key ?? '');
  const whole = readFileSync(path);
  writeFileSync(path, whole.subarray(0, whole.length - 20));
  t.match(await year2.proof(mark), { status: 409, body: { errors: [{ code: 'ANCHOR_CHANGED' }] } }, 'half a file');
  writeFileSync(path, whole);
  await pool.query('update anchor_partitions set changed_at = null, difference = null; truncate incidents');
});

t.test('a store that is away is reported as such', async (t) => {
  const lost = await service.serve({
    deps: makeDeps({ store: { ...service.store, read: async () => Promise.reject(new Error('away')) } }),
  });
  const asked = { ...BTC, layer: 'mark', at: at('12:00:00') };
  t.match(await lost.proof(asked), { status: 503, body: { errors: [{ code: 'UNAVAILABLE' }] } });
  const breakingOff = async function* (bytes: Readable): AsyncGenerator<Buffer> {
    for await (const piece of bytes) {
      yield (piece as Buffer).subarray(0, 16);
      throw new TypeError('terminated');
    }
  };
  const read: ObjectStore['read'] = async (key, range) =>
    Readable.from(breakingOff(await service.store.read(key, range)), { objectMode: false });
  const deps = makeDeps({ store: { ...service.store, read } });
  for (const [days, what] of [
    [8, 'kept hashes'],
    [500, 'a final file'],
  ] as const) {
    const cut = await service.serve({ deps, nowMicros: micros(`${DAY}T12:00:00Z`) + days * 86_400_000_000 });
    t.match(await cut.proof(asked), { status: 503, body: { errors: [{ code: 'UNAVAILABLE' }] } }, `${what} cut off`);
  }
  t.same((await pool.query('select 1 from anchor_partitions where changed_at is not null')).rows, [], 'no difference');
  const none = await service.serve({ deps: makeDeps({ stored: null }) });
  t.match(await none.proof(asked), { status: 503 });
  t.equal((await none.get(`/v2/anchors/${DAY}`)).status, 200);
});

t.test('rows that differ from their leaves: no proof of the table and day until found equal', async (t) => {
  const mark = { ...BTC, layer: 'mark', at: at('00:01:00') };
  const span = (n: number) => {
    const end = micros(`${DAY}T00:00:00Z`) + (n + 1) * 10_000_000;
    return { from: end - 10_000_000, at: end, srcOffset: 10 * n + 3, late: false };
  };
  const rowAt = (n: number, symbol: string) =>
    makeReadingRow(
      { venue: 'binance', symbol, layer: 'mark' },
      span(n),
      markReading('1', { received_at: span(n).at - 1, recorded_at: span(n).at + 1 }),
    );
  const readState = async () =>
    (await pool.query('select table_name, difference from anchor_partitions where changed_at is not null')).rows;
  t.equal((await api.proof(mark)).status, 200);

  await service.write([rowAt(1, 'BTCUSDT')]);
  t.match(
    await api.proof({ ...mark, seq: 5 }),
    {
      status: 409,
      body: {
        errors: [{ code: 'ANCHOR_CHANGED', message: `Stored rows of mark of ${DAY} differ from what was anchored.` }],
      },
    },
    'for any row of the listing',
  );
  t.match(await readState(), [
    { table_name: 'mark', difference: /^binance:BTCUSDT: leaf \d+ differs from its stored row$/ },
  ]);
  for (const { venue, symbol } of LISTINGS)
    t.equal((await api.proof({ ...mark, venue, symbol })).status, 409, `every proof of mark, also of ${symbol}`);
  t.equal((await api.proof({ ...mark, layer: 'ticker' })).status, 200, 'other tables have theirs');
  t.equal((await api.get(`/v2/anchors/${DAY}`)).status, 200, 'the day states what was posted');
  const { rows: incidents } = await pool.query('select kind, subject, state from incidents');
  t.same(incidents, [{ kind: 'anchored_rows_changed', subject: `${DAY} mark`, state: 'open' }]);

  await service.write(rowsOfDay(DAY, BTC, COUNT));
  t.equal((await api.proof(mark)).status, 409, 'right again, and not found equal yet');
  const compareNow = () => compare.run(DAY, service.makeContext(LATER / 1_000));
  t.match(await compareNow(), /9 partitions compared, 0 differ/);
  t.equal((await api.proof(mark)).status, 200);

  await service.write([rowAt(2, 'NEWUSDT')]);
  t.equal((await api.proof(mark)).status, 200, 'rows of another listing are compared nightly');
  t.equal((await api.proof({ ...mark, symbol: 'NEWUSDT' })).status, 409);
  t.same(await readState(), [{ table_name: 'mark', difference: 'binance:NEWUSDT: 1 stored rows and no leaf' }]);
  t.equal((await pool.query('select 1 from incidents')).rows.length, 1, 'it is one incident until a person closes it');
});

t.test(
  'a listing that was compared is compared by one digest: the same proofs, and whatever differs is found',
  async (t) => {
    const { questdb, namespace } = service;
    const asked: string[] = [];
    const query: typeof questdb.query = async (one) => {
      const answer = await questdb.query(one);
      asked.push(one.text);
      return answer;
    };
    /** Each is two statements, of half a day each. */
    const digests = (): number => asked.filter((text) => text.includes('sum(x')).length / 2;
    const remembering = await service.serve({
      deps: makeDeps({ stored: { questdb: { ...questdb, query }, namespace } }),
    });
    const mark = { ...BTC, layer: 'mark', at: at('00:01:00') };
    const rows = rowsOfDay(DAY, BTC, COUNT).filter(({ table }) => table === 'mark');
    const makeEqual = async (): Promise<void> => {
      await service.write(rows);
      await pool.query('update anchor_partitions set changed_at = null, difference = null');
    };
    await makeEqual();
    /** Compares all rows, and is remembered when the digest is the same after it. */
    const rememberNow = async (): Promise<void> => {
      asked.length = 0;
      t.equal((await remembering.proof(mark)).status, 200);
      await waitFor('the digest after the comparison', () => digests() === 2);
    };
    await rememberNow();
    asked.length = 0;
    const names = [{ at: at('00:00:10') }, { at: at('00:01:05') }, { at: at('23:59:59') }, { seq: 0 }, { seq: 3 }];
    for (const name of names) {
      const first = await service.serve();
      const [again, other] = [await remembering.proof({ ...mark, ...name }), await first.proof({ ...mark, ...name })];
      t.same({ ...again.body, evaluated_at: 0 }, { ...other.body, evaluated_at: 0 }, JSON.stringify(name));
    }
    t.equal((await remembering.proof({ ...mark, seq: 999_999 })).status, 404);
    t.equal(digests(), names.length + 1);
    t.equal(asked.length, 3 * names.length + 2, 'a digest, and the row itself');

    const [row] = rows.filter(({ texts, flags }) => texts['status'] === 'present' && flags['late'] !== true).slice(2);
    if (row === undefined) throw new Error('the day has no such row');
    const figure = row.figures['mark'] ?? '1';
    const tampered: Readonly<Record<string, Row>> = {
      'another figure': { ...row, figures: { ...row.figures, mark: '1' } },
      'more digits than a double holds': {
        ...row,
        figures: { ...row.figures, mark: `${figure}.00000000000000000001` },
      },
      'no figure': { ...row, figures: {} },
      'another instant': { ...row, instants: { ...row.instants, received_at: (row.instants['received_at'] ?? 0) - 1 } },
      'a status': { ...row, texts: { ...row.texts, status: 'missing', gap_cause: 'no_update' } },
    };
    for (const [what, other] of Object.entries(tampered)) {
      await service.write([other]);
      t.equal((await remembering.proof(mark)).status, 409, what);
      await makeEqual();
      await rememberNow();
    }
    // A row of its own beside that of the same record (D-634), so nothing takes it back.
    await service.write([{ ...row, flags: { ...row.flags, late: true } }]);
    t.equal((await remembering.proof(mark)).status, 409, 'a row too many');
  },
);
