// The task as a machine: readings, windows, gaps, spans; the same bytes for any cut or repetition of the log.
import { createHash } from 'node:crypto';
import t from 'tap';
import { binance } from '../../../ingest/venues/binance/index.ts';
import {
  beginRound,
  countUnsaved,
  createRestorer,
  makeMarker,
  saveSome,
} from '../../../processors/runner/checkpoint.ts';
import { Task } from '../../../processors/task/task.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { CheckpointEntry, ListingVersion } from '../../../schemas/topics.ts';
import { listReadings, listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import {
  begin,
  busyLog,
  COVERS,
  diff,
  mark,
  reference,
  SPEC,
  snapshot,
  symbolInfo,
} from '../../support/tasks/task-logs.ts';

const LISTING = 'binance:BTCUSDT';

const present = (log: TestLog) =>
  listRows(runTask(SPEC, log.records).outputs, 'mark').filter((r) => r.texts['status'] === 'present');
const gaps = (log: TestLog) =>
  listRows(runTask(SPEC, log.records).outputs, 'mark').filter((r) => r.texts['status'] === 'missing');

t.test('a reading carries the venue digits, derived figures and the horizon it was stored with', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101.00');
  const [reading] = listReadings(runTask(SPEC, log.records).outputs, 'mark');
  t.same(reading?.values, { mark: '101', index: '100', basis: '0.01' });
  t.equal(reading?.horizon_source, 'documented');
  t.equal(reading?.valid_until, log.now + 2 * SECOND, 'two stated intervals from the venue stamp (F-02)');
  const [funding] = listReadings(runTask(SPEC, log.records).outputs, 'funding');
  t.same(funding?.values, { funding: '0.0001', funding_8h: '0.0001', funding_interval: '28800000' });
  t.end();
});

t.test('a window keeps its last reading and is sealed 100.001 s after its end', (t) => {
  const log = begin();
  log.now = START + 3 * SECOND;
  mark(log, '101');
  log.now = START + 10 * SECOND;
  mark(log, '102');
  log.now += 1000;
  mark(log, '103');
  log.run(101 * SECOND, ['k1']);
  const rows = present(log);
  t.equal(rows[0]?.at, START + 10 * SECOND);
  t.equal(rows[0]?.figures['mark'], '102', 'a reading at exactly the end belongs to the window (H-06)');
  t.equal(rows.length, 1, 'the next window is not sealed yet');
  t.equal(rows[0]?.instants['from_at'], START);
  t.end();
});

t.test('each window is announced once, at its end, but not those of a silence that are sealed with it (H-16k)', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  log.run(150 * SECOND, ['k1'], SECOND);
  log.now += 200 * SECOND;
  log.tick(['k1']);
  const ends = runTask(SPEC, log.records)
    .outputs.flatMap(({ live }) => live)
    .flatMap(({ kind, row }) => (kind === 'provisional' && row?.table === 'mark' ? (row.at - START) / SECOND : []));
  const list = (from: number, to: number) => Array.from({ length: (to - from) / 10 + 1 }, (_, i) => from + i * 10);
  t.same(ends, [...list(10, 150), ...list(260, 350)]);
  t.end();
});

t.test('a reading recorded more than 100 s after its window is a late row and nothing else', (t) => {
  const log = begin();
  log.now = START + 5 * SECOND;
  mark(log, '101');
  log.run(104 * SECOND, ['k1']);
  const heldAt = log.now;
  log.now = START + 6 * SECOND;
  mark(log, '999', { recordedAt: START + 110 * SECOND + 1000 });
  log.now = heldAt + 3 * SECOND;
  log.tick(['k1']);
  const { outputs, task } = runTask(SPEC, log.records);
  const rows = listRows(outputs, 'mark').filter((r) => r.texts['status'] === 'present');
  t.same(
    rows.map((r) => [r.figures['mark'], r.flags['late'], r.instants['from_at'], r.at]),
    [
      ['999', true, START, START + 10 * SECOND],
      ['101', false, START, START + 10 * SECOND],
    ],
    'of its own window (H-06)',
  );
  t.same(
    outputs.flatMap(({ md }) => md.flatMap(({ layer, values }) => (layer === 'mark' ? values : []))),
    [{ mark: '101', index: '100' }],
    'and no record of it for consumers (D-05)',
  );
  t.equal(
    task.state.listings.get('BTCUSDT')?.layers.get('mark')?.reading?.values['mark'],
    '101',
    'the state is untouched',
  );
  t.end();
});

t.test('minutes of a spool that come late are late rows by bucket and nothing else; then the book continues', (t) => {
  const log = begin();
  log.now += SECOND;
  snapshot(log, 100);
  mark(log, '101');
  const [first] = [log.now];
  const recordedAt = START + 400 * SECOND;
  let u = 100;
  for (let i = 0; i < 2_000; i++) {
    log.now += 25_000;
    const late = { recordedAt: recordedAt + i * 100 };
    if (i % 4 === 0) mark(log, `${200 + i}`, late);
    diff(log, { U: u + 1, u: u + 2, pu: u }, { b: [['99.8', `${1 + (i % 9)}`]] }, late);
    u += 2;
  }
  log.now = recordedAt + SECOND;
  log.tick(['k1']);
  const drained = runTask(SPEC, log.records);
  const listLate = (table: string) => listRows(drained.outputs, table).filter((row) => row.flags['late']);
  t.equal(listLate('mark').length, 500);
  t.ok(Math.abs(listLate('book').length - 1_000) < 5, 'at the first change of a bucket and at its end');
  t.same(listLate('book').at(-1)?.instants['received_at'], first + 2_000 * 25_000, 'the last change too');
  t.equal(listReadings(drained.outputs, 'mark').length, 1, 'no late reading is published live');
  t.equal(drained.task.state.listings.get('BTCUSDT')?.layers.get('mark')?.reading?.values['mark'], '101');
  const md = drained.outputs.flatMap((o) => o.md.map(({ layer, received_at }) => [layer, received_at]));
  t.ok(
    md.every(([, at]) => Number(at) <= Number(first)),
    'nor goes to consumers',
  );
  diff(log, { U: u + 1, u: u + 2, pu: u }, { b: [['99.7', '5']] });
  const [last] = listReadings(runTask(SPEC, log.records).outputs, 'book').slice(-1);
  t.same([last?.valid, last?.book?.bids.length], [true, 3], 'the book was assembled all the while');
  t.end();
});

t.test('a reading recorded at most 100 s after its window counts, though it is not above the held one', (t) => {
  const log = begin();
  log.now = START + 15 * SECOND;
  mark(log, '102');
  log.run(80 * SECOND, ['k1']);
  const heldAt = log.now;
  log.now = START + 6 * SECOND;
  mark(log, '101', { recordedAt: heldAt + 1000 });
  log.now = heldAt;
  log.run(40 * SECOND, ['k1']);
  t.same(
    present(log).map((r) => [r.at - START, r.figures['mark'], r.flags['late']]),
    [
      [10 * SECOND, '101', false],
      [20 * SECOND, '102', false],
    ],
  );
  t.end();
});

t.test('a reading that comes after its window has ended is told again until the seal (H-16k)', (t) => {
  const log = begin();
  log.run(35 * SECOND, ['k1']);
  const heldAt = log.now;
  const told: (readonly [number, string])[] = [];
  for (const [receivedAt, price] of [
    [START + 12 * SECOND, '101'],
    [START + 29 * SECOND, '102'],
    [START + 11 * SECOND, '100'],
  ] as const) {
    log.now = receivedAt;
    const { offset } = mark(log, price, { recordedAt: heldAt + 1000 });
    const { outputs } = runTask(SPEC, log.records);
    const rows = (outputs[offset]?.live ?? []).flatMap(({ kind, row }) => (kind === 'provisional' && row ? row : []));
    for (const { table, at, figures, instants } of rows) {
      if (table !== 'mark') continue;
      t.equal(instants['from_at'], at - 10 * SECOND);
      told.push([(at - START) / SECOND, figures['mark'] ?? '']);
    }
  }
  t.same(
    told,
    [
      [20, '101'],
      [30, '102'],
    ],
    'the newest ended window too; a reading that is not the last of its window changes nothing',
  );
  t.end();
});

t.test('windows sealed together without a reading share one gap row, but not across midnight', (t) => {
  const log = begin();
  log.now = START + 1 * SECOND;
  mark(log, '101');
  log.now = START + 13 * 3600 * SECOND;
  log.tick(['k1']);
  const rows = gaps(log);
  t.same(
    rows
      .map((r) => [r.instants['from_at'] ?? 0, r.at, r.texts['gap_cause']])
      .map(([from, at, cause]) => [(from as number) - START, (at as number) - START, cause]),
    [
      [10 * SECOND, 12 * 3600 * SECOND, 'collector_down'],
      [12 * 3600 * SECOND, (13 * 3600 - 110) * SECOND, 'collector_down'],
    ],
  );
  t.end();
});

t.test('windows that are sealed together are a row each where they have a reading', (t) => {
  const log = begin();
  for (const [seconds, price] of [
    [5, '101'],
    [15, '102'],
    [25, '103'],
    [45, '104'],
  ] as const) {
    log.now = START + seconds * SECOND;
    mark(log, price);
  }
  log.now = START + 150 * SECOND;
  log.tick(['k1']);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'mark');
  t.same(
    rows.map((r) => [((r.instants['from_at'] ?? 0) - START) / SECOND, (r.at - START) / SECOND, r.figures['mark']]),
    [
      [0, 10, '101'],
      [10, 20, '102'],
      [20, 30, '103'],
      [30, 40, undefined],
    ],
  );
  t.end();
});

t.test('the cause of a gap is the first that applies', (t) => {
  const quiet = begin();
  quiet.run(130 * SECOND, ['k1']);
  t.same([...new Set(gaps(quiet).map((r) => r.texts['gap_cause']))], ['no_update']);

  const lost = begin();
  lost.now += SECOND;
  mark(lost, '101');
  lost.json('lost', 'market', 'k1', { lost_at: lost.now, cause: 'venue_down', detail: '' });
  lost.run(140 * SECOND, []);
  t.same([...new Set(gaps(lost).map((r) => r.texts['gap_cause']))], ['venue_down'], 'also windows long after the loss');

  const refused = begin();
  refused.run(25 * SECOND, ['k1']);
  refused.json('lost', 'market', 'k1', { lost_at: refused.now, cause: 'connection_lost', detail: '' });
  refused.run(15 * SECOND, []);
  refused.json('lost', 'market', 'k9', { lost_at: refused.now, cause: 'venue_rate_limit', detail: '429' });
  refused.run(140 * SECOND, []);
  t.same(
    gaps(refused)
      .map((r) => r.texts['gap_cause'])
      .slice(0, 5),
    ['no_update', 'no_update', 'connection_lost', 'venue_rate_limit', 'venue_rate_limit'],
    'a failed attempt to connect explains why the slot stays down',
  );

  const dead = begin();
  dead.now += SECOND;
  mark(dead, '101');
  dead.run(140 * SECOND, [], 250_000, null);
  t.same([...new Set(gaps(dead).map((r) => r.texts['gap_cause']))], ['collector_down'], 'owner ticks are no collector');

  const bad = begin();
  bad.run(22 * SECOND, ['k1']);
  bad.append({
    kind: 'frame',
    slot: 'market',
    conn_id: 'k1',
    request: null,
    payload: Buffer.from('{"e":"markPriceUpdate"'),
  });
  bad.run(110 * SECOND, ['k1']);
  t.equal(gaps(bad).find((r) => r.at === START + 30 * SECOND)?.texts['gap_cause'], 'parse_error');

  const gone = begin();
  gone.now += 12 * SECOND;
  reference(gone, ['ETHUSDT']);
  gone.run(130 * SECOND, ['k1']);
  const btc = gaps(gone).filter((r) => r.texts['listing'] === LISTING);
  t.equal(btc.at(-1)?.texts['gap_cause'], 'not_listed');
  t.equal(btc.at(-1)?.at, START + 20 * SECOND, 'no window after the listing has gone');
  t.end();
});

t.test('every window of a published layer within the listing life is covered exactly once', (t) => {
  const log = begin(['BTCUSDT', 'ETHUSDT']);
  for (let i = 0; i < 300; i++) {
    log.run(SECOND, i % 7 === 3 ? [] : ['k1']);
    if (i % 3 !== 0) mark(log, `${100 + i}`);
    if (i % 50 === 20) log.now += 17 * SECOND;
  }
  const rows = listRows(runTask(SPEC, log.records).outputs, 'mark').filter(
    (r) => !r.flags['late'] && r.texts['listing'] === LISTING,
  );
  let from = START;
  for (const row of rows) {
    t.equal(row.instants['from_at'], from);
    from = row.at;
  }
  t.ok(rows.length > 20);
  t.end();
});

t.test('the first window of a listing is the one in which it was first seen (H-07)', (t) => {
  const log = begin(['BTCUSDT']);
  log.run(25 * SECOND, ['k1']);
  reference(log, ['BTCUSDT', 'ETHUSDT']);
  log.run(150 * SECOND, ['k1']);
  const rows = listRows(runTask(SPEC, log.records).outputs).filter(({ texts }) => texts['listing'] !== LISTING);
  const first = (name: string) => rows.find(({ table }) => table === name)?.instants['from_at'];
  t.equal(first('mark'), START + 20 * SECOND);
  t.equal(first('funding'), START);
  t.end();
});

t.test('a connection is out 3 s after the last record naming it, and back with a new span when named again', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  log.run(10 * SECOND, [], 250_000, 'c2');
  log.tick(['k1']);
  const { outputs } = runTask(SPEC, log.records);
  const spans = outputs.flatMap((o) => o.live.flatMap((e) => (e.span ? [e.span] : [])));
  t.same(
    spans.map((s) => [s.from - START, s.to === null ? null : s.to - START, s.cause]),
    [
      [0, null, null],
      [0, 4 * SECOND + 1000, 'collector_down'],
      [11 * SECOND, null, null],
    ],
  );
  t.equal(listRows(outputs, 'connections').length, 1, 'only ended spans are rows');
  t.end();
});

t.test('the connection opened last counts once it has delivered; the older one counts again when it is gone', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  log.json('open', 'market', 'k2', { opened_at: log.now, url: 'wss://test', covers: COVERS });
  log.now += SECOND;
  mark(log, '102');
  mark(log, '103', { connId: 'k2' });
  log.now += SECOND;
  mark(log, '104');
  log.json('lost', 'market', 'k2', { lost_at: log.now, cause: 'connection_lost', detail: '' });
  log.now += SECOND;
  mark(log, '105');
  const marks = listReadings(runTask(SPEC, log.records).outputs, 'mark');
  t.same(
    marks.map((r) => r.values['mark']),
    ['101', '102', '103', '105'],
  );
  t.same(
    marks.map((r) => r.rev),
    [1, 2, 3, 4],
  );
  t.end();
});

t.test('of an answer with more than it is polled for only the polled layer counts', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  const covers = [{ layers: ['funding'], symbols: null }];
  log.json('open', 'poll', 'k2', { opened_at: log.now, url: 'https://test', covers });
  log.now += SECOND;
  mark(log, '102', { connId: 'k2' });
  log.now += SECOND;
  mark(log, '103');
  const { outputs } = runTask(SPEC, log.records);
  const from = (layer: string): unknown[] => listReadings(outputs, layer).map(({ conn_id }) => conn_id);
  t.same(from('mark'), ['k1', 'k1'], 'a connection opened later does not take over what it does not cover');
  t.same(from('funding'), ['k1', 'k2']);
  t.end();
});

t.test(
  'a version of a listing keeps the element of its answer, and a change of other members makes no version (V-02)',
  (t) => {
    const log = new TestLog();
    log.capability(binance);
    const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
    const element = (tick: string, fee: string): string =>
      `{ "symbol":"BTCUSDT", "pair":"BTCUSDT","contractType":"PERPETUAL","status":"TRADING","baseAsset":"BTC","quoteAsset":"USDT","pricePrecision":2,"quantityPrecision":3,"deliveryDate":4133404800000,"liquidationFee": ${fee},"filters":[{"filterType":"PRICE_FILTER","tickSize":"${tick}"}]}`;
    const send = (symbols: readonly string[]): void => {
      log.now += SECOND;
      const payload = Buffer.from(`{"serverTime":1565246363776, "symbols":[${symbols.join(',\n')}]}`);
      log.append({ kind: 'response', slot: 'reference', conn_id: 'c1.reference', request, payload });
    };
    const big = element('0.20', '0.0').replace('"TRADING"', `"TRADING","note":"${'x'.repeat(20_000)}"`);
    const other = element('0.10', '0.0').replaceAll('BTCUSDT', 'ETHUSDT');
    for (const symbols of [
      [element('0.10', '1.250')],
      [element('0.10', '1.5')],
      [element('0.20', '0e0')],
      [other],
      [big, other],
    ])
      send(symbols);
    const versions = runTask(SPEC, log.records).outputs.flatMap(({ listings }) =>
      listings.filter(({ venue_symbol }) => venue_symbol === 'BTCUSDT'),
    );
    t.same(
      versions.map(({ record, raw }) => [record.values.tick_size, record.values.status, raw]),
      [
        ['0.1', 'tradeable', element('0.10', '1.250')],
        ['0.2', 'tradeable', element('0.20', '0e0')],
        ['0.2', 'delisted', element('0.20', '0e0')],
        ['0.2', 'tradeable', null],
      ],
      'the last words of what is gone stay; too long ones are not kept',
    );
    const { live, rows } = runTask(SPEC, log.records).outputs[1] ?? { live: [], rows: [] };
    t.equal(live.find(({ kind }) => kind === 'listing')?.listing?.raw, element('0.10', '1.250'));
    t.notMatch(JSON.stringify(rows), 'liquidationFee', 'rows are what they were');
    const { raw: _, ...before } = versions[0] as ListingVersion;
    const bytes = codecs.listing.encode(before as ListingVersion);
    t.equal(codecs.listing.decode(bytes).raw, null, 'a version out of an older checkpoint has none');
    t.end();
  },
);

t.test(
  'an answer about listings that was received before the last one changes nothing: its collector is behind',
  (t) => {
    const log = begin(['BTCUSDT']);
    const before = log.now;
    log.run(20 * SECOND, ['k1']);
    reference(log, ['BTCUSDT', 'ETHUSDT']);
    log.run(5 * SECOND, ['k1']);
    const { now } = log;
    log.now = before + SECOND;
    const symbols = [{ ...symbolInfo('BTCUSDT'), status: 'SETTLING' }];
    const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
    log.json('response', 'reference', 'c2.reference', { symbols }, { request, recordedAt: now });
    log.now = now;
    const listVersions = () =>
      runTask(SPEC, log.records).outputs.flatMap(({ listings }) =>
        listings.map(({ venue_symbol, record }) => [venue_symbol, record.values.status]),
      );
    const known = [
      ['BTCUSDT', 'tradeable'],
      ['ETHUSDT', 'tradeable'],
    ];
    t.same(listVersions(), known);
    log.now += SECOND;
    log.json('response', 'reference', 'c2.reference', { symbols }, { request });
    t.same(listVersions(), [...known, ['BTCUSDT', 'settling'], ['ETHUSDT', 'delisted']], 'a later one of it does');
    t.end();
  },
);

t.test('an answer that a collector stamped ahead of the log hides no answer that is recorded after it', (t) => {
  const log = begin(['BTCUSDT']);
  log.run(20 * SECOND, ['k1']);
  const { now } = log;
  const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
  log.now = now + 4 * SECOND;
  log.json('response', 'reference', 'c2.reference', { symbols: [symbolInfo('BTCUSDT')] }, { request, recordedAt: now });
  log.now = now + SECOND;
  reference(log, ['BTCUSDT', 'ETHUSDT']);
  const versions = runTask(SPEC, log.records).outputs.flatMap(({ listings }) => listings);
  t.same(
    versions.map(({ venue_symbol }) => venue_symbol),
    ['BTCUSDT', 'ETHUSDT'],
  );
  t.end();
});

t.test('an answer about funding intervals that was received before the last one changes no listing either', (t) => {
  const log = begin(['BTCUSDT']);
  const answer = (name: string, body: unknown, recordedAt = log.now): void => {
    const request = `GET https://fapi.binance.com/fapi/v1/${name}`;
    log.json('response', 'reference', 'c1.reference', body, { request, recordedAt });
  };
  const answerHours = (fundingIntervalHours: number, recordedAt = log.now): void =>
    answer('fundingInfo', [{ symbol: 'BTCUSDT', fundingIntervalHours }], recordedAt);
  const answerListings = (): void => answer('exchangeInfo', { symbols: [symbolInfo('BTCUSDT')] });
  const listIntervals = () =>
    runTask(SPEC, log.records).outputs.flatMap(({ listings }) =>
      listings.map(({ record }) => record.values.funding_interval),
    );
  const before = log.now;
  log.run(20 * SECOND, ['k1']);
  answerHours(4);
  answerListings();
  log.run(5 * SECOND, ['k1']);
  const { now } = log;
  log.now = before + SECOND;
  answerHours(1, now);
  log.now = now;
  answerListings();
  t.same(listIntervals(), ['8h', '4h']);
  answerHours(1);
  answerListings();
  t.same(listIntervals(), ['8h', '4h', '1h'], 'a later one does');
  t.end();
});

t.test('a listing that a venue keeps naming as delisted is so since the first such answer', (t) => {
  const log = new TestLog();
  log.capability(binance);
  const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
  const closed = '"status":"CLOSE"';
  const send = (status: string): void => {
    log.now += SECOND;
    const element = `{"symbol":"BTCUSDT","pair":"BTCUSDT","contractType":"PERPETUAL",${status},"baseAsset":"BTC","quoteAsset":"USDT","deliveryDate":4133404800000,"filters":[]}`;
    const payload = Buffer.from(`{"serverTime":1565246363776,"symbols":[${element}]}`);
    log.append({ kind: 'response', slot: 'reference', conn_id: 'c1.reference', request, payload });
  };
  for (const status of ['"status":"TRADING"', closed, closed, '"status":"TRADING"', closed]) send(status);
  const versions = runTask(SPEC, log.records).outputs.flatMap(({ listings }) => listings);
  const receivedAt = (n: number): number => log.records[log.records.length - n]?.message.received_at ?? Number.NaN;
  t.same(
    versions.map(({ delisted_at, record }) => [record.values.status, delisted_at]),
    [
      ['tradeable', null],
      ['delisted', receivedAt(4)],
      ['tradeable', null],
      ['delisted', receivedAt(1)],
    ],
  );
  t.end();
});

t.test('a listing that is absent before its announced end has ended; absent after it, it ended then', (t) => {
  const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
  const listEnds = (aheadMs: number): readonly unknown[] => {
    const log = new TestLog();
    log.capability(binance);
    const announcedMs = log.now / 1_000 + aheadMs;
    const element = `{"symbol":"BTCUSDT","pair":"BTCUSDT","contractType":"PERPETUAL","status":"TRADING","baseAsset":"BTC","quoteAsset":"USDT","deliveryDate":${announcedMs},"filters":[]}`;
    const other = element.replaceAll('BTCUSDT', 'ETHUSDT').replace(String(announcedMs), '4133404800000');
    for (const symbols of [`${element},${other}`, other, other]) {
      log.now += SECOND;
      const payload = Buffer.from(`{"serverTime":1565246363776,"symbols":[${symbols}]}`);
      log.append({ kind: 'response', slot: 'reference', conn_id: 'c1.reference', request, payload });
    }
    const versions = runTask(SPEC, log.records).outputs.flatMap(({ listings }) => listings);
    const own = versions.filter(({ venue_symbol }) => venue_symbol === 'BTCUSDT');
    return own.map(({ delisted_at, record }) => [
      record.values.status,
      ((delisted_at ?? 0) - announcedMs * 1_000) / SECOND,
    ]);
  };
  t.same(listEnds(3_600_000), [
    ['tradeable', 0],
    ['delisted', 2 - 3_600],
  ]);
  t.same(listEnds(1_500), [['tradeable', 0]]);
  t.end();
});

t.test('a listing that is named delisted before its announced end has ended', (t) => {
  const log = new TestLog();
  log.capability(binance);
  const announcedMs = log.now / 1_000 + 3_600_000;
  for (const [status, deliveryDate] of [
    ['TRADING', announcedMs],
    ['CLOSE', 4_133_404_800_000],
  ]) {
    log.now += SECOND;
    const symbol = {
      symbol: 'BTCUSDT',
      pair: 'BTCUSDT',
      contractType: 'PERPETUAL',
      baseAsset: 'BTC',
      quoteAsset: 'USDT',
    };
    const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
    log.json(
      'response',
      'reference',
      'r',
      { symbols: [{ ...symbol, status, deliveryDate, filters: [] }] },
      { request },
    );
  }
  const versions = runTask(SPEC, log.records).outputs.flatMap(({ listings }) => listings);
  t.same(
    versions.map(({ delisted_at, record }) => [record.values.status, delisted_at]),
    [
      ['tradeable', announcedMs * 1_000],
      ['delisted', log.now],
    ],
  );
  t.end();
});

t.test('repeats of a connection sequence number are no second message', (t) => {
  const log = begin();
  log.now += SECOND;
  const record = mark(log, '101');
  log.append({
    ...record.message,
    payload: Buffer.from('{"e":"markPriceUpdate","E":1,"s":"BTCUSDT","p":"7","i":"7","r":"0","T":2}'),
  });
  t.same(
    listReadings(runTask(SPEC, log.records).outputs, 'mark').map((r) => r.values['mark']),
    ['101'],
  );
  t.end();
});

t.test('a message that cannot be read is a dead letter with its code and stops nothing', (t) => {
  const log = begin();
  log.append({
    kind: 'frame',
    slot: 'market',
    conn_id: 'k1',
    request: null,
    payload: Buffer.from('{"e":"markPriceUpdate","s":1'),
  });
  log.now += SECOND;
  mark(log, '101');
  const { outputs } = runTask(SPEC, log.records);
  t.same(
    outputs.flatMap((o) => o.deadLetters.map((d) => d.code)),
    ['VENUE_BAD_FRAME'],
  );
  t.equal(listReadings(outputs, 'mark').length, 1);
  const decode = (): never => {
    throw new TypeError('a fault of our own');
  };
  const faults = runTask({ ...SPEC, venue: { ...binance, decode } }, log.records).outputs.flatMap((o) => o.deadLetters);
  t.same(new Set(faults.map(({ code }) => code)), new Set(['INTERNAL']), 'a fault of the code has a code too');
  t.end();
});

t.test('a connection that nothing names is out once more than three seconds of the log have passed', (t) => {
  const outAfter = (silenceUs: number): readonly unknown[] => {
    const log = begin();
    mark(log, '101');
    log.now += silenceUs;
    log.tick([]);
    const { outputs } = runTask(SPEC, log.records);
    return listRows(outputs, 'connections').map(({ texts }) => texts['cause']);
  };
  t.same(outAfter(3 * SECOND), []);
  t.same(outAfter(3 * SECOND + 1_000), ['collector_down']);
  t.end();
});

t.test('a listing that is not known yet is one dead letter, however often its venue names it', (t) => {
  const log = begin(['BTCUSDT']);
  for (let i = 0; i < 3; i++) {
    log.now += SECOND;
    mark(log, '101', { symbol: 'ETHUSDT' });
  }
  reference(log, ['BTCUSDT', 'ETHUSDT']);
  mark(log, '102', { symbol: 'ETHUSDT' });
  const { outputs } = runTask(SPEC, log.records);
  t.same(
    outputs.flatMap(({ deadLetters }) => deadLetters.map(({ code, message }) => [code, message])),
    [['VENUE_UNKNOWN_LISTING', 'no listing "ETHUSDT"']],
  );
  t.same(
    listReadings(outputs, 'mark').map(({ values }) => values['mark']),
    ['102'],
  );
  t.end();
});

t.test('a record that is no raw message at all is a dead letter with its bytes', (t) => {
  const log = begin();
  const task = new Task(SPEC);
  for (const record of log.records) task.process(record);
  const payload = Buffer.from('not ours');
  const { deadLetters } = task.process({
    offset: log.records.length,
    timestampMs: log.now / 1000,
    message: null,
    payload,
  });
  t.match(deadLetters, [{ code: 'RAW_BAD_RECORD', payload, offset: log.records.length }]);
  t.end();
});

const computeDigest = (outputs: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(outputs)).digest('hex');

/** Every item of a checkpoint taken now. */
const listItems = (task: Task): ReadonlyMap<string, string> => {
  const items = new Map<string, string>();
  const save = ({ key, body }: CheckpointEntry): void => void (key !== null && body !== null && items.set(key, body));
  saveSome(beginRound(task, save), { most: Number.POSITIVE_INFINITY, deadline: Number.POSITIVE_INFINITY }, save);
  return items;
};

t.test('the same log gives the same bytes, delivered once or twice, cut and restored anywhere', (t) => {
  const { records } = busyLog();
  const whole = runTask(SPEC, records).outputs;
  t.ok(listRows(whole).length > 150, `${listRows(whole).length} rows`);
  t.ok(
    listRows(whole).some((r) => r.flags['late']),
    'with late rows',
  );
  const expected = computeDigest(whole);
  t.equal(computeDigest(runTask(SPEC, records).outputs), expected);

  const twice = new Task(SPEC);
  const outputs = [];
  for (let i = 0; i < records.length; i += 50) {
    const batch = records.slice(i, i + 50);
    for (const record of batch) outputs.push(twice.process(record));
    for (const record of batch) t.equal(twice.process(record).live.length, 0);
  }
  t.equal(computeDigest(outputs), expected);

  let changed = 0;
  for (const cut of [1, 77, 311, 650, 901, 1203, records.length - 5]) {
    const first = new Task(SPEC);
    const before = records.slice(0, cut).map((r) => first.process(r));
    const entries: CheckpointEntry[] = [];
    const save = (entry: CheckpointEntry) => void entries.push(entry);
    const round = beginRound(first, save);
    const begun = entries.length;
    const isWhole = countUnsaved(round) === 0;
    t.equal(saveSome(round, { most: 0, deadline: Number.POSITIVE_INFINITY }, save), isWhole);
    t.equal(entries.length, begun, 'no more than requested');
    // The task continues while the round is saved: the restored state is still that at the cut.
    for (const record of records.slice(cut, cut + 40)) {
      first.process(record);
      saveSome(round, { most: Number.POSITIVE_INFINITY, deadline: 0 }, save);
    }
    const all = { most: Number.POSITIVE_INFINITY, deadline: Number.POSITIVE_INFINITY };
    while (!saveSome(round, all, save));
    save(makeMarker(round));
    const now = listItems(first);
    changed += entries.filter(({ key, body }) => key !== null && key !== 'core' && now.get(key) !== body).length;
    const restorer = createRestorer();
    for (const entry of entries) restorer.add(JSON.parse(JSON.stringify(entry)) as CheckpointEntry);
    const state = restorer.state();
    if (!state) return t.fail('no state restored');
    const second = new Task({ ...SPEC, state });
    const after = records.slice(cut).map((r) => second.process(r));
    t.equal(computeDigest([...before, ...after]), expected, `cut after ${cut} records`);
  }
  t.ok(changed > 0, `${changed} items changed while the rounds were saved`);
  t.end();
});
