// The first lines of the client's README as a newcomer runs them: taken from the document, run by Node against the API.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';

const CLIENT = join(PROJECT_ROOT, 'clients', 'typescript');
const folder = mkdtempSync(join(tmpdir(), 'readme-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** As the README says: a package is made in the clone, and installed in a project of its own. */
const install = (readme: string): void => {
  const [, pack = '', add = ''] = /```text\n(npm pack [^\n]+)\n(npm install [^\n]+)\n```/.exec(readme) ?? [];
  writeFileSync(join(folder, 'package.json'), '{"name": "newcomer", "private": true}');
  const offline = { ...process.env, npm_config_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };
  for (const [command, cwd] of [
    [pack, PROJECT_ROOT],
    [add, folder],
  ] as const)
    execFileSync('sh', ['-c', command.replace('/tmp', folder)], {
      cwd,
      env: offline,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
};

t.test('prints what BTC costs on each venue', async (t) => {
  const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8');
  const [, code] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  t.ok(code !== undefined && code.trim().split('\n').length <= 10, 'ten lines at most');
  const example = readFileSync(join(CLIENT, 'examples', 'first.ts'), 'utf8');
  t.ok(example.endsWith(code ?? ''), 'the example is the same');
  install(readme);
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
