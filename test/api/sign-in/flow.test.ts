// The whole way of an agent's client over fetch alone: found, registered, allowed, tokens, renewal, revocation (T-07 to T-10).
import t from 'tap';
import { makeMetadataDocuments } from '../../../api/tool-app/metadata.ts';
import {
  authorizeUrl,
  checkToken,
  computeChallenge,
  connect,
  exchangeCode,
  findFaults,
  isActive,
  newVerifier,
  openPage,
  press,
  REDIRECT,
  readLocation,
  register,
  registered,
  renew,
  signUp,
  startSignIn,
  type Tokens,
} from './sign-in-fixture.ts';

type Body = Record<string, unknown>;
const readBody = async (answer: Response): Promise<Body> => (await answer.json()) as Body;

t.test('a client finds the sign-in, registers, is allowed, renews and leaves', async (t) => {
  const service = await startSignIn(t);
  const { authUrl, mcpUrl, pool } = service;
  const owner = await signUp(service);

  // Found.
  for (const [path, text] of makeMetadataDocuments({ mcpUrl, authUrl })) {
    const document = await fetch(`${authUrl}${path}`);
    t.equal(document.headers.get('access-control-allow-origin'), '*');
    t.equal(await document.text(), text, path);
  }
  const documents = [...makeMetadataDocuments({ mcpUrl, authUrl }).keys()].map((path) => [path, 'GET'] as const);
  const posted = ['/oauth/register', '/oauth/token', '/oauth/revoke'].map((path) => [path, 'POST'] as const);
  for (const [path, method] of [...documents, ...posted]) {
    const wanted = ['content-type', 'mcp-protocol-version'];
    const preflight = await fetch(`${authUrl}${path}`, {
      method: 'OPTIONS',
      headers: {
        ...{ origin: 'https://any.example', 'access-control-request-method': method },
        'access-control-request-headers': wanted.join(', '),
      },
    });
    t.equal(preflight.status, 204, `a page of another site may request ${path}`);
    t.match(preflight.headers.get('access-control-allow-origin'), /^(\*|https:\/\/any\.example)$/);
    t.match(preflight.headers.get('access-control-allow-methods'), method);
    const allowed = preflight.headers.get('access-control-allow-headers') ?? '';
    for (const name of wanted) t.ok(allowed.toLowerCase().includes(name), `${path}: ${name}`);
  }
  const metadata = await readBody(await fetch(`${authUrl}/.well-known/oauth-authorization-server`));
  t.match(metadata, {
    issuer: authUrl,
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: true,
  });

  // Registered: a requested secret is not issued.
  const asked = { token_endpoint_auth_method: 'client_secret_post', grant_types: ['authorization_code'], scope: 'all' };
  const answered = await register(service, asked);
  t.equal(answered.status, 201);
  t.equal(answered.headers.get('access-control-allow-origin'), '*');
  const client = await readBody(answered);
  t.match(client, { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] });
  t.notOk('client_secret' in client);
  const clientId = String(client['client_id']);

  // Requested: nobody is signed in, then the page names the client and its request.
  const verifier = newVerifier();
  const ask = { client_id: clientId, code_challenge: computeChallenge(verifier), scope: 'openid write market:read' };
  const stranger = await owner.browser.fetch(authorizeUrl(service, ask));
  t.match(readLocation(stranger), /^\/connect\/[\w-]+$/);
  const nobody = await fetch(`${authUrl}${readLocation(stranger)}`, { redirect: 'manual' });
  t.equal(readLocation(nobody), `/sign-in?next=${encodeURIComponent(readLocation(stranger))}`);
  const page = await openPage(service, owner, ask);
  for (const shown of ['Desk agent', 'nobody has verified it', '127.0.0.1:33418', REDIRECT, 'Free', '@example.org'])
    t.ok(page.html.includes(shown), shown);
  t.match(page.html, /program on your own computer/);
  t.match(page.html, /cannot change your account, your plan, your keys or your agent rules/);
  t.match(page.html, />Allow<.*>Deny</s);
  t.notMatch(page.html, /<script(?![^>]*\bsrc=)/, 'nothing inline');

  // Allowed: a code with state and iss.
  const taken = await press(owner, page, { choice: 'allow' });
  t.match(Object.fromEntries(taken), { state: 'st-1', iss: authUrl });
  const exchanged = await exchangeCode(service, {
    client_id: clientId,
    code: taken.get('code') ?? '',
    code_verifier: verifier,
    resource: mcpUrl.toUpperCase().replace('/MCP', '/mcp'),
  });
  t.equal(exchanged.headers.get('cache-control'), 'no-store');
  const tokens = (await exchanged.json()) as Tokens;
  t.match(tokens, { expires_in: 3_600, scope: 'market:read', token_type: 'Bearer' });
  t.same(Object.keys(tokens).sort(), ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type']);

  // Checked: the tool server is given a key, and the owner's plan is that of the connection.
  const checked = await checkToken(service, tokens.access_token);
  t.match(checked, { active: true, plan: 'free', key: /^sk_[0-9A-Za-z]{36}$/ });
  const { rows: keys } = await pool.query("select kind, plan from api_keys where kind = 'connection'");
  t.same(keys, [{ kind: 'connection', plan: 'free' }]);

  // Renewed: another pair, and the plan is read again.
  await pool.query("update accounts set plan = 'pro' where account_id = $1", [owner.accountId]);
  t.match(await checkToken(service, tokens.access_token), { plan: 'free' });
  const renewed = (await (await renew(service, { clientId, refresh_token: tokens.refresh_token })).json()) as Tokens;
  t.not(renewed.refresh_token, tokens.refresh_token);
  t.match(await checkToken(service, renewed.access_token), { active: true, plan: 'pro' });
  t.match(
    await checkToken(service, tokens.access_token),
    { active: true },
    'the earlier access token lives out its hour',
  );

  // Left: either token ends all.
  const revoked = await fetch(`${authUrl}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: renewed.access_token, client_id: clientId }),
  });
  t.equal(revoked.status, 200);
  for (const token of [tokens.access_token, renewed.access_token]) t.notOk(await isActive(service, token));
  t.match(await readBody(await renew(service, { clientId, refresh_token: renewed.refresh_token })), {
    error: 'invalid_grant',
  });
  t.match((await pool.query('select end_reason from connections')).rows, [{ end_reason: 'client' }]);
  t.same(await findFaults(pool), []);
});

t.test('the database contains no token, code, secret or key', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const first = await connect(service, owner);
  const renewed = (await (await renew(service, first)).json()) as Tokens;
  const page = await openPage(service, owner, {
    client_id: first.clientId,
    code_challenge: computeChallenge(newVerifier()),
  });
  const code = (await press(owner, page, { choice: 'allow' })).get('code') ?? '';
  const { key } = (await checkToken(service, renewed.access_token)) as { key?: string };
  t.equal(key, undefined, 'Allow replaced the connection');
  const uid = page.url.split('/').at(-1) ?? '';
  const waiting = await openPage(service, owner, {
    client_id: first.clientId,
    code_challenge: computeChallenge(newVerifier()),
  });
  const { rows } = await service.pool.query<{ text: string }>(`
    select t::text as text from oidc_items t union all select t::text from oidc_renewals t
    union all select t::text from connections t union all select t::text from api_keys t union all select t::text from key_events t
    union all select t::text from account_events t`);
  const stored = rows.map(({ text }) => text).join('\n');
  t.ok(stored.includes(first.clientId), 'the tables were read');
  const secrets = [first.access_token, first.refresh_token, renewed.refresh_token, renewed.access_token, code, uid];
  for (const secret of [...secrets, waiting.url.split('/').at(-1) ?? '']) t.notOk(stored.includes(secret));
});

t.test('a client that is described by a document of its own needs no registration', async (t) => {
  const clientId = 'https://agent.example/client.json';
  const document = { client_id: clientId, client_name: 'Described <b>agent</b>', redirect_uris: [REDIRECT] };
  const fetched: string[] = [];
  const answers = async (url: unknown): Promise<Response> => {
    fetched.push(String(url));
    return new Response(JSON.stringify(document), { headers: { 'content-type': 'application/json' } });
  };
  const service = await startSignIn(t, { fetch: answers as typeof fetch });
  const owner = await signUp(service);
  const verifier = newVerifier();
  const page = await openPage(service, owner, { client_id: clientId, code_challenge: computeChallenge(verifier) });
  t.match(page.html, /Described &lt;b>agent&lt;\/b>|Described &lt;b&gt;agent/, 'its name is text');
  t.ok(page.html.includes(clientId));
  const code = (await press(owner, page, { choice: 'allow' })).get('code') ?? '';
  const answer = await exchangeCode(service, { client_id: clientId, code, code_verifier: verifier });
  t.match(await readBody(answer), { scope: 'market:read' });
  t.same(fetched, [clientId], 'fetched once');
});

t.test('of the document of a client only what it says of itself counts, as of a registration (T-08)', async (t) => {
  const described = { client_name: 'Agent \u202egnisrever', redirect_uris: [REDIRECT] };
  const meaningless: readonly Record<string, unknown>[] = [
    ...[{ scope: 'openid profile mcp:tools' }, { scope: '' }, { id_token_signed_response_alg: 'RS256' }],
    ...[{ subject_type: 'pairwise', sector_identifier_uri: 'https://agent.example/s' }, { default_max_age: 'x' }],
    ...[{ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://agent.example/keys' }, { jwks: 1 }],
    ...[{ response_types: ['token'], grant_types: ['implicit'] }, { require_pushed_authorization_requests: true }],
    ...[{ application_type: 'web' }, { unheard_of: { of: [1] } }],
  ];
  let document: Record<string, unknown> = {};
  const service = await startSignIn(t, { fetch: async () => Response.json(document) });
  for (const [i, over] of meaningless.entries()) {
    const clientId = `https://agent.example/${i}.json`;
    document = { client_id: clientId, ...described, ...over };
    const owner = await signUp(service, `owner${i}`);
    const verifier = newVerifier();
    const page = await openPage(service, owner, { client_id: clientId, code_challenge: computeChallenge(verifier) });
    t.ok(page.html.includes(`<bdi>${described.client_name}</bdi>`), 'a name turns no text beside it');
    const code = (await press(owner, page, { choice: 'allow' })).get('code') ?? '';
    const answer = await exchangeCode(service, { client_id: clientId, code, code_verifier: verifier });
    t.match(await readBody(answer), { scope: 'market:read' }, JSON.stringify(over));
    t.equal((await register(service, { ...described, ...over })).status, 201, 'registered alike');
  }
});

t.test('twenty registrations an hour from one address', async (t) => {
  const service = await startSignIn(t);
  t.equal(
    (await register(service, { redirect_uris: ['cursor://callback'] })).status,
    400,
    'a refused one does not count',
  );
  for (let i = 0; i < 20; i++) t.equal((await register(service)).status, 201);
  const refused = await register(service);
  t.equal(refused.status, 429);
  const waitS = Number(refused.headers.get('retry-after'));
  t.ok(waitS > 3_500 && waitS <= 3_600, `${waitS} s`);
  service.clock.pass(3_600_000);
  t.ok(await registered(service));
});

t.test('a client behind https on the own machine is allowed as any other', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const redirect_uri = 'https://localhost:8443/cb';
  const client_id = await registered(service, { redirect_uris: [redirect_uri, 'http://127.0.0.1:1/cb?x=1'] });
  const code_verifier = newVerifier();
  const asked = { client_id, redirect_uri, code_challenge: computeChallenge(code_verifier) };
  for (const [other, status] of [
    ['http://127.0.0.1:2/cb?x=1', 303],
    ['http://127.0.0.1/cb?x=1', 303],
    ...[
      'http://127.0.0.1:99999/cb?x=1',
      'http://localhost:1/cb?x=1',
      'http://127.0.0.1:1/cb',
      'https://localhost:8444/cb',
    ].map((one) => [one, 400] as const),
  ] as const) {
    const answer = await owner.browser.fetch(authorizeUrl(service, { ...asked, redirect_uri: other }));
    t.equal(answer.status, status, `${other}: ports vary on loopback addresses alone (T-08)`);
  }
  const page = await openPage(service, owner, asked);
  const code = (await press(owner, page, { choice: 'allow' })).get('code') ?? '';
  const answer = await exchangeCode(service, { client_id, code, code_verifier, redirect_uri });
  t.equal(answer.status, 200);
  t.equal(await isActive(service, ((await answer.json()) as Tokens).access_token), true);
});
