// The tap of a run is a bundle with another domain of errors: what the package fails, it fails, in the same test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { bundleTap } from '../../support/tap/bundle-tap.ts';

const USE_BUNDLED_TAP = ['--import', new URL('../../support/tap/use-bundled-tap.ts', import.meta.url).href];
/** Each error comes while its test waits for ever, so that nothing else ends the test. */
const STRAY = `
import t from 'tap';
const never = new Promise(() => {});
const keptAlive = setInterval(() => undefined, 60_000);
t.teardown(() => clearInterval(keptAlive));
t.test('timer', async () => { setTimeout(() => { throw new Error('of a timer'); }); await never; });
t.test('rejection', async () => { Promise.reject(new Error('of a promise')); await never; });
t.test('around', async (t) => {
  await t.test('within', async () => { setImmediate(() => { throw new Error('of a test within'); }); await never; });
  t.pass('goes on');
});
const early = Promise.withResolvers();
t.test('early', async (t) => { setImmediate(async () => { await early.promise; throw new Error('of a test that ended'); }); t.pass('ended'); });
t.test('late', async (t) => { early.resolve(); await new Promise((settle) => process.once('uncaughtExceptionMonitor', settle)); t.pass('not failed'); });
t.test('wrong', (t) => { t.same({ a: 1 }, { a: 2 }, 'differs'); t.end(); });
t.test('thrown', () => { throw new Error('at once'); });
t.test('heard', async (t) => {
  const heard = new Promise((settle) => process.once('uncaughtException', settle));
  setImmediate(() => { throw new Error('heard'); });
  t.match(await heard, { message: 'heard' });
});
`;

/** Errors that come to no test which goes on. */
const OUTSIDE = {
  'while the process ends': `
t.test('ended', async (t) => t.pass('ended'));
process.on('exit', () => { throw new Error('of the end'); });
`,
  'of a promise while the process ends': `
t.test('ended', async (t) => t.pass('ended'));
process.on('exit', () => { Promise.reject(new Error('of the end')); });
`,
  'after the file has failed': `
t.test('first', async (t) => { t.pass('runs'); await new Promise(() => {}); });
setTimeout(() => { throw new Error('of the file'); });
setTimeout(() => { throw new Error('after it'); });
t.test('second', async (t) => t.pass('not reached'));
`,
  'where the file has begun within a resource': `
import { AsyncResource } from 'node:async_hooks';
const resource = new AsyncResource('around');
const stray = new Promise((settle) => process.once('uncaughtExceptionMonitor', settle));
resource.runInAsyncScope(() => t.test('first', async (t) => { await stray; t.pass('goes on'); }));
resource.runInAsyncScope(() => setImmediate(() => { throw new Error('of the resource'); }));
`,
};

/** Where no hook follows promises, what comes after an `await` has the number 0. */
const HOOKS = `
import { executionAsyncId } from 'node:async_hooks';
import t from 'tap';
t.test('await', async (t) => { await null; t.equal(executionAsyncId(), 0); });
`;

const runPoints = async (t: Test, script: string, flags: readonly string[]): Promise<readonly string[]> => {
  const folder = t.testdir({ 'file.mjs': script });
  const child = spawn(process.execPath, [...flags, `${folder}/file.mjs`], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  const output = await text(child.stdout);
  const points = output.split('\n').flatMap((line) => {
    const point = /^ *(?:not )?ok \d+ - (?:(?! # time).)*|^ *(?:lineNumber|tapCaught): .*/.exec(line);
    return point === null ? [] : [point[0]];
  });
  const [code] = await ended;
  return [...points, `exit code ${code}`];
};

await bundleTap();

t.test('an error that nothing caught fails the test in which it was thrown, as with the package', async (t) => {
  const ofPackage = await runPoints(t, STRAY, []);
  const ofBundle = await runPoints(t, STRAY, USE_BUNDLED_TAP);
  t.same(ofBundle, ofPackage);
  for (const what of ['of a timer', 'of a promise', 'of a test within', 'of a test that ended', 'differs', 'at once'])
    t.equal(ofBundle.filter((line) => /not ok \d+ - /.test(line) && line.includes(what)).length, 1, what);
});

t.test('an error outside of all tests fails the file, as with the package', async (t) => {
  for (const [when, script] of Object.entries(OUTSIDE)) {
    const file = `import t from 'tap';\n${script}`;
    const ofPackage = await runPoints(t, file, []);
    t.equal(ofPackage.at(-1), 'exit code 1', when);
    t.same(await runPoints(t, file, USE_BUNDLED_TAP), ofPackage, when);
  }
});

t.test('no hook follows the promises of a file', async (t) => {
  t.same(await runPoints(t, HOOKS, USE_BUNDLED_TAP), ['    ok 1 - should be equal', 'ok 1 - await', 'exit code 0']);
});
