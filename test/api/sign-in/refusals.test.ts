// Requests that the sign-in refuses, and the cost of a refusal: nothing, the code, or the connection (T-08, T-09).
import t, { type Test } from 'tap';
import { sendThenRead } from '../../support/services/send-then-read.ts';
import {
  type Asked,
  authorizeUrl,
  computeChallenge,
  connect,
  exchangeCode,
  findFaults,
  type Granted,
  isActive,
  newVerifier,
  openPage,
  postToken,
  press,
  REDIRECT,
  readLocation,
  register,
  registered,
  renew,
  type SignInService,
  signUp,
  startSignIn,
  type Tokens,
} from './sign-in-fixture.ts';

const catchError = async (answer: Response): Promise<string> => {
  const { error = 'none' } = (await answer.json()) as { error?: string };
  return `${answer.status} ${error}`;
};

/** End reasons of the connections of a service, oldest first. */
const reasons = async ({ pool }: SignInService): Promise<readonly (string | null)[]> =>
  (await pool.query<{ end_reason: string | null }>('select end_reason from connections order by created_at')).rows.map(
    ({ end_reason }) => end_reason,
  );

t.test('redirects that are refused at registration', async (t) => {
  const service = await startSignIn(t);
  const refused = [
    'cursor://anysphere/callback',
    'http://agent.example/callback',
    'https://agent.example/callback#part',
    'https://user:secret@agent.example/callback',
    'https:agent.example/callback',
    'https:/agent.example/callback',
    'https:///agent.example/callback',
    'https://localhost:99999/callback',
    'https://user@localhost/callback',
    'ftp://localhost/callback',
    'http://[::1]:3000/callback',
    'http://127.1/callback',
    'http://localhost.agent.example/callback',
    'http://127.0.0.1:99999999/',
    'https://agent.example/\\callback',
    // Hosts that no name service has; in the policy of the consent page they would be directives of their own.
    'https://agent.example;sandbox/callback',
    'https://agent.example,sandbox/callback',
    'https://*/callback',
    "https://'unsafe-inline'/callback",
    'javascript:alert(1)',
    'callback',
  ];
  for (const one of refused) {
    const answer = await register(service, { redirect_uris: [one] });
    t.equal(await catchError(answer), '400 invalid_redirect_uri', one);
  }
  for (const body of [{ redirect_uris: 'https://a.example' }, { redirect_uris: [] }, { client_name: 5 }])
    t.match(await catchError(await register(service, body)), /^400 invalid_/, JSON.stringify(body));
  const many = Array.from({ length: 11 }, (_, i) => `https://a.example/${i}`);
  t.match(await catchError(await register(service, { redirect_uris: many })), /^400 invalid_/);
  const accepted = [
    'https://vscode.dev/redirect',
    'http://127.0.0.1/',
    'http://localhost:33418/',
    'http://127.0.0.1:33418',
  ];
  t.equal((await register(service, { redirect_uris: accepted })).status, 201);
  // https on any host, this machine's own among them: the browser goes there, nothing of the service does.
  for (const one of ['https://localhost/cb', 'https://localhost./cb', 'https://127.0.0.1:8443/cb', 'https://[::1]/cb'])
    t.equal((await register(service, { redirect_uris: [one] })).status, 201, one);
  t.equal((await register(service, { redirect_uris: ['https://localhost/cb', 'http://127.0.0.1/'] })).status, 201);
});

t.test('a body of a program that is too large is refused in the form of the protocol', async (t) => {
  const { authUrl } = await startSignIn(t);
  const large = 'x'.repeat(20_000);
  for (const [path, type, body] of [
    ['token', 'application/x-www-form-urlencoded', `grant_type=${large}`],
    ['revoke', 'application/x-www-form-urlencoded', `token=${large}`],
    ['register', 'application/json', JSON.stringify({ client_name: large })],
  ] as const) {
    const answer = await fetch(`${authUrl}/oauth/${path}`, { method: 'POST', headers: { 'content-type': type }, body });
    t.equal(answer.status, 413, path);
    t.match(answer.headers.get('content-type'), /^application\/json/, path);
    t.match(
      [answer.headers.get('cache-control'), answer.headers.get('access-control-allow-origin')],
      ['no-store', '*'],
    );
    t.match(await answer.json(), { error: 'invalid_request', error_description: /larger than 16384 bytes/ }, path);
  }
});

t.test('a program that sends all of a body that is too large before it reads is answered, and goes on', async (t) => {
  const { port, host } = new URL((await startSignIn(t)).authUrl);
  const head = ['POST /oauth/register HTTP/1.1', `Host: ${host}`, 'Content-Type: application/json'];
  const next = '/.well-known/oauth-authorization-server';
  const answers = await sendThenRead({ port: Number(port), head, mebibytes: 24, next });
  t.match(answers, /^HTTP\/1\.1 413 .*invalid_request.*HTTP\/1\.1 200 /s);
});

t.test('authorisations that are refused, with iss wherever the browser is sent back', async (t) => {
  const service = await startSignIn(t);
  const { browser } = await signUp(service);
  const client_id = await registered(service);
  const code_challenge = computeChallenge(newVerifier());
  const good = { client_id, code_challenge };
  const returned: [string, Asked, string][] = [
    ['plain', { ...good, code_challenge_method: 'plain' }, 'invalid_request'],
    ['no method', { ...good, code_challenge_method: undefined }, 'invalid_request'],
    ['no PKCE', { client_id, code_challenge_method: undefined }, 'invalid_request'],
    ['other resource', { ...good, resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['resource with a slash at its end', { ...good, resource: `${service.mcpUrl}/` }, 'invalid_target'],
    ['silent', { ...good, prompt: 'none' }, 'consent_required'],
    ['token', { ...good, response_type: 'token' }, 'unsupported_response_type'],
    ['a request object', { ...good, request: 'e30.e30.' }, 'request_not_supported'],
  ];
  for (const [what, asked, error] of returned) {
    const answer = await browser.fetch(authorizeUrl(service, asked));
    const to = new URL(readLocation(answer));
    t.equal(`${to.origin}${to.pathname}`, REDIRECT, what);
    const parameters = new URLSearchParams(to.search === '' ? to.hash.slice(1) : to.search);
    t.match(Object.fromEntries(parameters), { error, iss: service.authUrl, state: 'st-1' }, what);
  }
  const kept: [string, Asked][] = [
    ['other path', { ...good, redirect_uri: `${REDIRECT}/other` }],
    ['other host', { ...good, redirect_uri: 'https://agent.example/callback' }],
    ['unknown client', { client_id: 'nobody', code_challenge }],
    ['no redirect that is registered', { ...good, redirect_uri: 'javascript:alert(1)' }],
  ];
  for (const [what, asked] of kept) {
    const answer = await browser.fetch(authorizeUrl(service, asked));
    t.match([answer.status, readLocation(answer)], [400, ''], what);
    t.match(await answer.text(), /<h1>/, 'a page shows it');
    t.match(answer.headers.get('content-security-policy'), /frame-ancestors 'none'/);
  }
  for (const asked of [
    { redirect_uri: 'http://127.0.0.1:61000/callback' },
    { resource: undefined },
    { prompt: 'login' },
  ]) {
    const answer = await browser.fetch(authorizeUrl(service, { ...good, ...asked }));
    t.match(readLocation(answer), /^\/connect\//, JSON.stringify(asked));
  }
});

/** A code that was just given, with what belongs to it. */
const freshCode = async (service: SignInService, name: string) => {
  const owner = await signUp(service, name);
  const client_id = await registered(service);
  const code_verifier = newVerifier();
  const page = await openPage(service, owner, { client_id, code_challenge: computeChallenge(code_verifier) });
  const code = (await press(owner, page, { choice: 'allow' })).get('code') ?? '';
  return { client_id, code, code_verifier };
};

t.test('a wrong use of a code does not use it up, a second use ends the connection', async (t) => {
  const service = await startSignIn(t);
  const good = await freshCode(service, 'coded');
  const other = await registered(service);
  const wrong: [string, Record<string, string>, string][] = [
    ['verifier', { ...good, code_verifier: newVerifier() }, '400 invalid_grant'],
    ['redirect', { ...good, redirect_uri: 'http://127.0.0.1:1/callback' }, '400 invalid_grant'],
    ['client', { ...good, client_id: other }, '400 invalid_grant'],
    ['unknown client', { ...good, client_id: 'nobody' }, '401 invalid_client'],
    ['resource', { ...good, resource: 'https://other.example/' }, '400 invalid_target'],
    ['no verifier', { client_id: good.client_id, code: good.code }, '400 invalid_grant'],
  ];
  for (const [what, form, error] of wrong) t.equal(await catchError(await exchangeCode(service, form)), error, what);
  const answer = await exchangeCode(service, good);
  t.equal(answer.status, 200);
  const tokens = (await answer.json()) as Tokens;
  t.ok(await isActive(service, tokens.access_token));
  t.equal(await catchError(await exchangeCode(service, good)), '400 invalid_grant', 'twice');
  t.notOk(await isActive(service, tokens.access_token));
  t.same(await reasons(service), ['reuse']);
  t.same(await findFaults(service.pool), []);
});

t.test('of three that exchange one code at once, one is served and no token remains', async (t) => {
  const service = await startSignIn(t);
  const good = await freshCode(service, 'raced');
  const answers = await Promise.all([1, 2, 3].map(() => exchangeCode(service, good)));
  t.same(answers.map(({ status }) => status).sort(), [200, 400, 400]);
  for (const answer of answers.filter(({ status }) => status === 200))
    t.notOk(await isActive(service, ((await answer.json()) as Tokens).access_token));
  t.same(await findFaults(service.pool), []);
});

/** Whether a refresh token was used up besides the one that a renewal was made with. */
const isUsed = async ({ pool }: SignInService): Promise<boolean> => {
  const { rows } = await pool.query(
    "select 1 from oidc_items where model = 'RefreshToken' and consumed_at is not null",
  );
  return rows.length > 1;
};

t.test('a code lives a minute, an access token an hour, a refresh token thirty days', async (t) => {
  const service = await startSignIn(t);
  const late = await freshCode(service, 'late');
  service.clock.pass(60_000);
  t.equal(await catchError(await exchangeCode(service, late)), '400 invalid_grant');
  const granted = await connect(service, await signUp(service));
  service.clock.pass(3_590_000);
  t.ok(await isActive(service, granted.access_token));
  service.clock.pass(10_000);
  t.notOk(await isActive(service, granted.access_token));
  const renewed = { ...granted, ...((await (await renew(service, granted)).json()) as Tokens) };
  t.ok(await isActive(service, renewed.access_token));
  const elsewhere = { grant_type: 'refresh_token', refresh_token: renewed.refresh_token, client_id: granted.clientId };
  const wrong = await postToken(service, { ...elsewhere, resource: 'https://other.example/' });
  t.equal(await catchError(wrong), '400 invalid_target', 'the token is not used up by it');
  t.notOk(await isUsed(service), 'nothing but the first renewal');
  service.clock.pass(30 * 86_400_000);
  t.equal(await catchError(await renew(service, renewed)), '400 invalid_grant');
});

const renewedOnce = async (t: Test): Promise<{ service: SignInService; granted: Granted; renewed: Tokens }> => {
  const service = await startSignIn(t);
  const granted = await connect(service, await signUp(service));
  const renewed = (await (await renew(service, granted)).json()) as Tokens;
  return { service, granted, renewed };
};

t.test('a renewal repeated within ten seconds is answered with the same tokens', async (t) => {
  const { service, granted, renewed } = await renewedOnce(t);
  const again = await renew(service, granted);
  t.equal(again.headers.get('cache-control'), 'no-store');
  const { expires_in, ...rest } = (await again.json()) as Tokens;
  const { expires_in: firstS, ...first } = renewed;
  t.same(rest, first);
  t.ok(expires_in <= firstS && expires_in > firstS - 10);
  service.clock.pass(4_000);
  const { expires_in: leftS } = (await (await renew(service, granted)).json()) as Tokens;
  t.ok(leftS <= firstS - 4, 'what is left is counted down');
  service.clock.pass(-10_000);
  const { expires_in: longestS } = (await (await renew(service, granted)).json()) as Tokens;
  t.equal(longestS, firstS, 'a clock behind that of the first answer adds nothing');
  t.same(await reasons(service), [null]);
});

t.test('after ten seconds a second use of a refresh token ends the connection', async (t) => {
  const { service, granted, renewed } = await renewedOnce(t);
  service.clock.pass(10_001);
  t.equal(await catchError(await renew(service, granted)), '400 invalid_grant');
  t.notOk(await isActive(service, renewed.access_token));
  t.equal(await catchError(await renew(service, { ...granted, ...renewed })), '400 invalid_grant');
  t.same(await reasons(service), ['reuse']);
  t.same(await findFaults(service.pool), []);
});

t.test('a repeat after the replacement was used ends the connection, at once too', async (t) => {
  const { service, granted, renewed } = await renewedOnce(t);
  const third = (await (await renew(service, { ...granted, ...renewed })).json()) as Tokens;
  t.equal(await catchError(await renew(service, granted)), '400 invalid_grant');
  t.notOk(await isActive(service, third.access_token));
  t.same(await reasons(service), ['reuse']);
});

t.test('another client that repeats gets nothing and ends nothing', async (t) => {
  const { service, granted, renewed } = await renewedOnce(t);
  const other = await registered(service);
  t.equal(await catchError(await renew(service, { ...granted, clientId: other })), '400 invalid_grant');
  t.ok(await isActive(service, renewed.access_token));
});

t.test('three renewals at once are one renewal', async (t) => {
  const service = await startSignIn(t);
  const granted = await connect(service, await signUp(service));
  const answers = await Promise.all([1, 2, 3].map(() => renew(service, granted)));
  const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as Tokens[];
  t.same(new Set(bodies.map(({ refresh_token }) => refresh_token)).size, 1);
  t.ok(await isActive(service, bodies[0]?.access_token ?? ''));
  t.same(await reasons(service), [null]);
});

t.test('a revoked connection is over for both tokens, and a revocation by another client ends nothing', async (t) => {
  const service = await startSignIn(t);
  const granted = await connect(service, await signUp(service));
  const revoke = (client_id: string, token: string) =>
    fetch(`${service.authUrl}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token, client_id }) });
  await revoke(await registered(service), granted.refresh_token);
  t.ok(await isActive(service, granted.access_token));
  t.equal((await revoke(granted.clientId, granted.refresh_token)).status, 200);
  t.notOk(await isActive(service, granted.access_token));
  t.equal(await catchError(await renew(service, granted)), '400 invalid_grant');
  t.equal((await revoke(granted.clientId, granted.refresh_token)).status, 200, 'a second time too');
  t.same(await reasons(service), ['client']);
});

t.test('the private listener refuses calls without its secret', async (t) => {
  const { internalUrl } = await startSignIn(t);
  for (const authorization of ['', 'Bearer ', `Bearer ${Buffer.alloc(32).toString('base64url')}`]) {
    const headers = { 'content-type': 'application/json', authorization };
    const answer = await fetch(`${internalUrl}/internal/token-check`, {
      method: 'POST',
      headers,
      body: '{"token":"x"}',
    });
    t.equal(answer.status, 401);
  }
});
