// Every command of `perp` over the documented answers: its request, in every format; no endpoint without a command, no command without a case.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import t from 'tap';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM } from '../../../api/stream/request.ts';
import { clipLine, formatCsv, listTableLines } from '../../../clients/cli/output.ts';
import { Picture } from '../../../clients/cli/picture.ts';
import { buildProgram, runPerp } from '../../../clients/cli/program.ts';
import { describeCompleteness, toScreenRows, toSnapshotRows } from '../../../clients/cli/rows.ts';
import { ENDPOINTS } from '../../../clients/typescript/src/api-types.ts';
import type {
  LiquidationsAnswer,
  LiveEvent,
  ScreenAnswer,
  SnapshotsAnswer,
} from '../../../clients/typescript/src/index.ts';
import { answerJson, type EdgeAnswer, frame, openEdgeServer } from '../../support/services/edge-server.ts';

type Asked = { readonly method: string; readonly path: string; readonly sent: Readonly<Record<string, unknown>> };

const folder = mkdtempSync(join(tmpdir(), 'perp-commands-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const ENDPOINT_LIST: readonly Endpoint[] = [...OPERATIONS, STREAM];
const toPattern = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
/** A path without parameters before those with. */
const findEndpoint = (method: string, path: string): Endpoint | undefined =>
  ENDPOINT_LIST.find((one) => one.method === method && one.path === path) ??
  ENDPOINT_LIST.find((one) => one.method === method && toPattern(one.path).test(path));

const HELLO = { resumed: false, evaluated_at: '2026-01-15T12:00:00.000Z', heartbeat_ms: 15_000 };
const STREAMED = [
  ...STREAM.example.output.split('\n\n').filter((text) => !text.includes('event: hello') && text !== ''),
].map((text) => `${text}\n\n`);
const BYE = frame('z', 'bye', { reason: 'rotate', reconnect: false });

/** The answer as a page without a next one. */
const onePage = (answer: unknown): unknown => {
  const { page, items } = answer as { page?: object; items?: readonly object[] };
  return page === undefined
    ? answer
    : { ...(answer as object), page: { ...page, next_cursor: null }, ...(items && { items }) };
};

/** Two pages of liquidations: a gap is on the page on which it begins, here the first. */
const twoPages = (answer: LiquidationsAnswer<string>, cursor: unknown): unknown =>
  cursor === undefined
    ? { ...answer, page: { ...answer.page, next_cursor: 'more' } }
    : onePage({ ...answer, items: answer.items.map((item) => ({ ...item, gaps: [] })) });

const asked: Asked[] = [];
const answer: EdgeAnswer = (response, request) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
  const endpoint = findEndpoint(request.method ?? '', pathname);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    const sent = body === '' ? Object.fromEntries(searchParams) : (JSON.parse(body) as Asked['sent']);
    if (endpoint === undefined) {
      answerJson(200, { status: 'ready', simulated: true })(response, request);
      return;
    }
    asked.push({ method: endpoint.method, path: endpoint.path, sent });
    if (endpoint.name === 'stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end([frame('h', 'hello', HELLO), ...STREAMED, BYE].join(''));
    } else if (request.headers.accept === 'application/vnd.apache.parquet') {
      const goesOn = sent['side'] === 'short' && sent['cursor'] === undefined;
      if (goesOn) response.setHeader('x-service-page', '{"limit":5000,"returned":5000,"next_cursor":"more"}');
      response.writeHead(200, { 'content-type': 'application/vnd.apache.parquet' }).end('PAR1 PAR1');
    } else if (endpoint.name === 'liquidations' && sent['side'] === 'long') {
      const pages = twoPages(endpoint.example.output as LiquidationsAnswer<string>, sent['cursor']);
      answerJson(200, pages)(response, request);
    } else answerJson(200, onePage(endpoint.example.output))(response, request);
  });
};
const edge = await openEdgeServer(t, [answer]);

const stream = (isTTY: boolean) => {
  const seen = { text: '' };
  const through = new PassThrough();
  through.on('data', (chunk: Buffer) => {
    seen.text += String(chunk);
  });
  return { seen, stream: Object.assign(through, { isTTY, columns: 100, rows: 20, hasColors: () => isTTY }) };
};

const world = (isTty: boolean, input = '') => {
  const [out, err] = [stream(isTty), stream(isTty)];
  const env = { HOME: folder, PERP_BASE_URL: edge.url, PERP_API_KEY: 'k' };
  const signal = new AbortController().signal;
  const read = Readable.from([input]) as NodeJS.ReadStream;
  return { out, err, of: { env, input: read, out: out.stream, err: err.stream, signal } };
};

const run = async (words: readonly string[], { isTty = false, input = '' } = {}) => {
  const { out, err, of } = world(isTty, input);
  const count = asked.length;
  const code = await runPerp(words, of);
  return { code, out: out.seen.text, err: err.seen.text, asked: asked.slice(count) };
};

/** The typed arguments, and the part of the request that they determine. */
type Case = readonly [words: readonly string[], sent: Readonly<Record<string, unknown>>];
const PERIOD = { from: '2026-01-15T10:00:00Z', to: '2026-01-15T11:00:00Z' };
const BETWEEN = ['--from', PERIOD.from, '--to', PERIOD.to];
const WHERE = ['-w', 'base = BTC'];
const CASES: readonly Case[] = [
  [['venues'], {}],
  [
    ['instruments', ...WHERE, '--as-of', '2026-01-15', '-u', 'base', '--include-raw'],
    { where: 'base = BTC', as_of: '2026-01-15', units: 'base', include_raw: 'true' },
  ],
  [
    ['snapshots', ...WHERE, '-l', 'mark,funding', '-u', 'quote', '--freshness', '5s', '--allow-stale', '--include-raw'],
    {
      ...{ where: 'base = BTC', layers: ['mark', 'funding'], units: 'quote' },
      ...{ freshness: '5s', allow_stale: true, include_raw: true },
    },
  ],
  [
    ['screen', 'any(venues where mark > 1)', '--limit', '5', '--include-unknown', '--freshness', '9s'],
    { query: 'any(venues where mark > 1)', limit: 5, include_unknown: true, freshness: '9s' },
  ],
  [['history', '-l', 'mark', ...BETWEEN], { ...PERIOD, layers: ['mark'], interval: '1m' }],
  [['history', ...BETWEEN, '--interval', '10s', '--allow-stale'], { interval: '10s', allow_stale: true }],
  [['history', ...BETWEEN, '--raw'], { raw: true }],
  [['history', '--at', '2026-01-15,2026-01-16'], { at: ['2026-01-15', '2026-01-16'] }],
  [['candles', ...BETWEEN, '-t', '5m', '--price-type', 'mark'], { ...PERIOD, timeframe: '5m', price_type: 'mark' }],
  [['books', '--depth', '3', '-u', 'base'], { depth: 3, units: 'base' }],
  [['liquidations', ...BETWEEN, '--side', 'long'], { ...PERIOD, side: 'long' }],
  [
    ['stream', '-l', 'mark,book', '--depth', '2', '-t', '5m', '--rules', '--allow-stale'],
    { layers: 'mark,book', depth: '2', timeframe: '5m', rules: 'true', allow_stale: 'true' },
  ],
  [['rules', 'rule_a', 'rule_b', '--fresh'], { rule_id: 'rule_a,rule_b', fresh: 'true' }],
  [['account'], {}],
  [['receipt', 'rcp_1'], {}],
  [['doctor'], {}],
  [['archive', 'ls', ...WHERE, '--layer', 'mark', '--from', '2026-01-10'], { layer: 'mark', from: '2026-01-10' }],
  [['proof', 'day', '2026-01-14'], {}],
  [['dql', 'check', 'base = BTC'], { query: 'base = BTC' }],
  [['dql', 'catalogue'], {}],
];
/** A figure of each command that prints some. */
const FIGURES: Readonly<Record<string, string>> = {
  ...{ instruments: 'tick_size', snapshots: 'mark', screen: 'funding_8h', history: 'mark' },
  ...{ candles: 'volume', books: 'bid_size', liquidations: 'quantity' },
};
/** Commands that a test of their own runs: they write files, or send no request. */
const ELSEWHERE = ['login', 'logout', 'completion', 'archive get', 'proof verify'];

const formatPath = ({ name, path }: Endpoint): string => `${name} ${path}`;

t.test('each command sends what was typed; objects, CSV and a table come of it', async (t) => {
  for (const [words, sent] of CASES) {
    const title = words.join(' ');
    const json = await run([...words, '--json']);
    t.equal(json.code, 0, `${title}: ${json.err}`);
    t.match(json.asked[0]?.sent, sent, title);
    const lines = json.out.trim().split('\n');
    t.ok(lines.length > 0 && lines.every((line) => typeof JSON.parse(line) === 'object'), `${title}: an object a line`);
    if (words[0] === 'stream') continue;
    const csv = await run([...words, '--csv']);
    t.equal(csv.code, 0, `${title} --csv: ${csv.err}`);
    t.match(csv.out, /^[a-z_]+.*\r\n/, `${title}: a heading`);
    const figure = FIGURES[words[0] ?? ''];
    if (figure !== undefined) {
      const [names = [], ...lines] = csv.out
        .trim()
        .split('\r\n')
        .map((line) => line.split(','));
      const cells = (name: string) => lines.map((line) => line[names.indexOf(name)] ?? '');
      const units = cells(`units.${figure}`).filter((_, i) => cells(figure)[i] !== '');
      t.match(units.join(), /^(quote|base|contracts|fraction)(,|$)/, `${title}: figures have units`);
      t.notOk(units.includes(''), `${title}: each of them`);
    }
    const table = await run(words, { isTty: true });
    t.equal(table.code, 0, `${title} on a terminal: ${table.err}`);
    t.notMatch(table.out, /\[object Object\]|undefined|NaN/, title);
    t.notMatch(csv.out, /\[object Object\]|undefined|NaN/, title);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is looked for
    t.notMatch(json.out + csv.out, /\x1b/, `${title}: no colour off a terminal`);
  }
});

/** Columns that stand for a level, a key, a fact or a gap of the answer; members that the documented answers do not have. */
const NAMED_HERE = [
  ...['layer', 'kind', 'fact', 'value', 'bid', 'ask', 'bid_size', 'ask_size', 'status', 'gap_to'],
  ...['reason', 'gap_cause', 'trades'],
];

const listMembers = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(listMembers)];

t.test('columns of CSV are members of the answer, under their names', async (t) => {
  for (const [words] of CASES) {
    if (words[0] === 'stream') continue;
    const { out } = await run([...words, '--csv']);
    const objects = (await run([...words, '--json'])).out.trim().split('\n');
    const members = new Set([...NAMED_HERE, ...listMembers(objects.map((line) => JSON.parse(line)))]);
    const [heading = ''] = out.split('\r\n');
    const names = heading.replaceAll(/"[^"]*"/g, 'x').split(',');
    const others = names.filter((name) => !members.has(name) && !/^(units|reason)\.|[()]|^x$/.test(name));
    t.same(others, [], words.join(' '));
  }
});

t.test(
  'a value of a screen that is none is empty in CSV, with its reason beside it; a table shows the reason',
  async (t) => {
    const stamps = { venue_ts: null, received_at: null, age_ms: null };
    const value = { value: null, unit: 'quote', ...stamps, status: 'stale', reason: 'freshness_bound' };
    const venues = [{ venue: 'okx', symbol: 'BTC-USDT-SWAP', quote: 'USDT', values: { mark: value } }];
    const answer = { instruments: [{ instrument: 'BTC-PERP', result: 'true', values: {}, venues }] };
    const rows = toScreenRows(answer as unknown as ScreenAnswer);
    t.equal(
      formatCsv(rows),
      'instrument,result,venue,symbol,quote,mark,units.mark,reason.mark\r\n' +
        'BTC-PERP,true,okx,BTC-USDT-SWAP,USDT,,quote,freshness_bound\r\n',
    );
    t.match(listTableLines(rows, new PassThrough()).join('\n'), /mark \(quote\)\n.* freshness_bound$/);
  },
);

t.test('a figure that is null in a reading is an empty cell, with its reason beside it', async (t) => {
  const values = { change_24h: null, volume_24h: '7' };
  const units = { change_24h: 'fraction', volume_24h: 'contracts' };
  const reading = { status: 'present', age_ms: 4, venue_age_ms: 5, values, units };
  const stats = { ...reading, null_reasons: { change_24h: 'venue_capability' } };
  const item = { venue: 'okx', venue_symbol: 'BTC-USDT-SWAP', instrument: 'BTC-PERP', layers: { stats } };
  const rows = toSnapshotRows({ items: [item] } as unknown as SnapshotsAnswer<string>);
  t.equal(
    formatCsv(rows),
    'venue,venue_symbol,instrument,layer,status,reason,gap_cause,age_ms,venue_age_ms,change_24h,volume_24h,' +
      'units.change_24h,units.volume_24h,null_reasons.change_24h\r\n' +
      'okx,BTC-USDT-SWAP,BTC-PERP,stats,present,,,4,5,,7,fraction,contracts,venue_capability\r\n',
  );
  t.match(listTableLines(rows, new PassThrough())[1], / 0\.0s +venue_capability +7$/);
});

t.test('no endpoint is without a command, no command without a case', async (t) => {
  const reached = new Set(asked.map(({ method, path }) => `${method} ${path}`));
  // `proof verify` and `archive get` call the two that are left.
  await run([
    'proof',
    'verify',
    '--venue',
    'v',
    '--symbol',
    'S',
    '--layer',
    'mark',
    '--at',
    '2026-01-15',
    '--seq',
    '7',
  ]);
  t.match(asked.at(-1), { path: '/v2/anchors/proof', sent: { seq: '7' } });
  reached.add('GET /v2/anchors/proof').add('GET /v2/archive/{listing}/{layer}/{day}');
  const missing = Object.values(ENDPOINTS).filter(({ method, path }) => !reached.has(`${method} ${path}`));
  t.same(missing, []);
  const listNames = (command: Command, before: string): string[] =>
    command.commands.flatMap((one) =>
      one.commands.length > 0 ? listNames(one, `${before}${one.name()} `) : [`${before}${one.name()}`],
    );
  const names = listNames(buildProgram(world(false).of), '').filter((name) => !name.startsWith('__'));
  const cased = CASES.map(([words]) =>
    words.slice(0, ['archive', 'proof', 'dql'].includes(words[0] ?? '') ? 2 : 1).join(' '),
  );
  t.same([...new Set([...cased, ...ELSEWHERE])].sort(), names.sort());
  t.ok(ENDPOINT_LIST.map(formatPath).length === Object.keys(ENDPOINTS).length);
});

t.test('a table of liquidations has its gaps and how complete each venue is', async (t) => {
  const { output } = ENDPOINT_LIST.find(({ name }) => name === 'liquidations')?.example ?? {};
  const answer = output as LiquidationsAnswer<string>;
  const csv = await run(['liquidations', ...BETWEEN, '--csv']);
  const gaps = answer.items.flatMap((item) => item.gaps.map((gap) => ({ ...item, ...gap })));
  t.ok(gaps.length > 0, 'the documented answer has a gap');
  for (const { venue, venue_symbol, completeness, from, to, gap_cause } of gaps)
    t.match(csv.out, `${from},${venue},${venue_symbol},missing,${gap_cause},${to},${completeness}`);
  const paged = await run(['liquidations', ...BETWEEN, '--side', 'long', '--csv']);
  t.equal(paged.out.split(',missing,').length - 1, gaps.length, 'the gaps of every page');
  const shown = await run(['liquidations', ...BETWEEN], { isTty: true });
  t.match(shown.err + shown.out, `${gaps.length} gap`);
  t.equal(describeCompleteness(answer), '', 'each of them is published');
  const items = answer.items.map((item) => ({ ...item, completeness: 'sampled' as const }));
  t.match(describeCompleteness({ ...answer, items }), `not complete: ${items[0]?.venue} (sampled)`);
});

t.test('tables of Parquet go to a file or a pipe; a stream has no table off a terminal', async (t) => {
  for (const name of ['history', 'candles', 'liquidations'])
    t.equal((await run([name, ...BETWEEN, '--parquet'])).out, 'PAR1 PAR1', name);
  const many = await run(['liquidations', ...BETWEEN, '--side', 'short', '--parquet']);
  t.match(many, { code: 1, out: '', err: /more than one Parquet file/ }, 'no file holds a part without a word');
  t.match(many.asked[0]?.sent, { limit: 5_000 });
  t.equal((await run(['stream', '--csv'])).code, 1);
  t.equal((await run(['history', '--at', '2026-01-15', '--raw'])).code, 1, 'two ways of choosing rows');
  t.match((await run(['--version'])).out, /^\d+\.\d+\.\d+\n$/);
});

t.test('stale figures are shown when they are requested', (t) => {
  const state = {
    status: 'stale',
    reason: 'horizon_passed',
    received_at: HELLO.evaluated_at,
    values: {},
    units: { mark: 'quote' },
  };
  const held = { venue: 'v', venue_symbol: 'S', instrument: 'I', layer: 'mark', rev: 1 };
  const data = { ...held, state: { ...state, withheld: { values: { mark: '5' } } } };
  const picture = new Picture();
  picture.take({ id: '1', event: 'snapshot', data } as unknown as LiveEvent<string>, 0);
  t.match(picture.lines(stream(false).stream, 0).join('\n'), /stale +.*mark 5 quote/);
  const items = [{ ...held, layers: { mark: data.state } }];
  t.match(toSnapshotRows({ items } as unknown as SnapshotsAnswer<string>), [
    { status: 'stale', mark: '5', 'units.mark': 'quote' },
  ]);
  t.end();
});

t.test('ages are by the clock of the service, and no line of the live table wraps', (t) => {
  const out = Object.assign(stream(true).stream, { columns: 30, rows: 10 });
  const picture = new Picture();
  const at = Date.parse(HELLO.evaluated_at);
  const hourBehind = at - 3_600_000;
  picture.take({ id: '1', event: 'hello', data: HELLO } as unknown as LiveEvent<string>, hourBehind);
  const state = { status: 'present', received_at: HELLO.evaluated_at, units: {}, values: { mark: '1'.repeat(40) } };
  const data = { venue: 'venue', venue_symbol: 'SYMBOL', instrument: 'I', layer: 'mark', rev: 1, state };
  picture.take({ id: '1', event: 'snapshot', data } as unknown as LiveEvent<string>, hourBehind);
  const lines = picture.lines(out, hourBehind + 2_000).map((line) => stripVTControlCharacters(line));
  t.ok(
    lines.every((line) => line.length <= 30),
    lines.join('\n'),
  );
  t.match(Object.assign(out, { columns: 200 }) && picture.lines(out, hourBehind + 2_000).join('\n'), / 2\.0s /);
  const again = (resumed: boolean) =>
    picture.take({ id: '2', event: 'hello', data: { ...HELLO, resumed } } as unknown as LiveEvent<string>, hourBehind);
  again(true);
  t.match(picture.lines(out, hourBehind).join('\n'), /SYMBOL/, 'a resumed stream goes on');
  const ended = new Picture();
  ended.take({ id: '1', event: 'snapshot', data } as unknown as LiveEvent<string>, hourBehind);
  ended.take(
    { id: '2', event: 'hello', data: { ...HELLO, resumed: false } } as unknown as LiveEvent<string>,
    hourBehind,
  );
  t.notMatch(ended.lines(out, hourBehind).join('\n'), /SYMBOL/, 'one that begins anew sends everything again');
  const unsized = picture.lines(Object.assign(out, { columns: 0, rows: 0 }), hourBehind);
  t.match(unsized.join('\n'), /SYMBOL/, 'a terminal without a size shows it all the same');
  t.equal(
    clipLine('\u001b[32mgreen\u001b[39m tail', 3),
    '\u001b[32mgre\u001b[39m',
    'a colour that is cut ends all the same',
  );
  t.equal(listTableLines([{ a: 'short' }], out)[1], 'short');
  t.end();
});
