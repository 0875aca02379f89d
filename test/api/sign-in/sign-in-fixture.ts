// The sign-in on its own port over a real PostgreSQL, an owner's browser, and an OAuth client that sends whatever a test wants.
import { createHash, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { buildInternalApp } from '../../../api/account-app/build-account-app.ts';
import type { Site } from '../../../api/account-app/site.ts';
import { createAccount } from '../../../api/accounts/accounts.ts';
import { beginSession } from '../../../api/accounts/sessions.ts';
import { createSignInModule } from '../../../api/sign-in/sign-in-module.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { hiddenFields, startSite } from '../../support/apps/site-fixture.ts';
import type { Teardown } from '../../support/engines/engines.ts';

export const MCP_URL = 'http://localhost:8081/mcp';
export const REDIRECT = 'http://127.0.0.1:33418/callback';
export const INTERNAL_SECRET = Buffer.alloc(32, 3);

/** A clock that tests move: each reading advances it by a millisecond, however slow the machine is. */
const movedClock = () => {
  let atMs = Date.now();
  return {
    nowMs: () => ++atMs,
    pass: (ms: number): void => {
      atMs += ms;
    },
  };
};
type Clock = ReturnType<typeof movedClock>;

export type SignInService = {
  readonly app: FastifyInstance;
  readonly internal: FastifyInstance;
  readonly site: Site;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly authUrl: string;
  readonly internalUrl: string;
  readonly mcpUrl: string;
};

type Over = { readonly mcpUrl?: string; readonly fetch?: typeof fetch };

export const startSignIn = async (t: Teardown, { mcpUrl = MCP_URL, ...over }: Over = {}): Promise<SignInService> => {
  const clock = movedClock();
  const port = await findFreePort();
  const authUrl = `http://localhost:${port}`;
  const modules = [createSignInModule(over)];
  const { app, site, pool } = await startSite(t, {
    urls: { account: authUrl, auth: authUrl, base: 'http://api.test', api: 'http://api.test', mcp: mcpUrl },
    nowMs: clock.nowMs,
    modules,
  });
  await app.listen({ host: '127.0.0.1', port });
  const log = createLog('test', 'silent');
  const internal = await buildInternalApp({ modules, log }, { site, secret: INTERNAL_SECRET });
  await internal.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => internal.close());
  const internalUrl = `http://127.0.0.1:${(internal.server.address() as AddressInfo).port}`;
  return { app, internal, site, pool, clock, authUrl, internalUrl, mcpUrl };
};

type Cookie = { readonly name: string; readonly value: string; readonly path: string };

/** Keeps cookies by their path, follows no redirect, runs no script. */
export class FetchBrowser {
  readonly #cookies = new Map<string, Cookie>();
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  set(name: string, value: string, path = '/'): void {
    this.#cookies.set(`${name};${path}`, { name, value, path });
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const { href, pathname } = new URL(url, this.#origin);
    const cookie = [...this.#cookies.values()]
      .filter(({ path }) => pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const answer = await fetch(href, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } });
    for (const line of answer.headers.getSetCookie()) this.#keep(line);
    return answer;
  }

  /** Sends the form that a page has for this address. */
  async submit(html: string, url: string, fields: Record<string, string>): Promise<Response> {
    const { pathname, href } = new URL(url, this.#origin);
    return this.fetch(href, {
      method: 'POST',
      headers: { origin: this.#origin, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ ...hiddenFields(html, pathname), ...fields }),
    });
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(/; */);
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? '/';
    if (value === '') this.#cookies.delete(`${name};${path}`);
    else this.set(name, value, path);
  }
}

export type Owner = {
  readonly accountId: string;
  readonly browser: FetchBrowser;
  /** Value of its session's cookie. */
  readonly token: string;
};

/** An account with a session in a browser. */
export const signUp = async ({ pool, authUrl }: SignInService, name = 'owner'): Promise<Owner> => {
  const email = `${name}-${randomBytes(4).toString('hex')}@example.org`;
  const accountId = (await createAccount(pool, { email, passwordHash: null })) as string;
  const { token } = await beginSession(pool, { accountId, agent: 'test' });
  const browser = new FetchBrowser(authUrl);
  browser.set('session', token);
  return { accountId, browser, token };
};

type Json = Record<string, unknown>;

export const register = async ({ authUrl }: SignInService, over: Json = {}): Promise<Response> =>
  fetch(`${authUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Desk agent', redirect_uris: [REDIRECT], ...over }),
  });

export const registered = async (service: SignInService, over: Json = {}): Promise<string> =>
  ((await (await register(service, over)).json()) as { client_id: string }).client_id;

export const newVerifier = (): string => randomBytes(32).toString('base64url');
export const computeChallenge = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

export type Asked = Record<string, string | undefined>;

/** The address that a client sends the browser to; undefined members are left out. */
export const authorizeUrl = ({ authUrl, mcpUrl }: SignInService, asked: Asked): string => {
  const members: Asked = {
    response_type: 'code',
    redirect_uri: REDIRECT,
    scope: 'market:read',
    state: 'st-1',
    code_challenge_method: 'S256',
    resource: mcpUrl,
    ...asked,
  };
  const given = Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${authUrl}/oauth/authorize?${new URLSearchParams(given)}`;
};

export const readLocation = (answer: Response): string => answer.headers.get('location') ?? '';

type Page = { readonly url: string; readonly html: string };

/** From the client to the consent page. */
export const openPage = async (service: SignInService, { browser }: Owner, asked: Asked): Promise<Page> => {
  const url = readLocation(await browser.fetch(authorizeUrl(service, asked)));
  return { url, html: await (await browser.fetch(url)).text() };
};

/** Presses a button of the page and continues until the browser would leave the site; returns the parameters of the last redirect. */
export const press = async (
  { browser }: Owner,
  { url, html }: Page,
  fields: Record<string, string>,
): Promise<URLSearchParams> => {
  const pressed = await browser.submit(html, url, fields);
  if (pressed.status !== 303) throw new Error(`the page answered ${pressed.status}`);
  const resumed = await browser.fetch(readLocation(pressed));
  return new URL(readLocation(resumed)).searchParams;
};

export type Tokens = {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly token_type: string;
};

export const postToken = ({ authUrl }: SignInService, form: Record<string, string>): Promise<Response> =>
  fetch(`${authUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });

export type Granted = Tokens & { readonly clientId: string };

/** Allow and the code exchanged: a live connection. */
export const connect = async (
  service: SignInService,
  owner: Owner,
  { clientId, ...fields }: { readonly clientId?: string } & Record<string, string> = {},
): Promise<Granted> => {
  const id = clientId ?? (await registered(service));
  const verifier = newVerifier();
  const page = await openPage(service, owner, { client_id: id, code_challenge: computeChallenge(verifier) });
  const code = (await press(owner, page, { choice: 'allow', ...fields })).get('code') ?? '';
  const answer = await exchangeCode(service, { client_id: id, code, code_verifier: verifier });
  if (answer.status !== 200) throw new Error(`the code was refused: ${await answer.text()}`);
  return { ...((await answer.json()) as Tokens), clientId: id };
};

export const exchangeCode = (service: SignInService, form: Record<string, string>): Promise<Response> =>
  postToken(service, { grant_type: 'authorization_code', redirect_uri: REDIRECT, ...form });

export const renew = (
  service: SignInService,
  { clientId, refresh_token }: Pick<Granted, 'clientId' | 'refresh_token'>,
) => postToken(service, { grant_type: 'refresh_token', refresh_token, client_id: clientId });

/** The response to the tool server about a token. */
export const checkToken = async (service: SignInService, token: string): Promise<Json> => {
  const answer = await fetch(`${service.internalUrl}/internal/token-check`, {
    method: 'POST',
    headers: { authorization: `Bearer ${INTERNAL_SECRET.toString('base64url')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return (await answer.json()) as Json;
};
export const isActive = async (service: SignInService, token: string): Promise<boolean> =>
  (await checkToken(service, token))['active'] === true;

/** Invariants after any operation: a live key has a live connection, tokens have one too, none of them is stored in plain. */
export const findFaults = async (pool: Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ fault: string }>(`
    select 'key ' || k.key_id || ' without a connection' as fault from api_keys k left join connections c using (key_id)
      where k.kind = 'connection' and k.revoked_at is null and (c.connection_id is null or c.ended_at is not null)
    union all
    select 'key of ' || c.connection_id || ' outlives it' from connections c join api_keys k using (key_id)
      where c.ended_at is null and k.expires_at is distinct from c.expires_at
    union all
    select i.model || ' of an ended connection' from oidc_items i join connections c using (connection_id)
      where c.ended_at is not null
    union all
    select c.connection_id || ' is live without a code or a token' from connections c
      where c.ended_at is null and c.expires_at > now() + interval '3 minutes' and not exists (
        select 1 from oidc_items i where i.connection_id = c.connection_id and i.model = 'RefreshToken' and i.consumed_at is null)`);
  return rows.map(({ fault }) => fault);
};
