// The stock Python client in both eras: tools, pages, answers checked against their schemas, failures, refusals (T-01, T-05).
// It needs the package mcp: `python3 -m venv DIR && DIR/bin/pip install mcp==2.3.0`, then `MCP_PYTHON=DIR/bin/python`.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { startToolService, TOOL_NAMES } from '../tool-fixture.ts';
import { askedMarket } from '../tool-market.ts';

const { MCP_PYTHON } = process.env;
const CLIENT = join(import.meta.dirname, 'stock_client.py');

const skip = MCP_PYTHON === undefined ? 'MCP_PYTHON names no Python with the package mcp' : false;
t.test('the stock Python client finds everything in both eras', { skip }, async (t) => {
  const { mcpUrl, keys } = await startToolService(t, askedMarket());
  const { stdout } = await promisify(execFile)(MCP_PYTHON ?? '', [CLIENT, mcpUrl, keys.pro_plus]);
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
