// The protocol's conformance suite in both eras, and its checks of headers; test/fixtures/conformance lists permitted failures with reasons (T-01).
import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { market } from '../../support/apps/live-fixture.ts';
import { startToolService, type ToolService } from '../../support/apps/tool-fixture.ts';
import type { Teardown } from '../../support/engines/engines.ts';

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
const EXPECTED = join(import.meta.dirname, '..', '..', 'fixtures', 'conformance');

/** Sends everything on with a key, because the suite cannot send one. */
const withKey = async (t: Teardown, { mcpUrl, as }: ToolService): Promise<string> => {
  const { host, port } = new URL(mcpUrl);
  let own = '';
  const server = createServer((asked, reply) => {
    const headers = { ...asked.headers, ...as('pro_plus') };
    if (headers.host === own) headers.host = host;
    const sent = request({ host: '127.0.0.1', port, path: asked.url, method: asked.method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(reply);
    });
    sent.on('error', () => reply.destroy());
    reply.on('close', () => sent.destroy());
    asked.pipe(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  own = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => server.close());
  t.teardown(() => server.closeAllConnections());
  return `http://${own}/mcp`;
};

const runSuite = (words: readonly string[]): Promise<{ code: number | null; output: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [SUITE, 'server', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });

t.test('passes the conformance suite of both eras but for what needs fixture tools', async (t) => {
  const url = await withKey(t, await startToolService(t, market()));
  for (const revision of ['2026-07-28', '2025-11-25']) {
    const expected = join(EXPECTED, `${revision}.yml`);
    const { code, output } = await runSuite([
      '--url',
      url,
      '--requirements',
      revision,
      '--expected-failures',
      expected,
    ]);
    t.equal(code, 0, `${revision} ${code === 0 ? '' : output.slice(-3_000)}`);
    t.match(output, /✓ tools-list/);
  }
  const headers = await runSuite([
    '--url',
    url,
    '--scenario',
    'http-header-validation',
    '--spec-version',
    '2026-07-28',
  ]);
  t.equal(headers.code, 0, headers.output.slice(-1_000));
});
