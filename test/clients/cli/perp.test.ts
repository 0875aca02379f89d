// `perp` over the real API: what goes to standard output and what to standard error, formats, exit codes, the fault underlined, the live table.
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { AccountStore } from '../../../api/access/account-store.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { listStaleFindings } from '../../../clients/cli/doctor.ts';
import { listErrorLines } from '../../../clients/cli/exit.ts';
import { stopAtSignals } from '../../../clients/cli/interrupts.ts';
import { formatCsv, formatJson, listTableLines } from '../../../clients/cli/output.ts';
import { runPerp } from '../../../clients/cli/program.ts';
import { readPeriod } from '../../../clients/cli/run.ts';
import { ApiError } from '../../../clients/typescript/src/index.ts';
import { market, markReading, NOW, testApp } from '../../support/apps/live-fixture.ts';
import { answerJson, type EdgeAnswer, openEdgeServer, refuse } from '../../support/services/edge-server.ts';
import { waitFor } from '../../support/wait.ts';

const home = mkdtempSync(join(tmpdir(), 'perp-'));
const feed = market();
const accounts: AccountStore = { read: async () => null };
const { app, keys } = await testApp(feed, { accounts });
const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
t.teardown(async () => {
  await app.close();
  rmSync(home, { recursive: true, force: true });
});

type Over = {
  readonly env?: Record<string, string>;
  readonly isTty?: boolean;
  readonly input?: string | PassThrough;
  readonly signal?: AbortSignal;
};
const ENV = { HOME: home, PERP_BASE_URL: baseUrl, PERP_API_KEY: keys.pro_plus };

const stream = (isTTY: boolean) => {
  const through = new PassThrough();
  const seen = { text: '' };
  through.on('data', (chunk: Buffer) => {
    seen.text += String(chunk);
  });
  return { seen, stream: Object.assign(through, { isTTY, columns: 120, rows: 10 }) };
};

const start = (words: readonly string[], { env = ENV, isTty = false, input = '', signal }: Over = {}) => {
  const [out, err] = [stream(isTty), stream(isTty)];
  const world = {
    env,
    out: out.stream,
    err: err.stream,
    input: (typeof input === 'string' ? Readable.from([input]) : input) as NodeJS.ReadStream,
    signal: signal ?? new AbortController().signal,
  };
  const code = runPerp(words, world);
  return { out: out.seen, err: err.seen, code };
};
const run = async (words: readonly string[], over: Over = {}) => {
  const { out, err, code } = start(words, over);
  const ended = await code;
  return { code: ended, out: out.text, err: err.text };
};

t.test('one object a line in a pipe, a table on a terminal, CSV when requested', async (t) => {
  const words = ['snapshots', '-w', 'base = BTC', '-l', 'mark'];
  const piped = await run(words);
  t.equal(piped.code, 0);
  t.same(
    piped.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { venue: string }).venue),
    ['binance', 'okx'],
  );
  const shown = await run(words, { isTty: true });
  t.match(
    shown.out,
    /^venue {4}symbol {9}instrument {2}layer {2}status {3}age {3}basis \(fraction\) {2}index \(quote\) {2}mark \(quote\)\nbinance {2}BTCUSDT /,
  );
  t.match(shown.err, /^at 2026-01-15T12:00:00\.500Z, rcp_/, 'what is beside the data is on standard error');
  const csv = await run([...words, '--csv']);
  t.equal(
    csv.out.split('\r\n')[0],
    'venue,venue_symbol,instrument,layer,status,reason,gap_cause,age_ms,venue_age_ms,basis,index,mark,units.basis,units.index,units.mark',
  );
  const [item] = piped.out.split('\n').map((line) => (line === '' ? null : JSON.parse(line)));
  const { age_ms, venue_age_ms } = item.layers.mark;
  t.not(age_ms, venue_age_ms);
  t.equal(
    csv.out.split('\r\n')[1],
    `binance,BTCUSDT,BTC-PERP,mark,present,,,${age_ms},${venue_age_ms},0,60000,60000,fraction,quote,quote`,
  );
  t.match(shown.out, `  ${(age_ms / 1_000).toFixed(1)}s  `, 'an age is the time since the receipt (age_ms)');
});

t.test('the fault of a query is underlined, with its hint and receipt; nothing goes to standard output', async (t) => {
  const { code, out, err } = await run(['dql', 'check', 'any(venues where fundin > 1bps)']);
  t.equal(code, 3);
  t.equal(out, '');
  t.match(
    err,
    /^DQL_UNKNOWN_FIELD: .*\n {2}any\(venues where fundin > 1bps\)\n {19}\^{6}\n {2}Did you mean funding\?\n {2}receipt rcp_/,
  );
  const where = await run(['snapshots', '-w', 'base = BTCX']);
  t.match(where.err, /\n {2}base = BTCX\n {9}\^{4}\n/);
  const good = await run(['dql', 'check', 'any(venues where funding > 1bps)', '-o', 'table']);
  t.match(good.out, /query +any\(venues where funding > 0\.0001\)/);
});

t.test('lines and columns are those of positions: any line end, and code points', (t) => {
  const underline = (text: string, position: { line: number; column: number; length: number }) => {
    const fault = { code: 'DQL_SYNTAX' as const, message: 'It is wrong.', position: { ...position, offset: 0 } };
    return listErrorLines(new ApiError([fault]), { '/query': text }).slice(1);
  };
  for (const end of ['\n', '\r', '\r\n'])
    t.same(underline(`any(${end}  wrong\u2028 )`, { line: 2, column: 3, length: 5 }), [
      '    wrong\u2028 )',
      '    ^^^^^',
    ]);
  t.same(underline('"𝔸" ?', { line: 1, column: 5, length: 9 }), ['  "𝔸" ?', '      ^']);
  t.end();
});

t.test('exit codes: usage, refusal, key, limit, away', async (t) => {
  const limited = await openEdgeServer(t, [refuse(429, 'RATE_LIMITED', { 'retry-after': '3600' })]);
  const cases: readonly (readonly [number, readonly string[], Over?])[] = [
    [0, ['--help']],
    [1, ['snaphots']],
    [1, ['snapshots', '--units', 'usd']],
    [1, ['candles', '--last', 'week']],
    [1, ['candles', '--last', '1h', '--from', '2026-01-15T11:00:00Z']],
    [1, ['candles', '--to', 'noon']],
    [1, ['venues', '--parquet']],
    [1, ['venues', '--csv', '--json']],
    [1, ['stream', '--csv']],
    [1, ['history', '--parquet'], { isTty: true }],
    [3, ['snapshots', '-l', 'mrk']],
    [4, ['snapshots'], { env: { ...ENV, PERP_API_KEY: 'wrong' } }],
    [4, ['books'], { env: { HOME: home, PERP_BASE_URL: baseUrl } }],
    [5, ['venues'], { env: { ...ENV, PERP_BASE_URL: limited.url } }],
    [6, ['doctor'], { env: { ...ENV, PERP_BASE_URL: 'http://127.0.0.1:1' } }],
  ];
  for (const [code, words, over] of cases) t.equal((await run(words, over)).code, code, words.join(' '));
  t.match((await run(['snaphots'])).err, /Did you mean snapshots\?\)\nAdd --help to see how it is called\./);
  t.match((await run(['snapshots', '-w'])).err, /argument missing\nAdd --help/, 'commands say it, too');
});

t.test('a key is kept in a file of its owner alone, after it was tried; it is no option', async (t) => {
  const env = { HOME: home, PERP_BASE_URL: baseUrl };
  t.equal((await run(['login'], { env, input: 'wrong\n' })).code, 4);
  t.equal((await run(['login'], { env, input: '' })).code, 1);
  const file = join(home, 'key.txt');
  writeFileSync(file, `${keys.pro_plus}\n`);
  t.equal((await run(['snapshots', '--key-file', file], { env })).code, 0);
  const config = join(home, '.config', 'perp', 'config.json');
  const { writeConfig } = await import('../../../clients/cli/settings.ts');
  writeConfig({ base_url: baseUrl, key: keys.pro_plus }, env);
  t.equal(statSync(config).mode & 0o777, 0o600);
  t.equal((await run(['snapshots'], { env: { HOME: home } })).code, 0, 'and is used');
  t.equal((await run(['logout'], { env })).code, 0);
  t.throws(() => readFileSync(config));
  t.notMatch((await run(['snapshots', '--help'])).out, /--key /);
});

t.test('a key that is not typed, because the prompt is left, is none', async (t) => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const left = start(['login'], { input });
  await waitFor('the prompt', () => left.err.text.includes('API key: '));
  input.write('\x03');
  t.equal(await left.code, 1);
  t.match(left.err.text, /No key was given/);
});

t.test('a file of settings that cannot be read is named, with the way out', async (t) => {
  const env = { HOME: join(home, 'broken') };
  const config = join(env.HOME, '.config', 'perp', 'config.json');
  mkdirSync(dirname(config), { recursive: true });
  for (const text of ['{', 'null', '[]']) {
    writeFileSync(config, text);
    const { code, err } = await run(['venues'], { env });
    t.equal(code, 1);
    t.equal(err, `${config} is not a JSON object.\nRemove the file, then run perp login.\n`);
  }
});

t.test('a command that is interrupted does not end like one that is done', async (t) => {
  const stop = new AbortController();
  const edge = await openEdgeServer(t, [() => stop.abort(new Error('SIGINT'))]);
  const { code, out } = await run(['venues'], { env: { ...ENV, PERP_BASE_URL: edge.url }, signal: stop.signal });
  t.equal(code, 130);
  t.equal(out, '');
});

t.test('the first interruption ends each command, whatever it waits for', async (t) => {
  const main = fileURLToPath(new URL('../../../clients/cli/main.ts', import.meta.url));
  const proof = join(home, 'proof.json');
  writeFileSync(proof, JSON.stringify(OPERATIONS.find(({ name }) => name === 'anchor_proof')?.example.output));
  const isReady: EdgeAnswer = answerJson(200, { status: 'ready' });
  const row = ['--venue', 'v', '--symbol', 'S', '--layer', 'mark', '--at', '2026-01-15'];
  const cases: readonly (readonly [readonly string[], readonly EdgeAnswer[]])[] = [
    [['doctor'], []],
    [['doctor'], [isReady]],
    [['proof', 'verify', ...row], []],
    [['proof', 'verify', proof, '--rpc', 'URL'], []],
  ];
  for (const [words, answers] of cases) {
    let child: ChildProcess | null = null;
    const edge = await openEdgeServer(t, [...answers, () => child?.kill('SIGINT')]);
    const given = words.map((word) => (word === 'URL' ? edge.url : word));
    child = spawn(process.execPath, [main, ...given], { env: { ...ENV, PERP_BASE_URL: edge.url }, stdio: 'ignore' });
    t.teardown(() => child?.kill('SIGKILL'));
    const [code, signal] = await once(child, 'exit');
    t.same([code, signal], [130, null], words.join(' '));
  }
  const stop = new AbortController();
  const typing = start(['login'], { input: new PassThrough(), signal: stop.signal });
  stop.abort(new Error('SIGINT'));
  t.equal(await typing.code, 130, 'a key that is waited for');
});

t.test('nothing that came over the network steers the terminal, errors and notes included', async (t) => {
  const hostile = '\x1b]0;title\x07\x1b[2J\x9b2J\u202e\u2066';
  const page: EdgeAnswer = (response) => void response.writeHead(404, { 'content-type': 'text/html' }).end(hostile);
  const fault = { code: `X${hostile}`, message: hostile, hint: hostile };
  const item = { venue: hostile, name: hostile, state: hostile, kind: hostile, listings: 1, listings_collected: 1 };
  const cases: readonly (readonly [readonly string[], readonly EdgeAnswer[]])[] = [
    [['venues'], [page]],
    [['venues'], [answerJson(400, { errors: [fault] }, { 'x-service-receipt': 'r\x9b' })]],
    [['venues'], [answerJson(503, { errors: [fault] }, { 'retry-after': '0' }), page]],
    [['venues'], [answerJson(200, { evaluated_at: hostile, items: [item] })]],
    [['venues', '--json'], [answerJson(200, { evaluated_at: hostile, items: [item] })]],
    [['venues', '--csv'], [answerJson(200, { evaluated_at: hostile, items: [item] })]],
    [['stream', '--json'], [page]],
    [['login'], [answerJson(200, { plan: { name: hostile } })]],
  ];
  for (const [words, answers] of cases) {
    const edge = await openEdgeServer(t, answers);
    const env = { ...ENV, HOME: join(home, 'hostile'), PERP_BASE_URL: edge.url };
    const isTty = words[0] === 'venues';
    const { out, err } = await run(words, { env, isTty, input: 'key' });
    // Colours of ours are left.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    t.notMatch(out + err, /[\x07\x9b\u202e\u2066]|\x1b(?!\[\d*m)/, `${words.join(' ')}: ${JSON.stringify(out + err)}`);
    t.not(out + err, '');
  }
});

t.test('one Ctrl-C that npm passes on again is one; another one later ends the run at once', (t) => {
  const process = new EventEmitter();
  const codes: number[] = [];
  let nowMs = 0;
  const signal = stopAtSignals(
    { on: (name, act) => process.on(name, act), exit: (code) => codes.push(code) },
    () => nowMs,
  );
  t.equal(signal.aborted, false);
  process.emit('SIGINT');
  t.equal(signal.aborted, true);
  for (const passedOn of ['SIGINT', 'SIGTERM']) process.emit(passedOn);
  t.same(codes, [], 'the live table has time to show the cursor again');
  nowMs = 1_001;
  process.emit('SIGINT');
  t.same(codes, [130]);
  t.end();
});

t.test('--last is the length of the period before its end', (t) => {
  const now = Date.parse('2026-01-18T12:00:00.000Z');
  const to = '2026-01-15T12:00:00Z';
  t.same(readPeriod({ to, last: '2h' }, now), { from: '2026-01-15T10:00:00.000Z', to });
  t.same(readPeriod({ to }, now), { from: '2026-01-15T11:00:00.000Z', to });
  t.same(readPeriod({}, now), { from: '2026-01-18T11:00:00.000Z', to: '2026-01-18T12:00:00.000Z' });
  t.end();
});

t.test('completion offers commands, options and their values', async (t) => {
  const offered = async (line: string): Promise<string> =>
    (await run(['__complete'], { env: { ...ENV, COMP_LINE: line } })).out;
  t.equal(await offered('perp snap'), 'snapshots\n');
  t.equal(await offered('perp archive '), 'get\nls\n');
  t.equal(await offered('perp candles --price-type m'), 'mark\n');
  t.match(await offered('perp history --int'), /^--interval\n$/);
  t.match((await run(['completion', 'bash'])).out, /^complete .* perp\n$/);
});

t.test('the stream is one event a line, the live table follows it in place', async (t) => {
  const stop = new AbortController();
  const words = ['-w', 'symbol = "BTCUSDT"', '-l', 'mark'];
  const events = start(['stream', ...words], { signal: stop.signal });
  const table = start(['stream', ...words], { signal: stop.signal, isTty: true });
  await waitFor('both are open', () => events.out.text.includes('"ready"') && table.out.text.includes('60000'));
  feed.read('binance', 'BTCUSDT', markReading('61234.5', { rev: 2, received_at: NOW - 1_000, recorded_at: NOW }));
  await waitFor('both report it', () => events.out.text.includes('61234.5') && table.out.text.includes('61234.5'));
  stop.abort();
  t.equal(await events.code, 0);
  t.equal(await table.code, 0);
  t.same(
    events.out.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: string }).event),
    ['hello', 'snapshot', 'ready', 'update'],
  );
  t.match(table.out.text, /live · 1 update/);
  t.match(
    table.out.text,
    /BTCUSDT .*present.* \d+(\.\d)?s +.*61234\.5/,
    'its age is by the clock of the service, which is stopped here',
  );
  t.ok(table.out.text.endsWith('\x1b[?25h\n'), 'the cursor is shown again');
});

t.test('the doctor reports what is stale and why', async (t) => {
  const { out, code } = await run(['doctor', '-o', 'table'], { env: { HOME: home, PERP_BASE_URL: baseUrl } });
  t.equal(code, 0);
  t.match(out, /ok +service +ready, simulated venues/);
  t.match(out, /warn +key +none/);
  t.match(out, /warn +clock +\d+ ms ahead of/, 'the clock of the test is stopped');
  const state = (status: string, reason: string) => ({ status, reason, values: {} });
  const item = (venue: string, mark: object) => ({
    venue,
    venue_symbol: 'X',
    instrument: 'X',
    quote: 'X',
    layers: { mark },
  });
  const found = listStaleFindings({
    items: [
      item('a', state('stale', 'connection_lost')),
      item('a', state('stale', 'connection_lost')),
      item('b', state('present', '')),
    ],
  } as never);
  t.same(
    found.map(({ says }) => says),
    ['1 present, 2 not', 'a mark: stale, connection_lost, 2 listings'],
  );
});

t.test('a table names the unit of a column once, and of each figure where a column has several', (t) => {
  const rows = [
    { venue: 'a', oi: '5', 'units.oi': 'base', mark: '7', 'units.mark': 'quote' },
    { venue: 'b', oi: '6', 'units.oi': 'contracts', mark: '8', 'units.mark': 'quote' },
    { venue: 'c', mark: null, 'units.mark': 'quote' },
  ];
  t.same(listTableLines(rows, stream(false).stream), [
    'venue  oi  units.oi   mark (quote)',
    'a       5  base                  7',
    'b       6  contracts             8',
    'c',
  ]);
  t.end();
});

t.test('what comes over the network steers no terminal, and CSV is quoted', (t) => {
  const out = stream(false).stream;
  t.same(listTableLines([{ a: 'x\x1b[2J', b: null }], out), ['a', 'x?[2J']);
  t.same(listTableLines([{ 'a\x9b': 1, 'units.a\x9b': 'u\x07' }], out), ['a? (u?)', '      1'], 'nor do headings');
  t.equal(formatCsv([{ a: 'x,"y"', b: 1 }]), 'a,b\r\n"x,""y""",1\r\n');
  const name = '\x1b\x9b\u202e"';
  t.equal(formatJson({ name }), '{"name":"\\u001b\\u009b\\u202e\\""}');
  t.same(JSON.parse(formatJson({ name })), { name }, 'it says the same');
  t.end();
});
