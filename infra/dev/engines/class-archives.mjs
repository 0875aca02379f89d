// Class archives of the engines (JEP 350): a JVM maps the classes of an earlier start instead of reading and verifying them, which takes half of the
// processor time of a start (Kafka 4.4 s to 2.1 s, QuestDB 4.0 s to 2.4 s). Plain JavaScript without dependencies: it runs while npm installs them.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

const LIGHT = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
const START_MS = 60_000;
const LOOK_EVERY_MS = 100;
const GONE = { recursive: true, force: true };

const pause = (ms) => new Promise((settle) => setTimeout(settle, ms));

const freePort = () =>
  new Promise((settle, fail) => {
    const server = createServer().once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => settle(port));
    });
  });

const accepts = (port) =>
  new Promise((settle) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
    socket.once('connect', () => socket.destroy());
  });

/** Runs the command of its arguments, passes signals on to it, and kills it once the process that started both is gone: its stdin closes then. */
const GUARD = `
// First: a signal that arrives while the command starts must not end this process alone.
let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child = require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: 'ignore' });
process.stdin.resume().on('end', () => child.kill('SIGKILL'));
child.on('error', () => process.exit(1)).on('exit', (code) => process.exit(code ?? 1));
`;

/** Starts an engine that does not outlive this process. `ended` resolves when it is over or cannot be started; `track` is given the child process. */
const run = (java, args, track) => {
  const child = spawn(process.execPath, ['-e', GUARD, '--', java, ...args], { stdio: ['pipe', 'ignore', 'ignore'] });
  track(child);
  const ended = new Promise((settle) => {
    child.once('error', settle).once('exit', settle);
  });
  return { child, ended };
};

/** As in kafka.ts: Java reads a properties file as Latin-1. */
const escapeProperty = (value) =>
  value.replace(/[^ -[\]-~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

const kafka = async (engines, folder) => {
  const [broker, controller] = [await freePort(), await freePort()];
  const properties = join(folder, 'server.properties');
  const lines = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${broker},CONTROLLER://127.0.0.1:${controller}`,
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': join(folder, 'data'),
    'offsets.topic.replication.factor': 1,
  };
  writeFileSync(properties, Object.entries(lines).map(([name, value]) => `${name}=${escapeProperty(`${value}`)}\n`).join(''));
  const classes = ['-Xmx256m', '-cp', `${join(engines, 'kafka')}/*`];
  const format = ['kafka.tools.StorageTool', 'format', '--cluster-id=AAAAAAAAAAAAAAAAAAAAAA', '-c', properties];
  return { port: broker, before: [...classes, ...format], main: [...classes, 'kafka.Kafka', properties] };
};

const questdb = async (engines, folder) => {
  const [http, min, pg] = [await freePort(), await freePort(), await freePort()];
  mkdirSync(join(folder, 'conf'));
  mkdirSync(join(folder, 'tmp'));
  const lines = [`http.bind.to=127.0.0.1:${http}`, `http.min.net.bind.to=127.0.0.1:${min}`, `pg.net.bind.to=127.0.0.1:${pg}`];
  writeFileSync(join(folder, 'conf', 'server.conf'), `${lines.join('\n')}\nline.tcp.enabled=false\ntelemetry.enabled=false\n`);
  const main = ['--add-exports', 'java.base/jdk.internal.math=io.questdb', '-m', 'io.questdb/io.questdb.ServerMain'];
  const classes = ['-Xmx256m', '-Dnoebug', `-Djava.io.tmpdir=${join(folder, 'tmp')}`, '-p', join(engines, 'questdb')];
  return { port: http, before: null, main: [...classes, ...main, '-d', folder, '-n'] };
};

const ENGINES = { kafka, questdb };

/** Starts the engine once, and keeps the classes that it had loaded when it ended. */
const archiveClasses = async (name, { engines, java, track, isStopping }) => {
  const file = join(engines, `${name}.jsa`);
  rmSync(file, { force: true });
  // Of one that was killed.
  for (const left of readdirSync(engines)) if (left.startsWith(`${name}-classes-`)) rmSync(join(engines, left), GONE);
  const folder = mkdtempSync(join(engines, `${name}-classes-`));
  try {
    const { port, before, main } = await ENGINES[name](engines, folder);
    if (before !== null) await run(java, [...LIGHT, ...before], track).ended;
    if (isStopping()) return;
    const partial = join(engines, `${name}.${process.pid}.jsa`);
    const { child, ended } = run(java, [...LIGHT, `-XX:ArchiveClassesAtExit=${partial}`, ...main], track);
    const until = Date.now() + START_MS;
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    while (!hasEnded() && Date.now() < until && !(await accepts(port))) await pause(LOOK_EVERY_MS);
    child.kill('SIGTERM');
    await ended;
    if (existsSync(partial)) renameSync(partial, file);
  } finally {
    rmSync(folder, GONE);
  }
};

/** The stamp of what they were made with; a JVM of another version maps none of them. */
const locateStamp = (engines) => join(engines, 'archived-by');

export const areClassesArchived = ({ engines, version }) =>
  existsSync(locateStamp(engines)) && readFileSync(locateStamp(engines), 'utf8') === version;

/** They are not made again for this version of Java (the text of `java -version`). */
export const stampClassArchives = ({ engines, version }) => writeFileSync(locateStamp(engines), version);

/**
 * Of both engines, in `engines`. `track` is given each child process; none is started once `isStopping`. Without an archive an engine starts as
 * always, only slower: nothing here fails a start.
 */
export const makeClassArchives = (options) =>
  Promise.allSettled(Object.keys(ENGINES).map((name) => archiveClasses(name, options)));
