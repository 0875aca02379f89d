// The stock client of the protocol in both eras against the real tool server: Allow, a call, renewal, End; and the sign-in away (T-07, T-10).
import { createServer } from 'node:net';
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { openAccountStore } from '../../../api/access/account-store.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { keepSettled, Meter } from '../../../api/access/meter.ts';
import { createSharedPermits } from '../../../api/access/permits.ts';
import { createSharedPlaces } from '../../../api/access/place-store.ts';
import { Places } from '../../../api/access/places.ts';
import { endConnection, listConnections } from '../../../api/accounts/connections.ts';
import { openConnectionKeys } from '../../../api/sign-in/connection-key.ts';
import { createTools } from '../../../api/tool-app/start-tools.ts';
import type { SignInAddress } from '../../../api/tool-app/token-check.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { ERAS, type Era } from '../../support/apps/tool-fixture.ts';
import { waitFor } from '../../support/wait.ts';
import {
  connect as connectByFetch,
  INTERNAL_SECRET,
  type Owner,
  REDIRECT,
  readLocation,
  type SignInService,
  signUp,
  startSignIn,
} from './sign-in-fixture.ts';

const log = createLog('test', 'silent');
const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' } } as const;

/** Data API, tool server and sign-in over one PostgreSQL. */
const startAll = async (t: Test, signIn?: SignInAddress): Promise<SignInService> => {
  const port = await findFreePort();
  const mcpUrl = `http://localhost:${port}/mcp`;
  const service = await startSignIn(t, { mcpUrl });
  const { pool, authUrl, internalUrl } = service;
  const keys = openKeyStore(pool);
  const meter = new Meter(createSharedPermits(pool), new Places(createSharedPlaces(pool)));
  const stopSettling = keepSettled(meter, log);
  const { app } = await testApp(market(), { keys, meter, accounts: openAccountStore(pool) });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const tools = await createTools({
    ...{ mcpUrl, authUrl, keys, log, hosts: [], origins: [], apiUrl: app.listeningOrigin },
    signIn: signIn ?? { url: internalUrl, secret: async () => INTERNAL_SECRET },
  });
  await tools.app.listen({ host: '127.0.0.1', port });
  t.teardown(async () => {
    await tools.close();
    await app.close();
    await stopSettling();
  });
  return service;
};

/** The sign-in state that a program keeps. */
const newMemory = () => {
  let information: StoredOAuthClientInformation | undefined;
  let tokens: StoredOAuthTokens | undefined;
  let verifier = '';
  const asked: URL[] = [];
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'Stock client', redirect_uris: [REDIRECT] },
    state: () => 'st-1',
    clientInformation: () => information,
    saveClientInformation: (given) => {
      information = given;
    },
    tokens: () => tokens,
    saveTokens: (given) => {
      tokens = given;
    },
    redirectToAuthorization: (url) => {
      asked.push(url);
    },
    saveCodeVerifier: (given) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
    invalidateCredentials: (what) => {
      if (what === 'tokens' || what === 'all') tokens = undefined;
    },
  };
  return { provider, asked, tokens: () => tokens };
};

const newClient = (era: Era): Client =>
  new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: MODES[era] } });

/** Allows the request of the client; returns the parameters of the redirect. */
const allow = async ({ browser }: Owner, asked: URL | undefined): Promise<URLSearchParams> => {
  const url = readLocation(await browser.fetch(asked?.href ?? ''));
  const html = await (await browser.fetch(url)).text();
  const pressed = await browser.submit(html, url, { choice: 'allow' });
  return new URL(readLocation(await browser.fetch(readLocation(pressed)))).searchParams;
};

const call = (client: Client, name = 'venues') => client.callTool({ name, arguments: {} });

for (const era of ERAS) {
  t.test(`the ${era} client signs in, calls, renews, and is refused when its connection has ended`, async (t) => {
    const service = await startAll(t);
    const { pool, clock, mcpUrl } = service;
    const owner = await signUp(service);
    const { provider, asked, tokens } = newMemory();
    const first = new StreamableHTTPClientTransport(new URL(mcpUrl), { authProvider: provider });
    await t.rejects(newClient(era).connect(first), UnauthorizedError);
    await first.finishAuth(await allow(owner, asked[0]));

    const client = newClient(era);
    await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { authProvider: provider }));
    t.teardown(() => client.close());
    t.match(await call(client), { structuredContent: { items: [{}, {}] } });
    t.match(await call(client, 'account'), {
      structuredContent: { key: { kind: 'connection' }, plan: { code: 'free' } },
    });
    const used = await waitFor('the call is counted on the key of the connection', async () => {
      const { rows } = await pool.query('select used from key_usage join connections using (key_id)');
      return rows[0] as { used: number } | undefined;
    });
    t.equal(Number(used.used), 1);

    const before = tokens()?.access_token;
    clock.pass(3_600_000);
    t.match(
      await call(client),
      { structuredContent: { items: [{}, {}] } },
      'after an hour the client renews its token',
    );
    t.not(tokens()?.access_token, before);

    const [held] = await listConnections(pool, owner.accountId);
    await endConnection(pool, owner.accountId, held?.connection_id ?? '');
    await t.rejects(call(client), UnauthorizedError);
    t.equal(asked.length, 2, 'and requires the owner again');
  });
}

const post = (mcpUrl: string, token: string): Promise<Response> =>
  fetch(mcpUrl, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'venues', arguments: {} } }),
  });

t.test('an access token that is not good is a 401 that leads to the sign-in', async (t) => {
  const service = await startAll(t);
  const { access_token } = await connectByFetch(service, await signUp(service));
  t.equal((await post(service.mcpUrl, access_token)).status, 200);
  service.clock.pass(3_600_000);
  for (const token of [access_token, 'A'.repeat(43)]) {
    const refused = await post(service.mcpUrl, token);
    t.equal(refused.status, 401);
    t.equal(
      refused.headers.get('www-authenticate'),
      `Bearer resource_metadata="${service.authUrl}/.well-known/oauth-protected-resource", scope="market:read", error="invalid_token"`,
    );
    t.match(await refused.text(), /^The key or access token is not accepted\. .*\n$/);
  }
});

t.test('while the sign-in is away tokens are 503 and keys work', async (t) => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.teardown(() => silent.close());
  const { port } = silent.address() as { port: number };
  const gone = await findFreePort();
  for (const url of [`http://127.0.0.1:${gone}`, `http://127.0.0.1:${port}`]) {
    const service = await startAll(t, { url, secret: async () => Buffer.from('x') });
    const { access_token } = await connectByFetch(service, await signUp(service));
    const refused = await post(service.mcpUrl, access_token);
    t.equal(refused.status, 503);
    t.equal(refused.headers.get('retry-after'), '5');
    t.match(await refused.text(), /^The key or access token cannot be checked now[^\n]*\n$/);
    const key = openConnectionKeys(service.site.connectionSecret);
    const { rows } = await service.pool.query<{ connection_id: string }>('select connection_id from connections');
    t.equal(
      (await post(service.mcpUrl, key(rows[0]?.connection_id ?? ''))).status,
      200,
      'a key is not requested there',
    );
  }
});
