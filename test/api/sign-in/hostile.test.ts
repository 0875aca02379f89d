// Parameters, registrations and documents that no client sends: each is refused with an OAuth error, never with a failure of our own (T-08).
import t, { type Test } from 'tap';
import {
  authorizeUrl,
  computeChallenge,
  connect,
  findFaults,
  newVerifier,
  openPage,
  postToken,
  press,
  REDIRECT,
  register,
  registered,
  renew,
  signUp,
  startSignIn,
} from './sign-in-fixture.ts';

const VALUES = [
  ...['', ' ', '\0', 'a\0b', '\u202e', '\r\nset-cookie: a=b', '%00', '%', "' or 1=1 --", '<script>', '__proto__'],
  ...['[]', '{}', '1e999', '-1', 'null', 'x'.repeat(6_000), '𝔘'.repeat(300), 'https://\0.example/', '\ud800'],
];
const REFUSED = /^(3\d\d|400|401|413|414|415|429|431)$/;

/** The answer has a status of a refusal or a redirect, and an OAuth error where it is JSON. */
const check = async (t: Test, what: string, answer: Response): Promise<void> => {
  const text = await answer.text();
  const isDocumented = REFUSED.test(String(answer.status)) || answer.status === 200;
  if (!isDocumented) t.fail(`${what}: ${answer.status} ${text.slice(0, 200)}`);
  if (/<script>/i.test(text)) t.fail(`${what}: unescaped`);
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false;
  if (answer.status >= 400 && isJson) t.match(JSON.parse(text), { error: /^[a-z_]+$/ }, what);
};

t.test('authorisations with hostile members', async (t) => {
  const service = await startSignIn(t);
  const { browser } = await signUp(service);
  const client_id = await registered(service);
  const good = { client_id, code_challenge: computeChallenge(newVerifier()) };
  const members = [
    ...['client_id', 'redirect_uri', 'state', 'code_challenge', 'code_challenge_method', 'response_type', 'scope'],
    ...['resource', 'prompt', 'response_mode', 'request', 'request_uri', 'registration', 'nonce', 'claims', 'display'],
    ...['ui_locales', 'login_hint', 'acr_values', 'max_age', '__proto__', 'constructor', ''],
  ];
  for (const name of members) {
    for (const value of VALUES) {
      const url = authorizeUrl(service, { ...good, [name]: value });
      await check(t, `${name}=${JSON.stringify(value.slice(0, 20))}`, await browser.fetch(url));
      if (value.length <= 1)
        await check(t, `${name} twice`, await browser.fetch(`${url}&${new URLSearchParams([[name, value]])}`));
    }
  }
  t.same(await findFaults(service.pool), []);
});

t.test('token requests and revocations with hostile members', async (t) => {
  const service = await startSignIn(t);
  const granted = await connect(service, await signUp(service));
  const forms = {
    '/oauth/token': [
      { grant_type: 'authorization_code', client_id: granted.clientId, code: 'x', code_verifier: newVerifier() },
      { grant_type: 'refresh_token', client_id: granted.clientId, refresh_token: 'x' },
    ],
    '/oauth/revoke': [{ client_id: granted.clientId, token: 'x', token_type_hint: 'refresh_token' }],
  };
  for (const [path, kinds] of Object.entries(forms)) {
    for (const form of kinds) {
      for (const name of [...Object.keys(form), 'redirect_uri', 'resource', 'scope', '__proto__']) {
        for (const value of VALUES) {
          const body = new URLSearchParams({ redirect_uri: REDIRECT, ...form, [name]: value });
          const what = `${path} ${name}=${JSON.stringify(value.slice(0, 20))}`;
          // Refusals are limited by address and minute: here each has a minute of its own.
          service.clock.pass(60_000);
          await check(t, what, await fetch(`${service.authUrl}${path}`, { method: 'POST', body }));
        }
      }
    }
  }
  const other = { grant_type: 'refresh_token', client_id: 'a\0', refresh_token: granted.refresh_token };
  const answer = await postToken(service, other);
  t.match([answer.status, await answer.json()], [401, { error: 'invalid_client' }]);
  t.equal((await renew(service, granted)).status, 200, 'and none of them ended the connection');
  t.same(await findFaults(service.pool), []);
});

t.test('registrations with hostile metadata', async (t) => {
  const service = await startSignIn(t);
  const names = [
    'client_name',
    'client_uri',
    'logo_uri',
    'contacts',
    'software_id',
    'software_version',
    'redirect_uris',
  ];
  const values = [...VALUES, 5, true, {}, [], ['a\0'], [{}], [[]], { a: 1 }];
  for (const name of names) {
    for (const value of values) {
      // Successful ones are limited by address and hour.
      service.clock.pass(3_600_000);
      const answer = await register(service, { [name]: value });
      if (answer.status === 201)
        t.notMatch(await answer.text(), /\\u0000|\\ud800/, `${name}: ${JSON.stringify(value)}`);
      else await check(t, `${name}: ${JSON.stringify(value).slice(0, 40)}`, answer);
    }
  }
  // Nested more deeply than a value can be printed.
  const deep = `{"redirect_uris":${'['.repeat(8_000)}${']'.repeat(8_000)}}`;
  for (const body of ['', '[]', 'null', '{', '"a"', '\0', '{"redirect_uris":["https://a.example/\\u0000"]}', deep]) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${service.authUrl}/oauth/register`, { method: 'POST', headers, body });
    await check(t, JSON.stringify(body).slice(0, 80), answer);
  }
});

t.test('the document of a client with a name that cannot be kept describes none', async (t) => {
  const client_id = 'https://agent.example/client.json';
  const document = { client_id, client_name: 'a\0b', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
  const service = await startSignIn(t, { fetch: async () => Response.json(document) });
  const { browser } = await signUp(service);
  const answer = await browser.fetch(
    authorizeUrl(service, { client_id, code_challenge: computeChallenge(newVerifier()) }),
  );
  await check(t, 'a name with a zero character', answer);
  t.equal(answer.status, 400);
});

t.test('afterwards a client connects as ever, with the state that it sent', async (t) => {
  const service = await startSignIn(t);
  const owner = await signUp(service);
  const asked = { client_id: await registered(service), code_challenge: computeChallenge(newVerifier()) };
  for (const state of ['Grüße 𝔘', 'a b&c=d', '{"x":[1,"\\""]}']) {
    const page = await openPage(service, owner, { ...asked, state });
    t.equal((await press(owner, page, { choice: 'deny' })).get('state'), state);
  }
});
