// The stock Python client in both eras: tools, pages, answers checked against their schemas, failures, refusals (T-01, T-05).
// It needs Python 3.11 or newer.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { startToolService, TOOL_NAMES } from '../../support/apps/tool-fixture.ts';
import { askedMarket } from '../../support/apps/tool-market.ts';
import { installPackages } from '../../support/python/python-packages.ts';

const CLIENT = join(import.meta.dirname, 'stock_client.py');
const VERSION = '2.3.0';

t.test('the stock Python client finds everything in both eras', async (t) => {
  const home = await installPackages(`mcp-${VERSION}`, [`mcp==${VERSION}`]);
  const { mcpUrl, keys } = await startToolService(t, askedMarket());
  const env = { PATH: process.env['PATH'], PYTHONPATH: home, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await promisify(execFile)('python3', [CLIENT, mcpUrl, keys.pro_plus], { env });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  const found = [true, true, true, true, 'DQL_SCOPE', 'DQL_UNKNOWN_ASSET', 'UNAVAILABLE'];
  const all = { tools: TOOL_NAMES.length, pages: [true, true], found };
  t.same(lines, [
    { version: '2026-07-28', ...all },
    { version: '2025-11-25', ...all },
    { refused: true },
    { refused: true },
  ]);
});
