// The program `perp` where its output or its messages cannot be written: one sentence and an exit code, never a trace of its own code.
import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';
import { answerJson, openEdgeServer, refuse } from '../../support/services/edge-server.ts';

const MAIN = join(PROJECT_ROOT, 'clients', 'cli', 'main.ts');
/** Every write to it fails for lack of room. */
const FULL = '/dev/full';
const VENUES = OPERATIONS.find(({ path }) => path === '/v2/venues')?.example.output;

const run = (t: Test, given: { words: readonly string[]; baseUrl: string; out: 'pipe' | number }) => {
  const env = { HOME: t.testdir({}), PERP_BASE_URL: given.baseUrl, PERP_API_KEY: 'k' };
  const child = spawn(process.execPath, [MAIN, ...given.words], { env, stdio: ['ignore', given.out, 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = new Promise<number | null>((done) => child.on('exit', done));
  return { child, ended };
};

t.test('a disk that is full is named', { skip: !existsSync(FULL) }, async (t) => {
  const edge = await openEdgeServer(t, [answerJson(200, VENUES)]);
  for (const format of ['--json', '--csv', '-otable']) {
    const { child, ended } = run(t, {
      words: ['venues', format],
      baseUrl: edge.url,
      out: openSync(FULL, 'w'),
    });
    const told = await text(child.stderr as Readable);
    t.equal(await ended, 1, format);
    t.match(told, /^Standard output cannot be written: ENOSPC[^\n]*\n/m, format);
    t.notMatch(told, /\n {4}at /, 'no trace');
  }
});

t.test('messages that nobody reads change no exit code', async (t) => {
  const edge = await openEdgeServer(t, [refuse(400, 'DQL_SYNTAX')]);
  const { child, ended } = run(t, { words: ['dql', 'check', 'x y'], baseUrl: edge.url, out: 'pipe' });
  child.stderr?.destroy();
  t.equal(await ended, 3);
});
