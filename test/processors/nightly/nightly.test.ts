// The nightly runner on real PostgreSQL and QuestDB: order, catching up, two runners, and each step (OP-03, AC-02, N-11).
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import t from 'tap';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader, type QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { runCommand } from '../../../processors/nightly/command.ts';
import { addDays, findDayStart } from '../../../processors/nightly/day.ts';
import { openLedger } from '../../../processors/nightly/ledger.ts';
import { createNightlyMetrics } from '../../../processors/nightly/metrics.ts';
import { runDue, runStep } from '../../../processors/nightly/runner.ts';
import { listDueRuns, listMissingDays, type StepState } from '../../../processors/nightly/schedule.ts';
import type { NightlyContext, Step } from '../../../processors/nightly/step.ts';
import { STEPS } from '../../../processors/nightly/steps/index.ts';
import { recheck } from '../../../processors/nightly/steps/recheck.ts';
import { dropPartitions, retention } from '../../../processors/nightly/steps/retention.ts';
import { turnover } from '../../../processors/nightly/steps/turnover.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { TABLES } from '../../../processors/sinks/tables.ts';
import { makeGapRow, makeListingRow, makeReadingRow } from '../../../processors/task/rows.ts';
import { hashSettledItems } from '../../../schemas/settled-items.ts';
import { toTableName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { toSealInstant } from '../../../schemas/windows.ts';
import { listing, listingValues, micros, reading } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';

t.setTimeout(900_000);
const HOUR_MS = 3_600_000;
const log = createLog('nightly-test', 'silent');

const makeStep = (name: string, dueMs: number, run: Step['run'] = async () => 'ok'): Step => ({
  ...{ name, dueMs, run },
  summary: name,
});
const makeState = (over: Partial<StepState> & Pick<StepState, 'day' | 'step'>): StepState => ({
  ...{ state: 'done', attempts: 1, startedAt: new Date(0), endedAt: new Date(0), report: null },
  ...over,
});

t.test('a day is due at its time, missing days come oldest first, a failure holds back its own step only', (t) => {
  const [a, b] = [makeStep('a', HOUR_MS), makeStep('b', 2 * HOUR_MS)];
  const at = (text: string): number => Date.parse(text);
  t.same(listMissingDays(a, [], at('2026-01-15T00:59Z')), ['2026-01-14'], 'a first run begins with the newest due day');
  const known = [makeState({ day: '2026-01-12', step: 'a' }), makeState({ day: '2026-01-14', step: 'a' })];
  t.same(listMissingDays(a, known, at('2026-01-15T01:00Z')), ['2026-01-13', '2026-01-15']);
  const old = [makeState({ day: '2025-06-01', step: 'a' })];
  t.equal(listMissingDays(a, old, at('2026-01-15T12:00Z'))[0], '2025-12-16', 'no further back than 31 days');
  const tasks = (states: StepState[], now: string) =>
    listDueRuns([b, a], states, at(now)).map(({ step, day }) => `${day} ${step.name}`);
  const since = ['a', 'b'].map((step) => makeState({ day: '2026-01-13', step }));
  t.same(tasks(since, '2026-01-15T03:00Z'), ['2026-01-14 a', '2026-01-14 b', '2026-01-15 a', '2026-01-15 b']);
  const failed = makeState({ day: '2026-01-14', step: 'a', state: 'failed', endedAt: new Date('2026-01-15T03:00Z') });
  t.same(tasks([...since, failed], '2026-01-15T03:00:30Z'), ['2026-01-14 b', '2026-01-15 b']);
  t.equal(tasks([...since, failed], '2026-01-15T03:01Z').length, 4);
  t.equal(tasks([...since, { ...failed, attempts: 3 }], '2026-01-15T03:03:59Z').length, 2, 'later each time');
  t.equal(tasks([...since, { ...failed, state: 'running' }], '2026-01-15T03:00:01Z').length, 4, 'a killed one at once');
  const tired = { ...failed, attempts: 40 };
  t.equal(tasks([...since, tired], '2026-01-15T03:29:59Z').length, 2, 'a failure waits half an hour at the most');
  t.equal(tasks([...since, tired], '2026-01-15T03:30Z').length, 4);
  t.same(
    listMissingDays(b, [...since, makeState({ day: '2026-01-14', step: 'a' })], at('2026-01-15T03:00Z')),
    ['2026-01-14', '2026-01-15'],
    'a day that one step has done is missing of another',
  );
  const alone: Step = { ...a, independentDays: true };
  t.same(
    listDueRuns([alone], [...since, failed], at('2026-01-15T03:00:30Z')).map(({ day }) => day),
    ['2026-01-15'],
    'of independent days only the failed one waits',
  );
  t.equal(
    tasks([...since, failed], '2026-01-15T02:58:59Z').length,
    4,
    'no longer where the clocks were set back since',
  );
  t.end();
});

const engines = await useEngines(t, ['postgres', 'questdb']);
const databaseUrl = await engines.database();
const pool = openPostgres(databaseUrl, { max: 6 });
await migrate(pool);
const { endpoints } = engines;
const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
const questdb = openQuestdbReader(endpoints.questdb_pg, { max: 1, timeoutMs: 15_000, auth, log });
const sender = createRowSender(endpoints.questdb_http, { auth, log });
const namespace = `${engines.namespace()}.`;
await ensureTables((text) => questdb.query({ text }), { namespace });
t.teardown(async () => {
  await sender.close();
  await questdb.close();
  await pool.end();
});

const registry = new Registry();
const metrics = createNightlyMetrics(registry);
const makeContext = (over: Partial<NightlyContext> = {}): NightlyContext => ({
  ...{ database: pool, questdb, namespace, api: null, store: null, metrics, log },
  historyWatermark: async () => ({ at: Date.now() * 1_000, of: 'binance/0' }),
  isBinding: async () => false,
  nowMs: Date.now,
  progress: () => undefined,
  ...over,
});
const ledger = openLedger(pool);

t.test('two runners that catch up do each step of each day once, in order', async (t) => {
  const done: string[] = [];
  const nowMs = (): number => Date.parse('2026-01-15T12:00:00Z');
  const slow = makeStep('catch-up', HOUR_MS, async (day) => {
    await pool.query('select pg_sleep(0.02)');
    done.push(day);
    return `did ${day}`;
  });
  await pool.query("insert into nightly_steps (day, step, state) values ('2026-01-08', 'catch-up', 'done')");
  await Promise.all([1, 2].map(() => runDue([slow], openLedger(pool), makeContext({ nowMs }))));
  await runDue([slow], ledger, makeContext({ nowMs }));
  t.same(done, ['2026-01-09', '2026-01-10', '2026-01-11', '2026-01-12', '2026-01-13', '2026-01-14', '2026-01-15']);
  t.match(await registry.metrics(), 'nightly_missing_days{step="catch-up"} 0');
});

t.test(
  'after an absence of weeks no day of the last month is left out, however late after its day a step is due',
  async (t) => {
    const nowMs = (): number => Date.parse('2026-03-20T12:00:00Z');
    const resume = async (step: string, [dueDays, newest]: readonly [number, string]): Promise<readonly string[]> => {
      const done: string[] = [];
      const resumed = makeStep(step, dueDays * 24 * HOUR_MS, async (day) => `${done.push(day)}`);
      await pool.query("insert into nightly_steps (day, step, state) values ($1, $2, 'done')", [newest, step]);
      await runDue([resumed], ledger, makeContext({ nowMs }));
      return done;
    };
    const week = await resume('away-week', [7, '2026-02-14']);
    t.same([week[0], week.at(-1), week.length], ['2026-02-15', '2026-03-13', 27], 'a step that is due after a week');
    const longer = await resume('away-longer', [1, '2025-12-01']);
    t.same([longer[0], longer.at(-1), longer.length], ['2026-02-17', '2026-03-19', 31], 'the last month');
    t.match(await registry.metrics(), 'nightly_missing_days{step="away-week"} 0');
    await pool.query("insert into nightly_steps (day, step, state) values ('2026-02-15', 'away-held', 'failed')");
    const held = makeStep('away-held', 7 * 24 * HOUR_MS, async () => Promise.reject(new Error('no room')));
    await runDue([held], ledger, makeContext({ nowMs }));
    t.match(
      await registry.metrics(),
      'nightly_missing_days{step="away-held"} 27',
      'a day that fails for weeks hides none',
    );
    const listed = await runCommand(['--list'], { steps: [held], ledger, context: makeContext({ nowMs }) });
    t.notMatch(listed, /2025-12-01/, 'the list has the last days only');
  },
);

t.test(
  'a failure is kept with its reason and does not stop other steps; by hand a done step is done again',
  async (t) => {
    const nowMs = (): number => Date.parse('2026-01-15T12:00:00Z');
    const bad = makeStep('bad', 0, async () => {
      throw new Error('disk on fire');
    });
    let runs = 0;
    const good = makeStep('good', HOUR_MS, async () => `run ${++runs}`);
    await runDue([bad, good], ledger, makeContext({ nowMs }));
    const states = await ledger.states('2026-01-15');
    t.match(
      states.find(({ step }) => step === 'bad'),
      { state: 'failed', attempts: 1, report: 'disk on fire' },
    );
    t.equal(runs, 1);
    const command = (...argv: string[]) =>
      runCommand(argv, { steps: [bad, good], ledger, context: makeContext({ nowMs }) });
    t.equal(await command('--step', 'good', '--day', '2026-01-15'), 'run 2');
    t.match(await command('--list'), /good {8}due 01:00 UTC.*2026-01-15 {2}bad {8} failed {3}1x.*disk on fire/s);
    await t.rejects(command('--step', 'good', '--day', '2026-01-16'), { message: '2026-01-16 has not begun' });
    await t.rejects(command('--step', 'good', '--day', '2026-02-30'), /is not a day/);
    await t.rejects(command('--step', 'best'), /"best" is not a step\nusage/);
    await t.rejects(command('--step', 'bad'), /disk on fire/);
    await t.rejects(command('--day', '2026-01-15'), /disk on fire/);
    const later = makeStep('later', 24 * HOUR_MS);
    const ofDay = { steps: [later, good], ledger, context: makeContext({ nowMs }) };
    t.equal(await runCommand(['--day', '2026-01-15'], ofDay), 'good: run 3', 'every step of a day that is due');
    const worse = { ...bad, name: 'worse' };
    const due = runCommand(['--due'], { steps: [worse, good], ledger, context: makeContext({ nowMs }) });
    await t.rejects(
      due,
      /worse +due[\s\S]*\n1 failed; for the cause: npm run nightly -- --step worse --day 2026-01-15/,
    );
  },
);

t.test('a runner that was killed in the middle leaves its work to the next', async (t) => {
  await pool.query("insert into nightly_steps (day, step, state) values ('2026-01-15', 'left', 'running')");
  const left = makeStep('left', 0);
  t.equal(await runStep({ step: left, day: '2026-01-15' }, ledger, { context: makeContext(), mode: 'once' }), 'ok');
  t.match(
    (await ledger.states('2026-01-15')).find(({ step }) => step === 'left'),
    { state: 'done', attempts: 2 },
  );
});

t.test('a failure is recorded, and tried again as any other, whatever characters its words have', async (t) => {
  const bad = makeStep('nul', 0, async () => Promise.reject(new Error('a node said \0')));
  await t.rejects(runStep({ step: bad, day: '2026-01-15' }, ledger, { context: makeContext(), mode: 'once' }), {
    message: 'a node said \0',
  });
  t.match(
    (await ledger.states('2026-01-15')).find(({ step }) => step === 'nul'),
    { state: 'failed', report: 'a node said \uFFFD' },
  );
});

t.test('a step that a stop ends has not failed: the next runner takes it up at once', async (t) => {
  const stopping = new AbortController();
  const stopped = makeStep('stopped', 0, async (_day, { signal }) => {
    stopping.abort();
    signal?.throwIfAborted();
    return 'ok';
  });
  const task = { step: stopped, day: '2026-01-15' };
  const context = makeContext({ signal: stopping.signal });
  t.equal(await runStep(task, ledger, { context, mode: 'once' }), null);
  const states = (await ledger.states('2026-01-15')).filter(({ step }) => step === 'stopped');
  t.match(states, [{ state: 'running', attempts: 1 }]);
  t.same(listDueRuns([stopped], states, findDayStart('2026-01-15')), [task]);
});

t.test('steps of one lock wait for each other, whatever their days, until they are to stop', async (t) => {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const order: string[] = [];
  const long: Step = {
    ...makeStep('long', 0, async (day) => {
      begun.resolve();
      await end.promise;
      order.push(`long ${day}`);
      return 'ok';
    }),
    lock: 'files',
  };
  const next: Step = { ...makeStep('next', 0, async (day) => `${order.push(`next ${day}`)} done`), lock: 'files' };
  const run = (step: Step, day: string, context: NightlyContext): Promise<string | null> =>
    runStep({ step, day }, openLedger(pool), { context, mode: 'once' });
  const first = run(long, '2026-01-14', makeContext());
  await begun.promise;
  const stopping = new AbortController();
  const stopped = (step: Step, day: string): Promise<string | null> =>
    run(
      step,
      day,
      makeContext({ signal: stopping.signal, progress: (line) => /waits/.test(line) && stopping.abort() }),
    );
  t.equal(await stopped(next, '2026-01-13'), null, 'a stop ends the waiting');
  t.equal(await stopped(long, '2026-01-15'), null);
  const waits = Promise.withResolvers<void>();
  const second = run(next, '2026-01-15', makeContext({ progress: (line) => /waits/.test(line) && waits.resolve() }));
  await waits.promise;
  end.resolve();
  t.same(await Promise.all([first, second]), ['ok', '2 done']);
  t.same(order, ['long 2026-01-14', 'next 2026-01-15']);
  const states = await ledger.states('2026-01-13');
  t.same(
    states.filter(({ step }) => step === 'next').map(({ day }) => day),
    ['2026-01-15'],
    'an attempt that only waited reports nothing',
  );
});

const write = async (rows: readonly Row[]): Promise<void> => {
  const tables = [...new Set(rows.map(({ table }) => table))];
  for (const table of tables) {
    const own = rows.filter((row) => row.table === table);
    await sender.send(toTableName(namespace, table), own);
  }
  await sender.waitVisible(tables.map((table) => toTableName(namespace, table)));
};

let offsets = 1;
const stats = (venue: string, symbol: string, at: string, figure: string | null, late = false): Row => {
  const end = micros(at);
  const span = { from: end - 60_000_000, at: end, srcOffset: offsets++, late };
  const identity = { venue, symbol, layer: 'stats' } as const;
  if (figure === null) return makeGapRow(identity, span, 'no_update');
  const values: Record<string, string> = figure === '' ? { volume_24h: '1' } : { turnover_24h: figure };
  const times = { venue_ts: end - 2_000_000, received_at: end - 1_000_000, recorded_at: end - 900_000 };
  return makeReadingRow(identity, span, reading({ layer: 'stats', values, instants: {}, ...times }));
};

const versionRow = (
  venue: string,
  symbol: string,
  instrument: string,
  at: { readonly delistedAt?: string; readonly writtenAt?: string } = {},
): Row => {
  const values = listingValues({ venue_symbol: symbol, instrument });
  const life = Object.fromEntries(Object.entries(at).map(([name, text]) => [name, micros(text)]));
  const task = { venue, task: `${venue}/0`, srcOffset: offsets++, recordedAt: micros('2026-01-10T00:00:00.000Z') };
  return makeListingRow(task, listing(venue, values, life));
};

t.test('the turnover of a day is that of its 00:00, exact, of what was listed then', async (t) => {
  const day = '2026-01-15';
  const midnight = '2026-01-15T00:00:00.000Z';
  await write([
    versionRow('binance', 'BTCUSDT', 'BTC-PERP'),
    versionRow('binance', 'BTCUSDC', 'BTC-PERP'),
    versionRow('binance', 'GONEUSDT', 'GONE-PERP', { delistedAt: '2026-01-14T12:00:00.000Z' }),
    versionRow('okx', 'END-USDT-SWAP', 'END-PERP', { delistedAt: midnight }),
    versionRow('okx', 'NEW-USDT-SWAP', 'NEW-PERP', { writtenAt: '2026-01-15T00:00:00.001Z' }),
    versionRow('okx', 'OLD-USDT-SWAP', 'OLD-PERP'),
    versionRow('okx', 'BTC-USDT-SWAP', 'BTC-PERP'),
    versionRow('okx', 'ETH-USDT-SWAP', 'ETH-PERP'),
    stats('binance', 'BTCUSDT', '2026-01-14T23:59:00.000Z', '7'),
    stats('binance', 'BTCUSDT', midnight, '1000000000000000.123456789'),
    stats('binance', 'BTCUSDT', midnight, '8', true),
    stats('binance', 'BTCUSDT', '2026-01-15T00:01:00.000Z', '9'),
    stats('okx', 'OLD-USDT-SWAP', '2026-01-14T00:00:00.000Z', '4'),
    stats('binance', 'BTCUSDC', '2026-01-14T23:00:00.000Z', '0.5'),
    stats('binance', 'GONEUSDT', '2026-01-14T11:00:00.000Z', '5'),
    stats('okx', 'BTC-USDT-SWAP', midnight, '12'),
    stats('okx', 'ETH-USDT-SWAP', '2026-01-14T22:00:00.000Z', ''),
  ]);
  const nowMs = (): number => findDayStart(day) + 200_000;
  t.equal(await turnover.run(day, makeContext({ nowMs })), '3 instruments at 2 venues');
  const { rows } = await pool.query('select source, turnover from daily_turnover where day = $1', [day]);
  t.same(rows, [
    {
      source: 'history',
      turnover: {
        binance: { 'BTC-PERP': '1000000000000000.623456789' },
        okx: { 'BTC-PERP': '12', 'ETH-PERP': null, 'OLD-PERP': null },
      },
    },
  ]);
  t.match(await turnover.run(day, makeContext({ nowMs })), /had its row already/);
});

t.test('the turnover waits for stored history to reach 00:00, and not for ever', async (t) => {
  const day = '2026-01-16';
  const sealed = toSealInstant(findDayStart(day) * 1_000);
  const run = (afterMs: number, reached: number): Promise<string> =>
    turnover.run(
      day,
      makeContext({
        nowMs: () => findDayStart(day) + afterMs,
        historyWatermark: async () => ({ at: reached, of: 'binance/0' }),
      }),
    );
  await write([stats('binance', 'BTCUSDT', '2026-01-16T00:00:00.000Z', null)]);
  const refused =
    /has reached 2026-01-16T00:01:40.000999Z, not the end of 2026-01-15 with its last window; VENUES names the venues that are waited for$/;
  await t.rejects(run(200_000, sealed - 1), refused);
  // okx was not collected at 00:00: its last row is of the day before.
  await write([stats('okx', 'BTC-USDT-SWAP', '2026-01-15T12:04:00.000Z', '3')]);
  t.match(await run(200_000, sealed), '4 instruments at 2 venues');
  t.match(await run(2 * HOUR_MS, 0), '4 instruments at 2 venues');
});

t.test('a midnight after a day without any figure changes no choice: the newest turnover stays', async (t) => {
  const day = '2026-01-18';
  await write([stats('okx', 'ETH-USDT-SWAP', '2026-01-17T22:00:00.000Z', '')]);
  const nowMs = (): number => findDayStart(day) + 12 * HOUR_MS;
  t.equal(await turnover.run(day, makeContext({ nowMs })), 'no listing has a figure of the day before');
  const { rows } = await pool.query("select max(day)::text as newest from daily_turnover where source = 'history'");
  t.same(rows, [{ newest: '2026-01-16' }]);
});

/** An API that answers by path and body; the edge that the re-check calls. */
const startAnswers = async (answer: (body: { readonly id: number }, asked: number) => [number, unknown]) => {
  const asked = new Map<number, number>();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as { readonly id: number };
    asked.set(body.id, (asked.get(body.id) ?? 0) + 1);
    const [status, reply] = answer(body, asked.get(body.id) ?? 0);
    response.writeHead(request.headers.authorization === 'Bearer sk_check' ? status : 401, { 'retry-after': '0' });
    response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const api = { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'sk_check' };
  return { api, asked, close: () => server.close() };
};

/** Items with a text that only looks like the end of them; `retention_from` moves from one day to the next. */
const makeItems = (digit: number, day = '2025-10-20'): string =>
  `[{"venue":"paper","note":"]\\"retention_from\\":\\"2020\\"","retention_from":"${day}T00:00:00.000Z","rows":[[${digit}]]}]`;
const SHA = (digit: number): string => hashSettledItems(makeItems(digit));
/** As the API answers on the next day. */
const makeAnswer = (digit: number): string =>
  `{"settled":true,"items_sha256":"of these bytes","items":${makeItems(digit, '2025-10-21')},"page":{"next_cursor":null}}`;
const keep = (id: number, earliest = '2026-01-10', path = '/v2/candles'): Promise<unknown> =>
  pool.query(
    `insert into settled_requests (request_hash, path, request, items_sha256, earliest)
     values (sha256($1::text::bytea), $5, $2, $3, $4)`,
    [String(id), { id }, SHA(id), earliest, path],
  );

t.test('settled requests are sent again: a changed or refused one is one incident, with one alarm', async (t) => {
  const nowMs = (): number => Date.parse('2026-01-20T05:00:00Z');
  for (const id of [1, 2, 3, 5]) await keep(id);
  await keep(4, '2020-01-01');
  const { api, asked, close } = await startAnswers(({ id }, times) => {
    if (id === 1 && times === 1) return [503, {}];
    if (id === 5 && times === 1) return [400, { errors: [{ code: 'DQL_LIMIT' }] }];
    if (id === 3) return [400, { errors: [{ code: 'DQL_UNKNOWN_VENUE' }] }];
    return [200, makeAnswer(id === 2 ? 9 : id)];
  });
  t.teardown(close);
  const context = makeContext({ nowMs, api });
  t.equal(await recheck.run('2026-01-20', context), '4 requests repeated, 2 differ');
  t.same(
    [...asked].sort(),
    [
      [1, 2],
      [2, 1],
      [3, 1],
      [5, 2],
    ],
    'a request to a busy service is repeated, also one that takes too long; one whose answer retention may have changed is not',
  );
  await pool.query('update settled_requests set checked_at = $1', ['2026-01-20T05:00:00Z']);
  t.equal(await recheck.run('2026-01-20', context), '0 requests repeated, 0 differ', 'once a day');
  t.equal(await recheck.run('2026-01-21', context), '4 requests repeated, 2 differ');
  const { rows } = await pool.query('select kind, state, details from incidents order by incident_id');
  t.match(rows, [
    { kind: 'settled_answer_changed', state: 'open', details: { was: SHA(2), is: SHA(9), path: '/v2/candles' } },
    { kind: 'settled_answer_changed', details: { was: SHA(3), is: /^400 .*DQL_UNKNOWN_VENUE/ } },
  ]);
  t.equal(rows.length, 2);
  await runDue([], ledger, context);
  t.match(await registry.metrics(), 'nightly_open_incidents 2');
});

t.test('a stop ends the re-check within a request, and the others are asked again by the next', async (t) => {
  const stopping = new AbortController();
  const { api, asked, close } = await startAnswers(() => {
    stopping.abort();
    return [503, {}];
  });
  t.teardown(close);
  await pool.query('update settled_requests set checked_at = null');
  const nowMs = (): number => Date.parse('2026-01-23T05:00:00Z');
  const began = performance.now();
  await t.rejects(recheck.run('2026-01-23', makeContext({ nowMs, api, signal: stopping.signal })), {
    name: 'AbortError',
  });
  t.equal(
    [...asked.values()].reduce((sum, times) => sum + times, 0),
    1,
  );
  t.ok(performance.now() - began < 900, 'nothing is waited for');
});

t.test('the re-check fails, to be tried again, where it cannot judge', async (t) => {
  await pool.query('update settled_requests set checked_at = null');
  const unsettled = await startAnswers(() => [200, { settled: false, items: [] }]);
  t.teardown(unsettled.close);
  const nowMs = (): number => Date.parse('2026-01-20T05:00:00Z');
  const run = (api: NightlyContext['api']) => recheck.run('2026-01-22', makeContext({ nowMs, api }));
  await t.rejects(run(unsettled.api), /reads as unsettled/);
  await t.rejects(run({ ...unsettled.api, key: 'sk_wrong' }), /RECHECK_KEY may not make this request/);
  await t.rejects(run(null), /set BASE_URL and RECHECK_KEY/);
  const { rows } = await pool.query('select count(*)::int as open from incidents');
  t.same(rows, [{ open: 2 }], 'none of these is an incident');
});

t.test(
  'a request is sent again until a day before retention drops rows of its answer, those of events sooner',
  async (t) => {
    await pool.query('delete from settled_requests');
    await keep(1, '2024-12-18');
    await keep(2, '2024-12-17');
    await keep(3, '2025-10-24', '/v2/liquidations');
    await keep(4, '2025-10-23', '/v2/liquidations');
    const { api, asked, close } = await startAnswers(({ id }) => [200, makeAnswer(id)]);
    t.teardown(close);
    const nowMs = (): number => Date.parse('2026-01-20T05:00:00Z');
    t.equal(await recheck.run('2026-01-20', makeContext({ nowMs, api })), '2 requests repeated, 0 differ');
    t.same([...asked.keys()].sort(), [1, 3]);
  },
);

t.test('partitions and rows past their time go, the newest partition stays', async (t) => {
  const table = toTableName(namespace, 'oi_test');
  await questdb.query({ text: `CREATE TABLE '${table}' (at TIMESTAMP, x LONG) TIMESTAMP(at) PARTITION BY DAY WAL` });
  const days = ['2026-01-01', '2026-01-02', '2026-01-05', '2026-01-06'];
  await questdb.query({
    text: `INSERT INTO '${table}' VALUES ${days.map((day) => `('${day}T12:00:00Z', 1)`).join(', ')}`,
  });
  await sender.waitVisible([table]);
  const drop = (day: string) => dropPartitions(questdb, table, { designated: 'at', floorMs: findDayStart(day) });
  t.equal(await drop('2026-01-05'), 2);
  await sender.waitVisible([table]);
  t.equal(await drop('2026-01-05'), 0, 'again: nothing is left to do');
  t.same(await questdb.query({ text: `SELECT count() FROM '${table}'` }), [['2']]);
  const long = findDayStart('2027-01-01');
  t.equal(await drop('2027-01-01'), 1);
  await pool.query("update settled_requests set asked_at = '2026-01-01'");
  const context = makeContext({ nowMs: () => long + 6 * HOUR_MS });
  t.match(
    await retention.run('2027-01-01', context),
    /^0 partitions and [1-9]\d* rows dropped$/,
    'replays never expire',
  );
  t.same((await pool.query('select count(*)::int as kept from settled_requests')).rows, [{ kept: 0 }]);
  t.same((await pool.query("select count(*)::int as open from incidents where state = 'open'")).rows, [{ open: 2 }]);
});

t.test('each live table loses the days before its retention, counted from the day of the run', async (t) => {
  const statements: string[] = [];
  const reader: QuestdbReader = {
    query: async ({ text }) => {
      statements.push(text);
      return text.startsWith('SELECT') ? [['1']] : [];
    },
    ping: async () => undefined,
    close: async () => undefined,
  };
  const runAt = async (at: string): Promise<string[]> => {
    statements.length = 0;
    await retention.run('2026-12-31', makeContext({ namespace: '', questdb: reader, nowMs: () => Date.parse(at) }));
    return statements.filter((text) => text.startsWith('ALTER'));
  };
  const dropsFrom = (day: string): string[] =>
    Object.entries(TABLES).flatMap(([name, { designated, ttlDays }]) => {
      const floor = `${addDays(day, -(ttlDays ?? 0))}T00:00:00.000Z`;
      return ttlDays === null ? [] : [`ALTER TABLE '${name}' DROP PARTITION WHERE ${designated} < '${floor}'`];
    });
  t.ok(dropsFrom('2026-12-31').length > 5);
  t.same(await runAt('2027-01-01T09:00:00Z'), dropsFrom('2026-12-31'), 'however late the run is');
  t.same(await runAt('2026-12-30T23:59:59Z'), dropsFrom('2026-12-30'), 'by hand, before the day has begun');
});

t.test('the steps are listed by name, with the hour after the day begins at which they are due (AN-12)', (t) => {
  const due = STEPS.map(({ name, dueMs }) => [name, dueMs / HOUR_MS]);
  t.same(due, [
    ['turnover', 0.05],
    ['presence', 24 + 5 / 60],
    ['recheck', 4],
    ['retention', 5],
    ['sign-in', 5.25],
    ['archive', 30],
    ['close', 168],
    ['anchor', 170],
    ['compare', 7],
  ]);
  t.end();
});
