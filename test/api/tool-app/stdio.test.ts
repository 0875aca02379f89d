// `perp-mcp`: the same tools over standard input and output, for clients that only start programs.
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import t from 'tap';
import { ERAS, startToolService, TOOL_NAMES } from '../tool-fixture.ts';
import { askedMarket } from '../tool-market.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'api', 'perp-mcp.ts');

t.setTimeout(900_000);

t.test('a client that starts a program has the same tools, pages and failures', async (t) => {
  const { apiUrl, keys } = await startToolService(t, askedMarket());
  for (const era of ERAS) {
    const mode = era === 'legacy' ? era : { pin: '2026-07-28' };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const env = { BASE_URL: apiUrl, API_KEY: keys.pro };
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM], env }));
    t.teardown(() => client.close());
    t.equal((await client.listTools()).tools.length, TOOL_NAMES.length);
    t.equal((await client.listResources()).resources.length, 2);
    const { structuredContent } = await client.callTool({ name: 'instruments', arguments: { where: 'base = BTC' } });
    t.match(structuredContent, { items: [{ base: 'BTC' }, { base: 'BTC' }] });
    const { isError, content } = await client.callTool({ name: 'screen', arguments: { query: 'mark > 0' } });
    t.match([isError, content], [true, [{ type: 'text', text: /"DQL_SCOPE".*"retry":false/ }]]);
    await client.close();
  }
  const refused = new Client({ name: 'test', version: '1' });
  const env = { BASE_URL: apiUrl, API_KEY: 'sk_wrong' };
  await refused.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM], env }));
  t.teardown(() => refused.close());
  const { isError, content } = await refused.callTool({ name: 'venues', arguments: {} });
  t.match([isError, content], [true, [{ text: /"AUTH_INVALID".*"next":"Sign in again\."/ }]]);
  await refused.close();
});
