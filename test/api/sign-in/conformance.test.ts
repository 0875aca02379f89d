// The authorization part of the protocol's conformance suite against the sign-in, with an owner who allows every request (T-08).
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { waitFor } from '../../support/wait.ts';
import { readLocation, registered, signUp, startSignIn } from './sign-in-fixture.ts';

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
const ASKED = /https?:\/\/\S+\/oauth\/authorize\?\S+/;

t.test('passes the authorization part of the conformance suite', async (t) => {
  const service = await startSignIn(t);
  const { browser } = await signUp(service);
  const port = await findFreePort();
  const id = await registered(service, { redirect_uris: [`http://127.0.0.1:${port}/callback`] });
  const words = ['authorization', '--url', service.authUrl, '--client-id', id, '--resource', service.mcpUrl];
  const child = spawn(process.execPath, [SUITE, ...words, '-p', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let code: number | null | undefined;
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  child.on('close', (exit) => {
    code = exit;
  });
  t.teardown(() => child.kill('SIGKILL'));
  const allowed = new Set<string>();
  await waitFor(
    'the suite ends',
    async () => {
      const [url] = ASKED.exec(output) ?? [];
      if (url !== undefined && !allowed.has(url)) {
        allowed.add(url);
        const page = readLocation(await browser.fetch(url));
        const pressed = await browser.submit(await (await browser.fetch(page)).text(), page, { choice: 'allow' });
        await fetch(readLocation(await browser.fetch(readLocation(pressed))));
      }
      return code !== undefined;
    },
    { seen: () => output.slice(-1_000) },
  );
  t.equal(code, 0, output.slice(-3_000));
  t.equal(allowed.size, 1);
});
