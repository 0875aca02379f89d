/** Keeps one set of real engines running for the current tests; started by test/support/engines/engines.ts or test/run.ts. */
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openDataDir } from '../../../infra/dev/engines/data-dir.ts';
import {
  ENGINE_NAMES,
  type EngineEndpoints,
  type EngineName,
  type Engines,
  startEngines,
} from '../../../infra/dev/engines/engines.ts';
import { isAlive, type ProcessIdentity, readIdentity } from '../../../infra/dev/engines/process-identity.ts';
import { describeError } from '../../../schemas/thrown.ts';
import type { EngineRequest, HostAddress } from './engines.ts';

/** Without any living test process for this long, everything is stopped. */
const IDLE_MS = 10 * 60_000;
const LOOK_EVERY_MS = 2000;

const dir = process.argv[2];
if (dir === undefined) throw new Error('usage: engine-host.ts FOLDER [OWNER-PID]');
const owner = process.argv[3] === undefined ? null : readIdentity(Number(process.argv[3]));
const log = (line: string): void => console.log(`${new Date().toISOString()} ${line}`);

const started = new Map<EngineName, Promise<Engines>>();
const users: ProcessIdentity[] = [];
let lastUsed = Date.now();

const dataDir = await openDataDir(dir, log);
for (const name of ENGINE_NAMES) rmSync(join(dir, name), { recursive: true, force: true });
const token = randomBytes(16).toString('hex');
const server = createServer((request, response) => {
  // A connection that is kept may end just as a test sends its next request on it.
  response.setHeader('connection', 'close');
  answer(request).then(
    (body) => response.end(JSON.stringify(body)),
    (error: unknown) => {
      response.statusCode = 500;
      response.end(JSON.stringify({ error: describeError(error) }));
    },
  );
});
server.listen(0, '127.0.0.1', () => {
  const me = readIdentity(process.pid);
  if (me === null) throw new Error('this process cannot be seen in the process table');
  const address: HostAddress = { ...me, port: (server.address() as AddressInfo).port, token };
  writeFileSync(join(dir, 'host.json'), JSON.stringify(address), { mode: 0o600 });
});

const watch = setInterval(() => {
  if (users.some(isAlive)) lastUsed = Date.now();
  const abandoned = owner !== null && !isAlive(owner);
  if (abandoned || (owner === null && Date.now() - lastUsed > IDLE_MS)) void stop();
}, LOOK_EVERY_MS);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

async function answer(request: IncomingMessage): Promise<Partial<EngineEndpoints>> {
  if (request.headers.authorization !== `Bearer ${token}`) throw new Error('the token of host.json is needed');
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { pid, names } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as EngineRequest;
  const user = readIdentity(pid);
  if (user !== null) users.push(user);
  lastUsed = Date.now();
  const engines = await Promise.all(names.map(start));
  return Object.assign({}, ...engines.map(({ endpoints }) => endpointsGiven(endpoints)));
}

async function start(name: EngineName): Promise<Engines> {
  const running = started.get(name) ?? startOnly(name);
  started.set(name, running);
  const engines = await running;
  await engines.ready(name);
  return engines;
}

function startOnly(name: EngineName): Promise<Engines> {
  const others = Object.fromEntries(ENGINE_NAMES.filter((other) => other !== name).map((other) => [other, false]));
  const running = startEngines({ dir: join(dir ?? '', name), ...others, ports: 'free', isLight: true, env: {}, log });
  running.catch(() => started.delete(name));
  return running;
}

function endpointsGiven(endpoints: EngineEndpoints): Partial<EngineEndpoints> {
  return Object.fromEntries(Object.entries(endpoints).filter(([, value]) => value !== null));
}

async function stop(): Promise<void> {
  clearInterval(watch);
  rmSync(join(dir ?? '', 'host.json'), { force: true });
  server.close();
  const running = await Promise.allSettled(started.values());
  await Promise.all(running.map((result) => (result.status === 'fulfilled' ? result.value.stop() : undefined)));
  dataDir.release();
  process.exit(0);
}
