// Every example of docs/endpoints.md, run as it is pasted, against the whole service on real engines and five simulated venues.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Endpoint } from '../../api/contract/endpoint.ts';
import { archiveFile } from '../../api/operations/archive-file.ts';
import { OPERATIONS } from '../../api/operations/index.ts';
import type { Operation } from '../../api/operations/operation.ts';
import { STREAM } from '../../api/stream/request.ts';
import { simulatedVenues } from '../../infra/dev/simulator/venues/index.ts';
import { exampleCommand, INSTANTS } from '../../infra/dev/tools/endpoint-examples.ts';
import { openFolderStore } from '../../infra/runtime/object-store.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { addArchivedSet } from '../support/archived-sets.ts';
import { faultsOf } from '../support/closed-schema.ts';
import { type Teardown, useEngines } from '../support/engines.ts';
import {
  type Api,
  apiReady,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
  until,
} from '../support/pipeline.ts';
import { parseFrames } from '../support/stream-client.ts';

const VENUES = simulatedVenues.map(({ id }) => id);
const LISTINGS = 2;
/** Enough for a liquidation in a minute, little enough to share two cores. */
const RATE = 120;
/** A first minute must be over and its candle told. */
const PATIENCE_MS = 150_000;
const STREAM_MS = 30_000;

const startService = async (t: Teardown): Promise<Api> => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: 1, venues: VENUES };
  const settings = { SIM_VENUES: VENUES.join(), SIM_LISTINGS: String(LISTINGS), SIM_RATE: String(RATE) };
  const simulator = await startSimulator(settings);
  const children = [simulator.child, startIngest(spec, simulator.endpoints), startProcessors(spec)];
  t.teardown(() => Promise.all(children.map((child) => child.kill())));
  const [databaseUrl, folder] = [await engines.database(), mkdtempSync(join(tmpdir(), 'examples-'))];
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const api = await startApi(spec, databaseUrl, { ARCHIVE_DIR: folder });
  t.teardown(() => api.child.kill());
  await apiReady(api);
  const pool = openPostgres(databaseUrl, { max: 1 });
  const { day, layer } = archiveFile.example.input;
  await addArchivedSet(pool, openFolderStore(folder), { day: String(day), layer: String(layer) });
  await pool.end();
  return api;
};

/** Runs a command of the document in a shell that has set what it stands on; ends when the command does or `isEnough`. */
const shell = async (
  api: Api,
  command: string,
  isEnough: (output: string) => boolean = () => false,
): Promise<string> => {
  const { PATH = '' } = process.env;
  const child = spawn('sh', ['-c', `${INSTANTS}\nexec ${command}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH, BASE: api.baseUrl, KEY: api.keys.pro },
  });
  const limit = setTimeout(() => child.kill(), STREAM_MS);
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk;
    if (isEnough(output)) child.kill();
  }
  clearTimeout(limit);
  return output;
};

const withStatus = (command: string): string => command.replace(/^curl /, "curl -w '\\n%{http_code}' ");

type Reply = { readonly status: string; readonly answer: Record<string, unknown> };

const ask = async (api: Api, operation: Operation): Promise<Reply> => {
  const lines = (await shell(api, withStatus(exampleCommand(operation)))).split('\n');
  const status = lines.pop() ?? '';
  return { status, answer: JSON.parse(lines.join('\n')) as Record<string, unknown> };
};

/** Whether an answer has all that the example shows: every member, something like each row, the same statuses. */
const covers = (shown: unknown, answer: unknown, name = ''): boolean => {
  if (Array.isArray(shown)) {
    return Array.isArray(answer) && shown.every((one) => answer.some((other) => covers(one, other)));
  }
  if (typeof shown !== 'object' || shown === null) return name !== 'status' || shown === answer;
  if (typeof answer !== 'object' || answer === null) return false;
  const members = new Map<string, unknown>(Object.entries(answer));
  return Object.entries(shown).every(([n, member]) => members.has(n) && covers(member, members.get(n), n));
};

const api = await startService(t);

/** A 302 where the operation redirects. */
const isGood = ({ redirects }: Operation, { status }: Reply): boolean => status === (redirects ? '302' : '200');

t.test('every example answers 200, in the shape its operation declares and with all that is shown of it', async (t) => {
  for (const operation of OPERATIONS) {
    const what = `${operation.name} answers all that its example shows`;
    const { status, answer } = await until(what, PATIENCE_MS, async () => {
      const reply = await ask(api, operation);
      // A service that cannot answer now says that it will.
      if (reply.status === '503') return null;
      return !isGood(operation, reply) || covers(operation.example.output, reply.answer) ? reply : null;
    });
    t.ok(isGood(operation, { status, answer }), `${operation.name}: ${JSON.stringify(answer).slice(0, 300)}`);
    t.same(faultsOf(operation, answer), [], `${operation.name} answers in its declared shape`);
  }
});

t.test('the example of the stream shows the picture, then what changes', async (t) => {
  const isTold = (output: string): boolean => output.includes('event: update') && output.endsWith('\n\n');
  const events = parseFrames(await shell(api, exampleCommand(STREAM), isTold));
  const shown = parseFrames(STREAM.example.output);
  t.same(
    [...new Set(events.map(({ event }) => event))],
    shown.map(({ event }) => event),
  );
  for (const { event, data } of shown) {
    t.ok(
      events.some((other) => other.event === event && covers(data, other.data)),
      `${event} has all that is shown of it`,
    );
  }
});

t.test('HEAD answers wherever GET does', async (t) => {
  for (const { path, method, key, redirects, example } of [...OPERATIONS, STREAM] as readonly Endpoint[]) {
    if (method !== 'GET') continue;
    const headers = key === 'open' ? {} : { authorization: `Bearer ${api.keys.pro_plus}` };
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(String(example.input[name])),
    );
    const answer = await fetch(`${api.baseUrl}${filled}`, { method: 'HEAD', headers, redirect: 'manual' });
    t.equal(answer.status, redirects ? 302 : 200, `HEAD ${path}`);
    t.equal(await answer.text(), '', `HEAD ${path} has no body`);
  }
});
