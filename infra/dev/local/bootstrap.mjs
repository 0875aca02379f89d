// Prepares a fresh clone, then runs a script on the project's own Node: the machine needs Node >= 20, a JDK and Maven.
// Plain JavaScript without dependencies, because it runs before anything is installed and on an older Node.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { areClassesArchived, makeClassArchives, stampClassArchives } from '../engines/class-archives.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const ENGINES = join(ROOT, '.local', 'engines');
const MODULES = join(ROOT, 'node_modules');
/** Compiled modules, kept for every process that a script starts: loading ours takes a third of the time (D-62). */
const COMPILED = join(ROOT, '.local', 'compiled');
const CHROMIUM = [
  ...['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const PRINT_EVERY_MS = 2000;
const FETCH_TRIES = 3;
const PARENT_LOOK_MS = 1000;

const MODULE_FOLDERS = ['api', 'infra', 'ingest', 'processors', 'schemas'];

/** V8 keeps what the young generation grew to: the supervisor allocates while it waits for its processes, and nearly nothing from then on. */
const SMALLEST_YOUNG_GENERATION = ['--max-semi-space-size=2'];

/** Makes one file of each process, where its sources have changed (D-1141). */
const BUILD = 'infra/dev/build/main.ts';

/** Script name -> its file, whether it runs the Java engines and bundled processes, the folders whose modules it runs, and flags of Node. */
const SCRIPTS = {
  demo: { file: 'infra/dev/local/demo.ts', engines: true, bundles: true, flags: SMALLEST_YOUNG_GENERATION },
  start: { file: 'infra/dev/local/start.ts', engines: true, bundles: true, flags: SMALLEST_YOUNG_GENERATION },
  test: { file: 'test/run.ts', engines: true, bundles: true, browser: true, modules: [...MODULE_FOLDERS, 'test'] },
  'golden:update': { file: 'test/run.ts', engines: true, bundles: true, env: { GOLDEN_UPDATE: '1' } },
  build: { file: BUILD, engines: false },
  bench: { file: 'infra/dev/bench/main.ts', engines: true, bundles: true },
  check: { file: 'infra/dev/local/check.ts', engines: false },
  replay: { file: 'infra/dev/tools/replay.ts', engines: false },
  normalise: { file: 'infra/dev/tools/normalise.ts', engines: false },
  docs: { file: 'infra/dev/documents/endpoint-docs.ts', engines: false },
  keys: { file: 'infra/tools/keys.ts', engines: false },
  'perp-mcp': { file: 'api/perp-mcp.ts', engines: false },
  rules: { file: 'infra/tools/rules.ts', engines: false },
  payments: { file: 'infra/tools/payments.ts', engines: false },
  nightly: { file: 'processors/nightly.ts', engines: false, flags: ['--max-semi-space-size=8'] },
  anchors: { file: 'infra/tools/anchors.ts', engines: false },
  verify: { file: 'infra/verify/verify.mjs', engines: false },
  perp: { file: 'clients/cli/main.ts', engines: false },
  'check-venues': { file: 'infra/tools/check-venues.ts', engines: false },
  fetch: { file: null, engines: true },
};

/** The child processes that run for us now: the package manager, Maven, an engine or the script; stopped when we are. */
const running = new Set();
let isStopping = false;

const [name = '', ...args] = process.argv.slice(2);
const script = SCRIPTS[name];
if (script === undefined) stop(`usage: node infra/dev/local/bootstrap.mjs ${Object.keys(SCRIPTS).join('|')} [arguments]`);

// Under a locale that is not UTF-8, or not installed, Java cannot open a path with letters outside of ASCII (D-629).
if (process.platform === 'linux') process.env.LC_ALL = 'C.UTF-8';
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => passOn(signal));
stopWithNpm();
try {
  requireNode();
  // Both wait for a network most of the time.
  const packages = installPackages().then(compileModules).then(bundleProcesses);
  await Promise.all([packages, script.engines && !enginesAreOutside() ? prepareEngines(packages) : null]);
  if (script.browser) await installChromium();
} catch (error) {
  for (const child of running) child.kill('SIGTERM');
  stop(error.message);
}
if (isStopping) process.exit(1);
if (script.file !== null) runScript(script, args);

function requireNode() {
  if (Number(process.versions.node.split('.')[0]) < 20) {
    throw new Error(`Node ${process.versions.node} is too old: install Node 20 or newer (https://nodejs.org)`);
  }
}

async function installPackages() {
  const lock = join(ROOT, 'package-lock.json');
  const stamp = join(MODULES, '.installed-from');
  const wanted = hashFile(lock);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  if (!installedSince(lock)) {
    await retried(async (attempt) => {
      // Over what an install left that was cut short, npm fails with ENOTEMPTY: only a whole one is built upon.
      if (!existsSync(stamp)) rmSync(MODULES, { recursive: true, force: true });
      rmSync(stamp, { force: true });
      // Not `npm ci`: it refuses a lock file from a registry that lacks the optional binaries of other platforms.
      const quietly = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
      // What the last attempt fetched is not asked for again: the next one comes further.
      const kept = attempt === 1 ? [] : ['--prefer-offline'];
      await runReported('installing npm packages', 'npm', ['install', ...quietly, ...kept, ...keepNpmCache()], () => {
        // npm 10.8 ends with code 0 although it broke off ("Exit handler never called!").
        if (!installedSince(lock)) throw new Error('npm ended before it had installed everything');
      });
    });
  }
  writeFileSync(stamp, wanted);
}

/** What npm fetched is kept in our folder when its own cannot be written: a user without a home, or with a read-only one. */
function keepNpmCache() {
  const cache = process.env.npm_config_cache ?? join(readHome(), '.npm');
  return canWrite(cache) ? [] : [`--cache=${join(ROOT, '.local', 'npm')}`];
}

function keepMavenRepository() {
  return canWrite(join(readHome(), '.m2')) ? [] : [`-Dmaven.repo.local=${join(ROOT, '.local', 'maven')}`];
}

/** As Java finds it: of the account, whatever HOME says. */
function readHome() {
  try {
    return userInfo().homedir;
  } catch {
    return '/nonexistent';
  }
}

/** Whether the folder is one, or can be made: the nearest above it that exists can be written. */
function canWrite(folder) {
  if (!existsSync(folder) && dirname(folder) !== folder) return canWrite(dirname(folder));
  try {
    accessSync(join(folder, '/'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Before the first start: a process that compiles a module itself keeps Node's TypeScript compiler in memory for as long as it runs (D-810). */
async function compileModules() {
  const { engines, modules = MODULE_FOLDERS } = script;
  const { NODE_COMPILE_CACHE: folder = COMPILED } = process.env;
  if (!engines || isStopping || existsSync(folder)) return;
  const compile = [join(ROOT, 'infra', 'dev', 'local', 'compile-modules.mjs'), folder, ...modules.map((name) => join(ROOT, name))];
  try {
    mkdirSync(folder, { recursive: true });
    await runReported('compiling the modules', findNode(), compile);
  } catch {
    // Each process then compiles its modules itself. The folder is there, so the step is not repeated.
  }
}

/** Without bundles the processes run from their modules. */
async function bundleProcesses() {
  if (!script.bundles || isStopping) return;
  const env = { NODE_COMPILE_CACHE: COMPILED, ...process.env };
  const child = spawn(findNode(), [join(ROOT, BUILD)], { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] });
  track(child);
  await new Promise((settle) => child.on('close', settle).on('error', settle));
}

/** npm writes its own record at the end of an install: a record newer than the lock file was made from it. */
function installedSince(lock) {
  const record = join(MODULES, '.package-lock.json');
  return existsSync(record) && statSync(record).mtimeMs >= statSync(lock).mtimeMs;
}

function enginesAreOutside() {
  return ['KAFKA_BROKERS', 'QUESTDB_HTTP', 'QUESTDB_PG'].every((setting) => process.env[setting]) && name !== 'test';
}

async function prepareEngines(packages) {
  const { java, version } = requireJava();
  await fetchEngines();
  // npm puts `node_modules/.bin` first in the PATH: we may run on the Node of an earlier install, which npm replaces.
  if (process.execPath.startsWith(join(MODULES, '/'))) await packages;
  const archives = { engines: ENGINES, java, version, track, isStopping: () => isStopping };
  if (areClassesArchived(archives)) return;
  await shown('preparing Kafka and QuestDB', () => makeClassArchives(archives));
  // What was cut short is made at the next start.
  if (!isStopping) stampClassArchives(archives);
}

async function fetchEngines() {
  const pom = join(ROOT, 'infra', 'dev', 'engines', 'pom.xml');
  const stamp = join(ENGINES, 'fetched-from');
  const wanted = hashFile(pom);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  requireMaven();
  // Downloaded beside and moved at the end: an interrupted download leaves no file that looks complete.
  const partial = `${ENGINES}.${process.pid}`;
  const maven = ['-B', '-q', '-f', pom, `-Dengines.dir=${partial}`, ...keepMavenRepository(), 'generate-resources'];
  mkdirSync(dirname(ENGINES), { recursive: true });
  try {
    await retried(() => runReported('fetching Kafka and QuestDB with Maven (about 70 MB)', 'mvn', maven));
    writeFileSync(join(partial, 'fetched-from'), wanted);
    rmSync(ENGINES, { recursive: true, force: true });
    renameSync(partial, ENGINES);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

function requireJava() {
  const home = process.env.JAVA_HOME;
  const java = home && existsSync(join(home, 'bin', 'java')) ? join(home, 'bin', 'java') : 'java';
  const answer = spawnSync(java, ['-version'], { encoding: 'utf8' });
  const advice = 'install a JDK 17 or newer (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless)';
  if (answer.error || answer.status !== 0) throw new Error(`no Java was found: ${advice}`);
  const major = /version "(\d+)/.exec(answer.stderr)?.[1];
  if (major !== undefined && Number(major) < 17) throw new Error(`Java ${major} is too old: ${advice}`);
  return { java, version: answer.stderr };
}

function requireMaven() {
  const answer = spawnSync('mvn', ['-v'], { encoding: 'utf8' });
  if (answer.error) throw new Error('no Maven was found: install it (Debian, Ubuntu: apt-get install maven)');
  if (answer.status !== 0) throw new Error(`Maven does not run (mvn -v exit code ${answer.status})\n${answer.stderr.trim()}`);
}

/** The browser of the page tests. Only they need it, and only root may install it. */
async function installChromium() {
  const found = [process.env.CHROMIUM_PATH, ...CHROMIUM].find((path) => path && existsSync(path));
  if (found) return;
  const packages = ['chromium', 'fonts-dejavu-core'];
  const byHand = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  const advice = `install it (Debian, Ubuntu: ${byHand}) or set CHROMIUM_PATH`;
  const mayInstall = process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0;
  if (!mayInstall) throw new Error(`no Chromium was found, which the tests of pages need: ${advice}`);
  const wait = ['-o', 'DPkg::Lock::Timeout=120'];
  const install = ['install', '-y', '--no-install-recommends', ...wait, ...packages];
  try {
    await runReported('installing Chromium', 'apt-get', install);
  } catch {
    // A fresh image has no package lists.
    await runReported('fetching the list of packages', 'apt-get', ['update']);
    await runReported('installing Chromium', 'apt-get', install);
  }
}

async function retried(work) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (isStopping || attempt === FETCH_TRIES) throw error;
      print(`${error.message.split('\n')[0]}; trying again`);
    }
  }
}

/** Runs a command quietly, and shows its output only when it fails; `check` throws for what its exit code does not tell. */
function runReported(what, command, commandArgs, check = () => undefined) {
  return shown(what, async () => {
    await runQuietly(what, command, commandArgs);
    check();
  });
}

/** Reports that the work continues, and when it is done. */
async function shown(what, work) {
  const begun = Date.now();
  const elapsed = () => `${((Date.now() - begun) / 1000).toFixed(0)} s`;
  print(what);
  const timer = setInterval(() => print(`${what}: ${elapsed()}`), PRINT_EVERY_MS);
  try {
    await work();
    print(`${what}: done in ${elapsed()}`);
  } finally {
    clearInterval(timer);
  }
}

function runQuietly(what, command, commandArgs) {
  return new Promise((settle, fail) => {
    const child = spawn(command, commandArgs, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    track(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    child.on('error', (error) => fail(new Error(`${command} cannot be run: ${error.message}`)));
    child.on('close', (code) => {
      if (code === 0) settle();
      else fail(new Error(`${what} failed (${command} exit code ${code})\n${output.trim()}`));
    });
  });
}

function runScript({ file, env, flags = [] }, scriptArgs) {
  if (!existsSync(join(ROOT, file))) stop(`${file} does not exist`);
  const child = spawn(findNode(), [...flags, join(ROOT, file), ...scriptArgs], {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, ...env, PATH: `${join(MODULES, '.bin')}:${process.env.PATH ?? ''}` },
  });
  // The script stops in order and decides the exit code.
  track(child);
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
}

function findNode() {
  const own = join(MODULES, 'node', 'bin', 'node');
  return existsSync(own) ? own : process.execPath;
}

function track(child) {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

function passOn(signal) {
  isStopping = true;
  if (running.size === 0) process.exit(1);
  for (const child of running) child.kill(signal);
}

/** A signal to npm alone may end it without us, and kill -9 always does: our parent process is then another one. */
function stopWithNpm() {
  // Started by hand, perhaps with nohup: we continue without the shell that started us.
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    if (!isStopping) passOn('SIGTERM');
  }, PARENT_LOOK_MS);
  timer.unref();
}

function hashFile(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function print(line) {
  process.stderr.write(`${line}\n`);
}

function stop(message) {
  print(message);
  process.exit(1);
}
