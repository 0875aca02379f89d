// The parts of the runtime that need no engine: configuration, backoff, clock, requests, metrics, the life of a process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { Counter } from 'prom-client';
import t from 'tap';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { AnswerTooLarge, fetchBytes } from '../../../infra/runtime/network/fetch-bytes.ts';
import { listenOn } from '../../../infra/runtime/network/listen.ts';
import {
  ConfigError,
  type ConfigSpec,
  describeConfig,
  hideSecrets,
  readConfig,
} from '../../../infra/runtime/process/config.ts';
import { createMetrics, serveMetrics } from '../../../infra/runtime/process/metrics.ts';
import { openQuestdbHttp } from '../../../infra/runtime/questdb/http.ts';
import { createBackoff } from '../../../infra/runtime/time/backoff.ts';
import { createClock } from '../../../infra/runtime/time/clock.ts';
import { nameTopics } from '../../../schemas/topics.ts';

const SPEC = {
  KAFKA_BROKERS: { type: 'list', description: 'Brokers, host:port.' },
  SHARDS: { type: 'integer', default: 1, description: 'Raw partitions a venue.' },
  SIMULATED: { type: 'boolean', default: false, description: 'Venues are simulated.' },
  VENUE_ENDPOINTS: { type: 'json', default: {}, description: 'Endpoints by venue.' },
  BASE_URL: { type: 'url', default: null, description: 'Where users reach us.' },
  QUESTDB_PASSWORD: { type: 'string', secret: true, description: 'Its password.' },
} as const satisfies ConfigSpec;
const REQUIRED = { KAFKA_BROKERS: 'a:1, b:2', QUESTDB_PASSWORD: 'pass word' };

const catchFaults = (env: Record<string, string>): readonly string[] => {
  try {
    readConfig(SPEC, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
};

t.test('configuration', async (t) => {
  t.test('takes values of their types, and defaults for what is unset or empty', async (t) => {
    const config = readConfig(SPEC, {
      ...REQUIRED,
      SHARDS: '',
      SIMULATED: '1',
      VENUE_ENDPOINTS: '{"binance":{}}',
      HOME: '/',
    });
    const shards: number = config.SHARDS;
    const url: string | null = config.BASE_URL;
    t.strictSame([config.KAFKA_BROKERS, shards, config.SIMULATED, url], [['a:1', 'b:2'], 1, true, null]);
    t.strictSame(config.VENUE_ENDPOINTS, { binance: {} });
  });
  t.test('names every fault at once and no secret', async (t) => {
    const faults = catchFaults({
      SHARDS: '1.5',
      SIMULATED: 'perhaps',
      VENUE_ENDPOINTS: '{',
      BASE_URL: 'here',
      QUESTDB_PASSWORD: 'x',
    });
    t.equal(faults.length, 5);
    t.match(faults[0], /^KAFKA_BROKERS is required: Brokers/);
    t.match(faults[1], 'SHARDS must be a whole number, found "1.5"');
    const secret: ConfigSpec = { PIN_CODE: { type: 'integer', secret: true, description: 'A number.' } };
    t.throws(() => readConfig(secret, { PIN_CODE: 'hunter2' }), { message: /found \*\*\*$/ });
  });
  t.test('refuses a name that is nearly ours and suggests the right one', async (t) => {
    t.strictSame(catchFaults({ ...REQUIRED, SHARD: '2' }), ['SHARD is unknown, did you mean SHARDS?']);
    t.match(catchFaults({ KAFKA_BROKER: 'a:1', QUESTDB_PASSWORD: 'x' }), [
      'KAFKA_BROKER is unknown, did you mean KAFKA_BROKERS?',
      /required/,
    ]);
    t.strictSame(catchFaults({ ...REQUIRED, SHARDS: '2', SHARDS2: '3', PATH: '/bin' }), [], 'unless both are set');
  });
  t.test('prints without secrets and describes itself as .env.example', async (t) => {
    t.match(hideSecrets(SPEC, readConfig(SPEC, REQUIRED)), { SHARDS: 1, QUESTDB_PASSWORD: '***' });
    const address: ConfigSpec = { PG_URL: { type: 'url', description: 'An address.' } };
    const printed = hideSecrets(address, readConfig(address, { PG_URL: 'postgres://u:pass:w@h:1/d' }));
    t.strictSame(printed, { PG_URL: 'postgres://u:***@h:1/d' }, 'a password within an address');
    t.equal(
      describeConfig({ QUESTDB_PASSWORD: SPEC.QUESTDB_PASSWORD }),
      '# Its password.\nQUESTDB_PASSWORD=\n# QUESTDB_PASSWORD_FILE=\n',
    );
    t.equal(
      describeConfig({ A_LIST: SPEC.KAFKA_BROKERS, SHARDS: SPEC.SHARDS }),
      '# Brokers, host:port.\nA_LIST=\n\n# Raw partitions a venue.\n# SHARDS=1\n',
    );
  });
});

t.test('backoff doubles up to its bound, shortens by chance only, and begins again after a success', async (t) => {
  const steady = createBackoff({ minMs: 100, maxMs: 700, random: () => 0 });
  t.strictSame([steady.next(), steady.next(), steady.next(), steady.next(), steady.next()], [100, 200, 400, 700, 700]);
  steady.reset();
  t.equal(steady.next(), 100);
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 }),
      (chances) => {
        let i = 0;
        const backoff = createBackoff({
          minMs: 50,
          maxMs: 1_000,
          jitter: 0.5,
          random: () => chances[i++ % chances.length] ?? 0,
        });
        return chances.every(() => {
          const wait = backoff.next();
          return wait >= 25 && wait <= 1_000;
        });
      },
    ),
  );
});

t.test('clock', async (t) => {
  const sources = { wall: 1e15, monotonic: 0 };
  const open = () => createClock({ wallMicros: () => sources.wall, monotonicMicros: () => sources.monotonic });
  const pass = (micros: number): void => {
    sources.wall += micros;
    sources.monotonic += micros;
  };
  t.test('follows a wall clock that jumps by at most 500 ppm, forwards and back', async (t) => {
    const clock = open();
    const start = clock.nowMicros();
    pass(1_000_000);
    t.equal(clock.nowMicros() - start, 1_000_000);
    sources.wall += 3_600e6;
    pass(1_000_000);
    t.equal(clock.nowMicros() - start, 2_000_500);
    sources.wall -= 2 * 3_600e6;
    pass(1_000_000);
    t.equal(clock.nowMicros() - start, 3_000_000);
  });
  t.test('never goes back and never leaves the slew, whatever the wall does', async () => {
    const step = fc.record({
      passed: fc.integer({ min: 0, max: 5_000_000 }),
      jump: fc.integer({ min: -10_000_000, max: 10_000_000 }),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const clock = open();
        let last = clock.nowMicros();
        return steps.every(({ passed, jump }) => {
          pass(passed);
          sources.wall += jump;
          const now = clock.nowMicros();
          const moved = now - last;
          last = now;
          return moved >= 0 && Math.abs(moved - passed) <= passed * 500e-6 + 2;
        });
      }),
    );
  });
  t.test('is the machine’s own by default', async (t) => {
    t.ok(Math.abs(createClock().nowMicros() - Date.now() * 1_000) < 1_000_000);
  });
});

const listen = async (t: { teardown: (done: () => void) => void }, handler: RequestListener): Promise<string> => {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  t.teardown(() => server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

t.test('a request gives any status and its bytes, within its time and size', async (t) => {
  const url = await listen(t, (request, response) => {
    if (request.url === '/slow') return;
    response.writeHead(request.url === '/limit' ? 429 : 200, { 'retry-after': '7' }).end(Buffer.alloc(1_000, 'x'));
  });
  const limits = { timeoutMs: 5_000, maxBytes: 1_000 };
  const answer = await fetchBytes({ url: `${url}/limit`, ...limits });
  t.strictSame([answer.status, answer.headers.get('retry-after'), answer.body.length], [429, '7', 1_000]);
  await t.rejects(fetchBytes({ url, ...limits, maxBytes: 999 }), AnswerTooLarge);
  await t.rejects(fetchBytes({ url: `${url}/slow`, ...limits, timeoutMs: 50 }), { name: 'TimeoutError' });
  const ended = new AbortController();
  const asked = fetchBytes({ url: `${url}/slow`, ...limits, signal: ended.signal });
  ended.abort();
  await t.rejects(asked, { name: 'AbortError' });
});

t.test('metrics and health are served, and a taken port is reported by its setting', async (t) => {
  const registry = createMetrics();
  new Counter({ name: 'frames_total', help: 'Frames.', registers: [registry] }).inc(3);
  let problem: string | null = null;
  const server = await serveMetrics(registry, 0, { problem: () => problem });
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return [answer.status, await answer.text()] as const;
  };
  t.match(await get('/metrics'), [200, /frames_total 3[\s\S]*process_cpu|process_cpu[\s\S]*frames_total 3/]);
  t.strictSame(await get('/healthz'), [200, 'ok\n']);
  problem = 'Kafka is away';
  t.strictSame(await get('/healthz'), [503, 'Kafka is away\n']);
  t.equal((await get('/other'))[0], 404);
  await t.rejects(serveMetrics(createMetrics(), server.port), /METRICS_PORT is taken/);
  // An address kept for documentation, which no machine has (RFC 5737).
  await t.rejects(
    serveMetrics(createMetrics(), 0, { host: '192.0.2.1' }),
    /192.0.2.1 of METRICS_HOST is not an address/,
  );
  const other = await serveMetrics(registry, 0, { host: '127.0.0.2' });
  t.equal((await fetch(`http://127.0.0.2:${other.port}/healthz`)).status, 200);
  await t.rejects(fetch(`http://127.0.0.1:${other.port}/healthz`), 'only there');
  await other.close();
  await server.close();
});

t.test('an app that cannot listen names the settings of its port and of its address', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const app = {
    listen: async (at: { readonly host: string; readonly port: number }) => {
      const server = createServer().listen(at);
      await once(server, 'listening');
      server.close();
    },
  };
  const reject = (host: string, at: number, message: RegExp) =>
    t.rejects(listenOn(app, { host: ['INTERNAL_HOST', host], port: ['INTERNAL_PORT', at] }), message);
  await reject('127.0.0.1', port, new RegExp(`^port ${port} of INTERNAL_PORT is taken$`));
  await reject('192.0.2.1', 0, /^192\.0\.2\.1 of INTERNAL_HOST is not an address of this machine$/);
  await listenOn(app, { host: ['INTERNAL_HOST', '127.0.0.1'], port: ['INTERNAL_PORT', 0] });
});

t.test('a login of QuestDB may have any characters: it is sent as UTF-8', async (t) => {
  const sent: (string | undefined)[] = [];
  const url = await listen(t, (request, response) => {
    sent.push(request.headers.authorization);
    response.end();
  });
  const questdb = openQuestdbHttp(url, { user: 'müller', password: 'пароль €' });
  await (await questdb.get('/settings', {})).text();
  await questdb.close();
  t.same(sent, [`Basic ${Buffer.from('müller:пароль €', 'utf8').toString('base64')}`]);
});

t.test('topics: retention is the live log’s, replays keep everything and their own time', async (t) => {
  const config = (namespace: string, replay: boolean) =>
    new Map(listTopicSpecs({ venues: ['a'], shards: 3, namespace, replay }).map((s) => [s.topic, s]));
  const live = config('', false);
  const names = nameTopics();
  t.match(live.get(names.raw('a')), {
    partitions: 3,
    config: { 'message.timestamp.type': 'LogAppendTime', 'retention.ms': '93600000' },
  });
  for (const { topic, config } of live.values())
    t.equal(config['message.timestamp.type'], 'LogAppendTime', `${topic}: the clock of its writer decides nothing`);
  t.match(live.get(names.watermark), { partitions: 1, config: { 'cleanup.policy': 'compact' } });
  t.match(live.get(names.listings), { partitions: 6, config: { 'retention.ms': '-1' } });
  t.match(live.get(names.checkpoints('a')), { partitions: 3, config: { 'retention.bytes': String(1024 ** 3) } });
  const replay = config('replay.', true);
  t.match(replay.get('replay.raw.a'), { config: { 'message.timestamp.type': 'CreateTime', 'retention.ms': '-1' } });
  t.match(replay.get('replay.live.a'), { config: { 'retention.ms': '-1' } });
});

t.test('topics: none has ever more segments, each of them open files of its broker', async (t) => {
  for (const { topic, config } of listTopicSpecs({ venues: ['a'], shards: 1, namespace: '' })) {
    const of = (name: string): number => Number(config[name]);
    if (config['cleanup.policy'] === 'compact') continue;
    const inTime = of('retention.ms') === -1 ? 1 : of('retention.ms') / of('segment.ms');
    const inBytes = of('retention.bytes') > 0 ? of('retention.bytes') / of('segment.bytes') : 1;
    t.ok(inTime <= 15 && inBytes <= 15, `${topic}: those that are deleted leave few`);
    if (of('retention.ms') === -1)
      t.ok(of('segment.ms') > 365 * 86_400_000, `${topic}: one begins seldom by time alone`);
  }
});

const LIFECYCLE = new URL('../../../infra/runtime/process/lifecycle.ts', import.meta.url).href;
type Ending = { readonly code: number | null; readonly out: string; readonly log: string };

/** Runs a process of `body`, sends the signals one by one each time it prints a line, and gives how it ended. `stderr`: a file instead of `log`. */
const runLife = async (
  body: string,
  signals: readonly NodeJS.Signals[] = [],
  { env = {}, stderr = 'pipe' }: { readonly env?: NodeJS.ProcessEnv; readonly stderr?: 'pipe' | number } = {},
): Promise<Ending> => {
  const script = `import { runProcess } from ${JSON.stringify(LIFECYCLE)}; ${body}`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    env: { ...process.env, LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', stderr],
  });
  const waiting = [...signals];
  let out = '';
  let log = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk;
    const signal = waiting.shift();
    if (signal !== undefined) child.kill(signal);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, log };
};

t.test('a process stops in order at a signal, ends at once at the second, and with 1 at an error', async (t) => {
  const alive = 'setInterval(() => {}, 1000)';
  const [orderly, impatient, failing, careless, promiser] = await Promise.all([
    runLife(`runProcess('p', async () => { ${alive}; console.log('up'); return async () => console.log('down'); })`, [
      'SIGTERM',
    ]),
    runLife(
      `runProcess('p', async () => { ${alive}; console.log('up'); return () => { console.log('stuck'); return new Promise(() => {}); }; })`,
      ['SIGINT', 'SIGTERM'],
    ),
    runLife(`runProcess('p', async () => { throw new Error('no brokers'); })`),
    runLife(
      `runProcess('p', async () => { setTimeout(() => { throw new Error('thrown late'); }, 1); return async () => {}; })`,
    ),
    runLife(`runProcess('p', async () => { Promise.reject(new Error('not awaited')); return async () => {}; })`),
  ]);
  t.match(orderly, { code: 0, out: 'up\ndown\n', log: /"stopping"[\s\S]*"stopped"/ });
  t.match(impatient, { code: 128 + 15, out: 'up\nstuck\n' });
  t.match(failing, { code: 1, log: /could not start/ });
  t.match(careless, { code: 1, log: /thrown late/ });
  t.match(promiser, { code: 1, log: /not awaited/ });
});

t.test('a process goes on while the disk of its log is full', { skip: !existsSync('/dev/full') }, async (t) => {
  const full = openSync('/dev/full', 'w');
  t.teardown(() => closeSync(full));
  const log = new URL('../../../infra/runtime/process/log.ts', import.meta.url).href;
  const body = `
    import { createLog } from ${JSON.stringify(log)};
    runProcess('p', async () => {
      const log = createLog('p');
      for (let n = 0; n < 10_000; n++) log.warn({ n }, 'a line that cannot be written');
      setInterval(() => {}, 1000);
      console.log('up');
      return async () => console.log('down');
    })`;
  t.match(await runLife(body, ['SIGTERM'], { stderr: full }), { code: 0, out: 'up\ndown\n' });
});

t.test('a process that is killed has left its compiled modules to its successor (D-62)', async (t) => {
  const dir = t.testdir({});
  const look = `import { globSync } from 'node:fs';
    setInterval(() => { if (globSync('**/*', { cwd: ${JSON.stringify(dir)} }).length > 1) console.log('kept'); }, 20);`;
  const killed = await runLife(`${look} runProcess('p', async () => async () => {})`, ['SIGKILL'], {
    env: { NODE_COMPILE_CACHE: dir },
  });
  t.match(killed, { code: null, out: 'kept\n' });
});
