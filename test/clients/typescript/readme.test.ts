// The first lines of the client's README as a newcomer runs them: taken from the document, run by Node against the API.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';
import { market, testApp } from '../../api/live-fixture.ts';

const CLIENT = join(PROJECT_ROOT, 'clients', 'typescript');
const folder = mkdtempSync(join(tmpdir(), 'readme-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** A package in a folder of modules, as an install leaves it: compiled, not stripped. */
const install = (): void => {
  const target = join(folder, 'node_modules', 'perp-market-data-client');
  mkdirSync(target, { recursive: true });
  const tsc = join(PROJECT_ROOT, 'node_modules', '.bin', 'tsc');
  execFileSync(tsc, ['-p', 'tsconfig.json', '--outDir', join(target, 'dist')], { cwd: CLIENT });
  for (const name of ['verify.mjs']) writeFileSync(join(target, 'dist', name), readFileSync(join(CLIENT, 'src', name)));
  writeFileSync(join(target, 'package.json'), readFileSync(join(CLIENT, 'package.json')));
};

t.test('prints what BTC costs on each venue', async (t) => {
  const [, code] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(CLIENT, 'README.md'), 'utf8')) ?? [];
  t.ok(code !== undefined && code.trim().split('\n').length <= 10, 'ten lines at most');
  const example = readFileSync(join(CLIENT, 'examples', 'first.ts'), 'utf8');
  t.ok(example.endsWith(code ?? ''), 'the example is the same');
  install();
  writeFileSync(join(folder, 'first.mts'), code ?? '');
  const { app, keys } = await testApp(market());
  t.teardown(() => app.close());
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const env = { PATH: process.env['PATH'], PERP_BASE_URL: baseUrl, PERP_API_KEY: keys.free };
  const child = spawn(process.execPath, ['first.mts'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.match(await text(child.stdout), /^binance BTCUSDT 60000 \d+ 0\.0001\n/);
  const required =
    "console.log(typeof require('perp-market-data-client').createClient, typeof require('perp-market-data-client/node').verifyProof)";
  const answer = execFileSync(process.execPath, ['--input-type=commonjs', '-e', required], { cwd: folder });
  t.equal(String(answer), 'function function\n', 'it can be required too');
});
