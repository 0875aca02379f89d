/** Installing and counting: a fresh machine gets a message about what it lacks, and a test run's last line counts its tests. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { createProgress } from '../../../infra/dev/local/progress.ts';
import { countAssertions } from '../../support/run/tap-count.ts';
import { waitFor } from '../../support/wait.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A clone that has its npm packages, on a machine whose PATH holds Node and the given programs (name -> shell script). */
function clone(t: { teardown(work: () => unknown): unknown }, programs: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), 'clone-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const bootstrap = ['infra/dev/local/bootstrap.mjs', 'infra/dev/engines/class-archives.mjs'];
  for (const file of [...bootstrap, 'infra/dev/engines/pom.xml', 'package-lock.json']) {
    cpSync(join(ROOT, file), join(root, file));
  }
  const bin = join(root, 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'node'));
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const runOn = (node: string, script: string, env: NodeJS.ProcessEnv = {}) => {
    const result = spawnSync(node, [join(root, 'infra', 'dev', 'local', 'bootstrap.mjs'), script], {
      encoding: 'utf8',
      env: { PATH: bin, ...env },
    });
    return { status: result.status, stderr: result.stderr };
  };
  const run = (script: string, env: NodeJS.ProcessEnv = {}) => runOn(process.execPath, script, env);
  const begin = (script: string): ChildProcess =>
    spawn(process.execPath, [join(root, 'infra', 'dev', 'local', 'bootstrap.mjs'), script], {
      cwd: root,
      stdio: 'ignore',
      env: { PATH: bin },
    });
  const local = join(root, '.local');
  return { root, run, runOn, begin, left: () => (existsSync(local) ? readdirSync(local) : []) };
}

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const NPM = '/bin/mkdir -p node_modules; echo ran >> npm-runs; echo {} > node_modules/.package-lock.json';
const JAVA_17 = `echo 'openjdk version "17.0.15" 2025-04-15' >&2`;
/** Like Maven: fills the folder named by -Dengines.dir. */
const MAVEN = `for arg in "$@"; do case "$arg" in
  -v) exit 0;;
  -Dengines.dir=*) dir="\${arg#-Dengines.dir=}"; /bin/mkdir -p "$dir/kafka"; echo jar > "$dir/kafka/kafka.jar";;
esac; done`;

t.test('on a machine without Java, with an old one, or without Maven the error names what to install', (t) => {
  const without = clone(t, { npm: NPM });
  t.match(without.run('fetch'), { status: 1, stderr: /no Java was found: install a JDK 17 or newer \(.*openjdk-17/ });
  const old = clone(t, { npm: NPM, java: `echo 'openjdk version "11.0.2"' >&2` });
  t.match(old.run('fetch'), { status: 1, stderr: /Java 11 is too old: install a JDK 17/ });
  const noMaven = clone(t, { npm: NPM, java: JAVA_17 });
  t.match(noMaven.run('fetch'), { status: 1, stderr: /no Maven was found: install it/ });
  const brokenMaven = clone(t, {
    npm: NPM,
    java: JAVA_17,
    mvn: `echo 'JAVA_HOME is not defined correctly' >&2; exit 1`,
  });
  t.match(brokenMaven.run('fetch'), {
    status: 1,
    stderr: /Maven does not run \(mvn -v exit code 1\)\nJAVA_HOME is not defined/,
  });
  t.match(noMaven.run('nonsense'), { status: 1, stderr: /usage: .*demo\|start\|test/ });
  t.end();
});

t.test('packages and archives are fetched once, and again when what names them changed', (t) => {
  const { root, run, left } = clone(t, { npm: NPM, java: JAVA_17, mvn: MAVEN });
  const npmRuns = (): number => readFileSync(join(root, 'npm-runs'), 'utf8').trim().split('\n').length;
  const first = run('fetch');
  t.equal(first.status, 0, first.stderr);
  t.match(first.stderr, /installing npm packages[\s\S]*fetching Kafka and QuestDB/);
  t.ok(existsSync(join(root, '.local', 'engines', 'kafka', 'kafka.jar')));
  t.same(run('fetch'), { status: 0, stderr: '' }, 'the second time there is nothing to do');
  t.equal(npmRuns(), 1);
  t.match(readFileSync(join(root, '.local', 'engines', 'archived-by'), 'utf8'), '17.0.15');
  writeFileSync(join(root, 'bin', 'java'), `#!/bin/sh\necho 'openjdk version "21.0.4" 2025-04-15' >&2\n`);
  t.match(run('fetch').stderr, /preparing Kafka and QuestDB: done/, 'classes are kept for one version of Java');
  t.same(run('fetch'), { status: 0, stderr: '' });
  writeFileSync(join(root, 'infra', 'dev', 'engines', 'pom.xml'), '<project/>');
  t.match(run('fetch').stderr, /fetching/, 'a new version in the pom');
  // Later than the record of the install, as a pulled change is.
  const lock = join(root, 'package-lock.json');
  spawnSync('touch', ['-d', '2000-01-01', join(root, 'node_modules', '.package-lock.json')]);
  writeFileSync(lock, `${readFileSync(lock, 'utf8')} `);
  t.match(run('fetch').stderr, /installing npm packages/);
  t.equal(npmRuns(), 2);
  t.same(left(), ['compiled', 'engines'], 'nothing half-fetched stays');
  t.end();
});

t.test('an install that was cut short is begun anew, and tried three times', (t) => {
  // Like npm: it cannot move a package that an earlier run has moved already.
  const npm = `[ ! -e node_modules/.left ] || { echo ENOTEMPTY; exit 217; }; /bin/mkdir -p node_modules; echo ran >> npm-runs
    [ "$(/usr/bin/wc -l < npm-runs)" -ge "$(/bin/cat fails-until)" ] || { echo > node_modules/.left; echo 'Exit handler never called!'; exit $(/bin/cat code); }
    echo {} > node_modules/.package-lock.json`;
  const { root, run } = clone(t, { npm, java: JAVA_17, mvn: MAVEN });
  const failsUntil = (count: number): void => writeFileSync(join(root, 'fails-until'), `${count}`);
  writeFileSync(join(root, 'code'), '0');
  failsUntil(5);
  t.match(
    run('fetch'),
    { status: 1, stderr: /npm ended before it had installed everything/ },
    'its exit code alone says nothing',
  );
  writeFileSync(join(root, 'code'), '1');
  rmSync(join(root, 'npm-runs'));
  const first = run('fetch');
  t.match(first, { status: 1, stderr: /Exit handler never called!/ });
  t.equal(first.stderr.match(/trying again/g)?.length, 2);
  const second = run('fetch');
  t.equal(second.status, 0, second.stderr);
  const lock = join(root, 'package-lock.json');
  spawnSync('touch', ['-d', '2000-01-01', join(root, 'node_modules', '.package-lock.json')]);
  writeFileSync(join(root, 'node_modules', 'kept'), '');
  writeFileSync(lock, `${readFileSync(lock, 'utf8')} `);
  t.equal(run('fetch').status, 0);
  t.ok(existsSync(join(root, 'node_modules', 'kept')), 'a whole one is built upon');
  spawnSync('touch', ['-d', '2000-01-01', join(root, 'node_modules', '.package-lock.json')]);
  writeFileSync(lock, `${readFileSync(lock, 'utf8')} `);
  failsUntil(8);
  t.equal(run('fetch').status, 0);
  t.notOk(existsSync(join(root, 'node_modules', 'kept')), 'one that a change cut short is not');
  t.end();
});

t.test('on the Node of an earlier install, which npm replaces, the engines wait for the new one', (t) => {
  const npm = `until [ -e .local/engines/fetched-from ]; do /bin/sleep 0.1; done
    /bin/mkdir -p node_modules/node; /bin/mv old-bin node_modules/node/bin; echo {} > node_modules/.package-lock.json`;
  const java = `case "$1" in -version) ${JAVA_17};; *) echo ran >> "\${0%/bin/java}/engines-run";; esac`;
  const { root, runOn } = clone(t, { npm, java, mvn: MAVEN });
  for (const folder of ['node_modules/node/bin', 'old-bin']) {
    mkdirSync(join(root, folder), { recursive: true });
    cpSync(process.execPath, join(root, folder, 'node'));
  }
  const result = runOn(join(root, 'node_modules', 'node', 'bin', 'node'), 'fetch');
  t.equal(result.status, 0, result.stderr);
  t.equal(readFileSync(join(root, 'engines-run'), 'utf8'), 'ran\n'.repeat(3), 'Kafka formats its folder first');
  t.end();
});

t.test('whatever the locale and the home, programs read paths as UTF-8 and keep what they fetch', (t) => {
  const said = (name: string): string => `echo "$LC_ALL $@" >> said-by-${name}`;
  const { root, run } = clone(t, { npm: `${NPM}; ${said('npm')}`, java: JAVA_17, mvn: `${MAVEN}\n${said('mvn')}` });
  const read = (name: string): string => readFileSync(join(root, `said-by-${name}`), 'utf8');
  // A folder below a file can be made by nobody, root included.
  writeFileSync(join(root, 'file'), '');
  t.equal(run('fetch', { LC_ALL: 'tr_TR.UTF-8', npm_config_cache: join(root, 'file', '.npm') }).status, 0);
  t.ok(read('npm').includes(`--cache=${join(root, '.local', 'npm')}`));
  for (const name of process.platform === 'linux' ? ['npm', 'mvn'] : []) t.match(read(name), /^C\.UTF-8 /m);
  rmSync(join(root, 'node_modules'), { recursive: true });
  t.equal(run('fetch', { npm_config_cache: join(root, 'cache') }).status, 0);
  t.notMatch(read('npm').split('\n')[1], /--cache/, 'its own folder, where it can be written');
  t.end();
});

t.test('a start that ends while the engines are prepared leaves none running, and prepares them again', async (t) => {
  // As an engine would: it runs until it is ended.
  const java = `case "$1" in -version) ${JAVA_17};; *) echo $$ >> engines-run; exec /bin/sleep 600;; esac`;
  for (const [signal, ending] of [
    ['SIGTERM', [1, null]],
    ['SIGKILL', [null, 'SIGKILL']],
  ] as const) {
    const { root, begin } = clone(t, { npm: NPM, java, mvn: MAVEN });
    const started = begin('fetch');
    const ended = once(started, 'exit');
    const pids = (): readonly number[] => {
      const file = join(root, 'engines-run');
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : [];
    };
    await waitFor('both engines run', () => pids().length === 2);
    started.kill(signal);
    t.same(await ended, ending, signal);
    await waitFor('no engine runs', () => !pids().some(runs));
    t.notOk(existsSync(join(root, '.local', 'engines', 'archived-by')), 'nothing counts as prepared');
  }
});

t.test('a fetch that fails is tried three times, shows the output of Maven, and leaves nothing behind', (t) => {
  const broken = 'case "$1" in -v) exit 0;; esac; echo "Could not transfer artifact"; exit 1';
  const { run, left } = clone(t, { npm: NPM, java: JAVA_17, mvn: broken });
  const result = run('fetch');
  t.match(result, { status: 1, stderr: /Could not transfer artifact/ });
  t.equal(result.stderr.match(/trying again/g)?.length, 2);
  t.same(left(), ['compiled'], 'a compile that failed is not repeated');
  const outside = { KAFKA_BROKERS: 'b:9092', QUESTDB_HTTP: 'http://q:9000', QUESTDB_PG: 'postgres://q:8812' };
  t.equal(run('fetch', outside).status, 0, 'engines from outside need no archives');
  t.end();
});

t.test('assertions are counted at the leaves, failures of a whole subtest too', (t) => {
  const cases: readonly [string, number, number][] = [
    ['ok 1 - a\nnot ok 2 - b\n1..2', 1, 1],
    ['# Subtest: s\n    ok 1 - a\n    ok 2 - b\n    1..2\nok 1 - s # time=1ms\nok 2 - c', 3, 0],
    ['# Subtest: s\n    ok 1 - a\n    not ok 2 - b\n    1..2\nnot ok 1 - s', 1, 1],
    ['# Subtest: s\n    ok 1 - a\n    1..1\nnot ok 1 - timeout!', 1, 1],
    [
      '# Subtest: s\n    # Subtest: d\n        not ok 1 - a\n        1..1\n    not ok 1 - d\n    1..1\nnot ok 1 - s',
      0,
      1,
    ],
    ['not ok 1 - later # TODO\nok 2 - away # SKIP', 0, 0],
    ['the output of a crash', 0, 0],
  ];
  for (const [output, passed, failed] of cases) t.same(countAssertions(output), { passed, failed }, output);
  t.end();
});

t.test('a long step is reported, with the seconds since the beginning', async (t) => {
  const lines: string[] = [];
  const progress = createProgress((text) => lines.push(text));
  const slow = new Promise<string>((settle) => {
    const look = setInterval(() => {
      if (lines.length === 0) return;
      clearInterval(look);
      settle('done');
    }, 20);
  });
  t.equal(await progress.during('the broker', slow), 'done');
  t.match(lines[0], /^\[ {2}2\.\d s\] waiting for the broker\n$/);
});
