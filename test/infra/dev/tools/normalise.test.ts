// The normaliser's command: records as text, counts, unread lines, whole books, exit codes (records.md).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { describeCounts, describeUnexpected, normalise } from '../../../../infra/dev/tools/normalise.ts';
import type { Venue } from '../../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../../ingest/venues/index.ts';
import { fixturePath } from '../../../support/venues/recordings.ts';

/** The path that records.md names, and the one that `npm run normalise` runs. */
const PROGRAM = join(import.meta.dirname, '../../../../infra/tools/normalise.ts');
const OWN_PROGRAM = join(import.meta.dirname, '../../../../infra/dev/tools/normalise.ts');

type Output = {
  readonly status: number | null;
  readonly lines: readonly string[];
  /** The last line on standard error, and the one before it. */
  readonly summary: string;
  readonly unexpected: string;
};

const command = (...args: readonly string[]): Output => run(PROGRAM, args);
const run = (program: string, args: readonly string[]): Output => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 29,
  });
  const [summary = '', unexpected = ''] = stderr.trim().split('\n').toReversed();
  return { status, lines: stdout.split('\n').slice(0, -1), summary, unexpected };
};
/** The command without its process. */
const read = async (assembled: boolean, files: readonly string[]): Promise<Output> => {
  const lines: string[] = [];
  const venue = venues.get('binance') as Venue;
  const counts = await normalise({ venue, files, assembled, write: (line) => void lines.push(line) });
  return { status: 0, lines, summary: describeCounts(counts), unexpected: describeUnexpected(counts) ?? '' };
};
const messages = (...files: readonly string[]): Promise<Output> => read(false, files);
const books = (...files: readonly string[]): Promise<Output> => read(true, files);
const fixture = (name: string): string => fixturePath(`binance/${name}`);

const folder = mkdtempSync(join(tmpdir(), 'normalise-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const recording = (name: string, lines: readonly unknown[]): string => {
  const path = join(folder, name);
  writeFileSync(path, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return path;
};
const ws = (raw: unknown): unknown => ({
  recv_ms: 1_700_000_000_123,
  kind: 'ws',
  dir: 'in',
  raw: typeof raw === 'string' ? raw : JSON.stringify(raw),
});
const rest = (url: string, body: unknown): unknown => ({
  recv_ms: null,
  kind: 'rest',
  dir: 'in',
  url,
  raw: JSON.stringify(body),
});
const diff = (
  first: number,
  last: number,
  previous: number,
  [bid, ask]: readonly [string, string],
  symbol = 'AUSDT',
): unknown =>
  ws({
    e: 'depthUpdate',
    E: 1_700_000_000_002,
    T: 1_700_000_000_001,
    s: symbol,
    U: first,
    u: last,
    pu: previous,
    b: [[bid, '1']],
    a: [[ask, '2']],
  });

t.test('a time of receipt that is no instant makes its line unread, and reading continues', async (t) => {
  const times = [1e20, -1, 4_102_444_800_001, Number.MAX_SAFE_INTEGER];
  const lines = [...times, 1_700_000_000_123].map((recv_ms) => ({
    ...(diff(1, 2, 0, ['5', '6']) as object),
    recv_ms,
  }));
  const { lines: printed, summary } = await messages(recording('far.ndjson', lines));
  t.equal(summary, `5 messages, ${printed.length} records, 4 unread, 0 errors`);
  t.ok(printed.length > 0);
  t.end();
});

t.test('a line that does not say who sent it is unread; what the client sent is no message', async (t) => {
  const raw = JSON.stringify({ e: 'aggTrade', s: 'BTCUSDT', a: 1, p: '2', q: '3', T: 4, m: true });
  const lines = [undefined, 'from', 'out', 'in'].map((dir) => ({ recv_ms: null, kind: 'ws', dir, raw }));
  const { lines: printed, summary } = await messages(recording('senders.ndjson', lines));
  t.equal(printed.length, 1);
  t.equal(summary, '3 messages, 1 records, 2 unread, 0 errors');
});

t.test('what cannot be read of an answer takes neither its listings nor the other rows with it', async (t) => {
  const symbol = (name: string, odd: object): object => ({
    ...{ symbol: name, pair: name, contractType: 'PERPETUAL', status: 'TRADING', baseAsset: 'B', quoteAsset: 'USDT' },
    ...odd,
  });
  const symbols = [symbol('AUSDT', { onboardDate: 'x' }), symbol('BUSDT', {})];
  const row = (name: string, markPrice: string): object => ({ symbol: name, markPrice, indexPrice: '0', time: 5 });
  const { lines, summary } = await messages(
    recording('rows.ndjson', [
      rest('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols }),
      rest('https://fapi.binance.com/fapi/v1/premiumIndex', [row('AUSDT', 'x'), row('BUSDT', '7')]),
    ]),
  );
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { layer: 'listing', venue_symbol: 'BUSDT' },
      { layer: 'error', code: 'VENUE_BAD_FRAME' },
      { layer: 'mark', venue_symbol: 'BUSDT', values: { mark: '7', index: null } },
      { layer: 'error', code: 'VENUE_BAD_FRAME' },
    ],
  );
  t.equal(summary, '2 messages, 2 records, 0 unread, 2 errors');
  t.end();
});

t.test('both paths of the command print the same', (t) => {
  const args = ['--venue', 'binance', fixture('jkorf-ws-examples.ndjson')];
  const named = run(PROGRAM, args);
  t.equal(named.status, 0);
  t.ok(named.lines.length > 10, `${named.lines.length} records`);
  t.same(run(OWN_PROGRAM, args), named);
  t.end();
});

t.test('a record is one line of its members in their order, instants written out, its source last', (t) => {
  const { status, lines, summary } = command('--venue', 'binance', fixture('crypto-msg-parser-swap-singles.ndjson'));
  t.equal(status, 0);
  t.equal(summary, '24 messages, 31 records, 1 unread, 0 errors');
  t.ok(
    lines.includes(
      '{"layer":"mark","venue":"binance","venue_symbol":"BTCUSDT","venue_ts":"2021-04-01T20:27:00.003Z","received_at":"2000-01-01T00:00:00.000Z",' +
        '"values":{"mark":"58940.14924532","index":"58857.26693664"},"src":{"file":"crypto-msg-parser-swap-singles.ndjson","line":6}}',
    ),
  );
  t.ok(
    lines.includes(
      '{"layer":"funding","venue":"binance","venue_symbol":"BTCUSDT","venue_ts":"2021-04-01T20:27:00.003Z","received_at":"2000-01-01T00:00:00.000Z",' +
        '"values":{"funding":"0.00058455","funding_interval_ms":null,"next_funding_at":"2021-04-02T00:00:00.000Z"},' +
        '"src":{"file":"crypto-msg-parser-swap-singles.ndjson","line":6}}',
    ),
  );
  t.end();
});

t.test("a venue's refusal carries nothing: it is counted, not printed", async (t) => {
  const path = recording('refusals.ndjson', [
    ws({ error: { code: 2, msg: 'Invalid request' }, id: 1 }),
    rest('GET /fapi/v1/depth?symbol=A', { code: -1121, msg: 'Invalid symbol.' }),
  ]);
  const { lines, summary, unexpected } = await messages(path);
  t.same(lines, []);
  t.equal(summary, '2 messages, 0 records, 0 unread, 0 errors');
  t.equal(unexpected, 'unexpected: refusal 2');
});

t.test('what cannot be read is reported and counted, and reading continues', (t) => {
  const path = recording('faulty.ndjson', [
    ws('{"e":"markPriceUpda'),
    'not a line of a recording',
    rest('taken by hand', { lastUpdateId: 7, bids: [], asks: [] }),
    { recv_ms: 1, kind: 'ws', dir: 'out', raw: '{"method":"SUBSCRIBE"}' },
    { recv_ms: 1, kind: 'ws', dir: 'open', url: 'wss://x', raw: '' },
    ws({ result: null, id: 1 }),
    ws({ e: 'markPriceUpdate', E: 1_700_000_000_001, s: 'AUSDT', p: '1.50', i: '1.25', r: '', T: 0 }),
  ]);
  const { status, lines, summary } = command('--venue', 'binance', path);
  t.equal(status, 0);
  t.equal(summary, '5 messages, 1 records, 2 unread, 1 errors');
  t.match(JSON.parse(lines[0] ?? ''), { layer: 'error', venue: 'binance', code: 'VENUE_BAD_FRAME', message: String });
  t.equal(
    lines[1],
    '{"layer":"mark","venue":"binance","venue_symbol":"AUSDT","venue_ts":"2023-11-14T22:13:20.001Z","received_at":"2023-11-14T22:13:20.123Z",' +
      '"values":{"mark":"1.5","index":"1.25"},"src":{"file":"faulty.ndjson","line":7}}',
  );
  t.equal(lines.length, 2);
  t.end();
});

t.test('unknown parts of messages are reported by kind, before the counts', (t) => {
  const trade = {
    e: 'aggTrade',
    E: 1_700_000_000_001,
    T: 1_700_000_000_001,
    s: 'AUSDT',
    a: 1,
    p: '1',
    q: '2',
    m: true,
  };
  const path = recording('odd.ndjson', [
    ws({ ...trade, m: null }),
    ws({ ...trade, m: 'maybe' }),
    ws({ ...trade, p: 'x' }),
    ws({ ...trade, s: undefined }),
    ws({ ...trade, e: 'aNewEvent' }),
    ws({ ...trade, e: 'anotherEvent' }),
    ws(trade),
  ]);
  const { status, lines, summary, unexpected } = command('--venue', 'binance', path);
  t.equal(status, 0);
  t.equal(unexpected, 'unexpected: bad_figure 1, missing_member 1, no_side 1, unknown_side 1, unread_channel 2');
  t.equal(summary, '7 messages, 1 records, 0 unread, 3 errors');
  t.equal(lines.length, 4);
  t.end();
});

t.test('an unknown venue and a missing argument exit with 2', (t) => {
  const unknown = command('--venue', 'nasdaq', fixture('tardis-tests-binance-futures.ndjson'));
  t.equal(unknown.status, 2);
  t.match(unknown.summary, /^unknown venue "nasdaq"; known: ([a-z-]+, )*binance(, [a-z-]+)*$/);
  t.equal(command('--venue', 'binance').status, 2);
  t.equal(command('--venue', 'binance', join(folder, 'absent.ndjson')).status, 1);
  t.end();
});

t.test('a hole after the join gives a gap', async (t) => {
  const snapshot = rest('https://fapi.binance.com/fapi/v1/depth?symbol=AUSDT&limit=1000', {
    lastUpdateId: 10,
    T: 1_700_000_000_000,
    bids: [['5', '1']],
    asks: [['6', '1']],
  });
  const path = recording('hole.ndjson', [snapshot, diff(9, 12, 8, ['5', '7']), diff(15, 16, 14, ['5', '7'])]);
  const plain = (await messages(path)).lines;
  t.same(
    plain.map((line) => (JSON.parse(line) as { layer: string }).layer),
    ['book', 'book', 'book', 'gap'],
  );
  t.equal(
    plain[3],
    '{"layer":"gap","venue":"binance","venue_symbol":"AUSDT","venue_ts":null,"received_at":"2023-11-14T22:13:20.123Z",' +
      '"values":{"scope":"symbol","cause":"sequence_break","of":["book"]},"src":{"file":"hole.ndjson","line":3}}',
  );
  const assembled = (await books(path)).lines;
  t.same(
    assembled.map((line) => (JSON.parse(line) as { layer: string }).layer),
    ['book', 'book', 'gap'],
  );
  t.match(JSON.parse(assembled[1] ?? ''), {
    venue_ts: '2023-11-14T22:13:20.001Z',
    values: {
      bids: [['5', '1']],
      asks: [
        ['6', '1'],
        ['7', '2'],
      ],
      sequence: '12',
      collected_levels: { bids: 1, asks: 2 },
      bands: { '10bps': { reference: '5.5' } },
    },
    src: { line: 2 },
  });
});

t.test(
  'a snapshot that joins newer diffs is the book of the last of them, with its stamp, as it is served (D-54)',
  async (t) => {
    const snapshot = (lastUpdateId: number) =>
      rest('https://fapi.binance.com/fapi/v1/depth?symbol=AUSDT&limit=1000', {
        ...{ lastUpdateId, T: 1_700_000_000_000, bids: [['5', '1']], asks: [['6', '1']] },
      });
    const diffs = [diff(9, 12, 8, ['5', '7']), diff(13, 14, 12, ['5', '8'])];
    const [joined] = (await books(recording('joined.ndjson', [...diffs, snapshot(10)]))).lines;
    t.match(JSON.parse(joined ?? ''), {
      venue_ts: '2023-11-14T22:13:20.001Z',
      values: { sequence: '14' },
      src: { line: 3 },
    });
    const [alone] = (await books(recording('alone.ndjson', [...diffs, snapshot(20)]))).lines;
    t.match(JSON.parse(alone ?? ''), { venue_ts: '2023-11-14T22:13:20.000Z', values: { sequence: '20' } });
  },
);

t.test(
  'white space between the members of a message does not hide whose an answer without a request is (D-09)',
  async (t) => {
    const lines = [
      diff(9, 12, 8, ['5', '7']),
      rest('inside the capture', { lastUpdateId: 10, T: 1_700_000_000_000, bids: [['5', '1']], asks: [['6', '1']] }),
      diff(13, 14, 12, ['5', '8']),
    ] as readonly { readonly raw: string }[];
    const spaced = lines.map((line) => ({ ...line, raw: JSON.stringify(JSON.parse(line.raw), null, 2) }));
    const expected = await books(recording('whole.ndjson', lines));
    t.same(
      expected.lines.map((line) => JSON.parse(line).values.sequence),
      ['12', '14'],
    );
    const { lines: printed, summary } = await books(recording('spaced.ndjson', spaced));
    t.same(
      printed.map((line) => line.replace('spaced.ndjson', 'whole.ndjson')),
      expected.lines,
    );
    t.equal(summary, expected.summary);
  },
);

t.test('a line ends at its line feed, whatever else a message contains', async (t) => {
  const path = join(folder, 'separators.ndjson');
  const trade = ws({ e: 'trade', s: 'A\u2028B\u2029USDT', t: 1, p: '5', q: '1', T: 1_700_000_000_000, m: true });
  writeFileSync(path, `${JSON.stringify(trade)}\r\n\r\n${JSON.stringify(trade)}`);
  const { lines, summary } = await messages(path);
  t.equal(summary, '2 messages, 2 records, 0 unread, 0 errors');
  t.same(
    lines.map((line) => JSON.parse(line)).map(({ venue_symbol, src }) => [venue_symbol, src.line]),
    [1, 3].map((line) => ['A\u2028B\u2029USDT', line]),
  );
});

t.test('a crossed book is reported once and not printed', async (t) => {
  const snapshot = rest('/fapi/v1/depth?symbol=AUSDT', { lastUpdateId: 10, bids: [['5', '1']], asks: [['6', '1']] });
  const crossed = recording('crossed.ndjson', [
    snapshot,
    diff(11, 12, 10, ['6.5', '7']),
    diff(13, 14, 12, ['6.6', '8']),
  ]);
  const lines = (await books(crossed)).lines.map(
    (line) => JSON.parse(line) as { layer: string; values: { cause?: string } },
  );
  t.same(
    lines.map(({ layer, values }) => [layer, values.cause]),
    [
      ['book', undefined],
      ['gap', 'crossed_book'],
    ],
  );
});

t.test('an answer of few levels begins a book that is not whole, and confirms one that is', async (t) => {
  const few = (id: number, bid: string): unknown =>
    rest('/fapi/v1/depth?symbol=AUSDT&limit=5', { lastUpdateId: id, bids: [[bid, '1']], asks: [['9', '1']] });
  const path = recording('few.ndjson', [
    few(10, '5'),
    diff(11, 12, 10, ['5.5', '8']),
    few(12, '5'),
    diff(20, 21, 19, ['6', '8']),
    few(21, '7'),
  ]);
  t.same(
    (await books(path)).lines
      .map((line) => JSON.parse(line))
      .map(({ values, src }) => [values.cause ?? values.bids.map(([price]: string[]) => price).join(), src.line]),
    [
      ['5', 1],
      ['5.5,5', 2],
      ['sequence_break', 4],
      ['7,6', 5],
    ],
  );
  const [first] = (await books(path)).lines;
  t.match(JSON.parse(first ?? ''), { values: { bands: { '100bps': { complete: { bid: true, ask: true } } } } });
});

t.test('a book whose request is not recorded joins the one chain its update id lies on', async (t) => {
  const stray = rest('in the capture', { lastUpdateId: 11, bids: [['5', '1']], asks: [['6', '1']] });
  const one = recording('stray.ndjson', [
    diff(9, 10, 8, ['5', '7']),
    stray,
    diff(11, 12, 10, ['5', '8']),
    diff(30, 40, 29, ['5', '8'], 'BUSDT'),
  ]);
  t.equal(
    (await messages(one)).summary,
    '4 messages, 3 records, 1 unread, 0 errors',
    'without --assembled nobody needs it',
  );
  const assembled = await books(one);
  t.equal(assembled.summary, '4 messages, 2 records, 0 unread, 0 errors');
  t.match(JSON.parse(assembled.lines[0] ?? ''), {
    venue_symbol: 'AUSDT',
    values: { sequence: '11' },
    src: { line: 2 },
  });
  const two = recording('ambiguous.ndjson', [diff(9, 12, 8, ['5', '7']), diff(9, 12, 8, ['5', '7'], 'BUSDT'), stray]);
  t.equal((await books(two)).summary, '3 messages, 0 records, 1 unread, 0 errors', 'two chains prove nothing');
});

t.test('gzipped sessions are read as they are; the snapshot inside joins, and no book is lost', async (t) => {
  const { lines, summary } = await books(fixture('hftbacktest-usdm-btcusdt-20240808.ndjson.gz'));
  t.equal(summary, '1599 messages, 1593 records, 0 unread, 0 errors');
  const printed = lines.map(
    (line) =>
      JSON.parse(line) as { layer: string; values: { bids: string[][]; asks: string[][]; collected_levels: unknown } },
  );
  t.ok(
    printed.every(({ layer }) => layer === 'book'),
    'no gaps',
  );
  t.ok(
    printed.every(({ values }) => Number(values.bids[0]?.[0]) < Number(values.asks[0]?.[0])),
    'never crossed',
  );
  t.ok(printed.every(({ values }) => values.bids.length === 25 && values.asks.length === 25));
  // The snapshot of line 55 has 2.909 at the best bid; a diff kept before it, 2.89.
  t.same(printed[0]?.values.bids[0], ['61800.2', '2.89']);
  const listed = await books(
    fixture('cryptofeed-coinm-rest-instruments.ndjson.gz'),
    fixture('cryptofeed-coinm-rest-http.ndjson.gz'),
  );
  const band = listed.lines.map(
    (line) =>
      JSON.parse(line) as { layer: string; values: { bands: Record<string, { bid: string; bid_value: string }> } },
  );
  const deepest = band.find(({ layer }) => layer === 'book')?.values.bands['10bps'];
  t.equal(Number(deepest?.bid_value), 10 * Number(deepest?.bid), 'contracts of 10 USD once the listing is known');
});
