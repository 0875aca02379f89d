// The account site in the test's process over a real PostgreSQL, and a browser without script: cookies kept, forms read and sent as they are.
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { Pool } from 'pg';
import { buildAccountApp } from '../../../api/account-app/build-account-app.ts';
import type { Site, SiteModule } from '../../../api/account-app/site.ts';
import { WEB_MODULES } from '../../../api/web-modules.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { type Teardown, useEngines } from '../engines/engines.ts';

export const ACCOUNT_URL = 'http://localhost:8082';
export const PASSWORD = 'orbit lantern quarry';

type TestSite = {
  readonly app: FastifyInstance;
  readonly site: Site;
  readonly pool: Pool;
  /** A browser of its own: nothing is signed in. */
  readonly browser: () => Browser;
};

type Over = Partial<Parameters<typeof buildAccountApp>[0]> & { readonly modules?: readonly SiteModule[] };

export const startSite = async (t: Teardown, over: Over = {}): Promise<TestSite> => {
  const engines = await useEngines(t, ['postgres']);
  const pool = openPostgres(await engines.database(), { max: 6 });
  t.teardown(() => pool.end());
  await migrate(pool);
  const { app, site } = await buildAccountApp({
    pool,
    urls: {
      account: ACCOUNT_URL,
      auth: ACCOUNT_URL,
      base: 'http://api.test',
      api: 'http://api.test',
      mcp: 'http://localhost:8081/mcp',
    },
    modules: WEB_MODULES,
    formSecret: Buffer.alloc(32, 1),
    connectionSecret: Buffer.alloc(32, 2),
    simulated: false,
    sendsMail: false,
    nowMs: Date.now,
    log: createLog('test', 'silent'),
    ...over,
  });
  t.teardown(() => app.close());
  return { app, site, pool, browser: () => openBrowser(app) };
};

type Fields = Readonly<Record<string, string>>;

export type Browser = {
  readonly cookies: Map<string, string>;
  readonly get: (path: string, options?: InjectOptions) => Promise<LightMyRequestResponse>;
  /** Any request with this browser's cookies and its headers about its origin. */
  readonly send: (options: InjectOptions) => Promise<LightMyRequestResponse>;
  /** Loads `page`, fills the form that goes to `action` (the page itself when left out), sends it. */
  readonly submit: (page: string, fields: Fields, action?: string) => Promise<LightMyRequestResponse>;
  /** Sends a form of a page that is there already. */
  readonly submitFrom: (html: string, fields: Fields, action: string) => Promise<LightMyRequestResponse>;
};

const FORM = /<form\b[^>]*\baction="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g;
const HIDDEN = /<input\b[^>]*type="hidden"[^>]*>/g;
const attribute = (tag: string, name: string): string =>
  (new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '').replaceAll('&amp;', '&').replaceAll('&quot;', '"');

/** Hidden fields of the form that goes to `action`; throws when the page has none. */
export const hiddenFields = (html: string, action: string): Fields => {
  for (const [, to = '', inner = ''] of html.matchAll(FORM)) {
    if (to.replaceAll('&amp;', '&') !== action) continue;
    return Object.fromEntries(
      [...inner.matchAll(HIDDEN)].map(([tag]) => [attribute(tag, 'name'), attribute(tag, 'value')]),
    );
  }
  throw new Error(`no form goes to ${action}`);
};

const ERROR_MEMBERS = ['code', 'message', 'position', 'hint', 'path'];

/** Throws when an error of an answer has its members in another order than E-05: so each test looks at every error that it provokes. */
const checkErrors = ({ statusCode, headers, body }: LightMyRequestResponse): void => {
  if (statusCode < 400 || !String(headers['content-type']).startsWith('application/json')) return;
  for (const error of (JSON.parse(body) as { errors?: object[] }).errors ?? []) {
    const found = Object.keys(error);
    const wanted = ERROR_MEMBERS.filter((name) => found.includes(name));
    if (found.join() !== wanted.join())
      throw new Error(`found an error with ${found.join()}, use ${wanted.join()}, because E-05 states that order`);
  }
};

const openBrowser = (app: FastifyInstance): Browser => {
  const cookies = new Map<string, string>();
  const keep = (answer: LightMyRequestResponse): LightMyRequestResponse => {
    checkErrors(answer);
    for (const { name, value, maxAge, expires } of answer.cookies) {
      if (value === '' || maxAge === 0 || (expires !== undefined && expires.getTime() <= Date.now()))
        cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  };
  const send: Browser['send'] = async (options) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie === '' ? {} : { cookie }), ...options.headers };
    return keep(await app.inject({ ...options, headers }));
  };
  const submitFrom: Browser['submitFrom'] = (html, fields, action) =>
    send({
      method: 'POST',
      url: action,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: ACCOUNT_URL,
        'sec-fetch-site': 'same-origin',
      },
      payload: new URLSearchParams({ ...hiddenFields(html, action), ...fields }).toString(),
    });
  return {
    cookies,
    send,
    get: (path, options = {}) => send({ method: 'GET', url: path, ...options }),
    submit: async (page, fields, action = page) =>
      submitFrom((await send({ method: 'GET', url: page })).body, fields, action),
    submitFrom,
  };
};

let made = 0;
/** An account of its own, signed in by this browser; its recovery codes as the page showed them. */
export const signUp = async (
  browser: Browser,
  {
    email = `owner${made++}@example.com`,
    password = PASSWORD,
  }: { readonly email?: string; readonly password?: string } = {},
): Promise<{ readonly email: string; readonly codes: readonly string[]; readonly answer: LightMyRequestResponse }> => {
  const answer = await browser.submit('/sign-up', { email, password });
  return { email, answer, codes: answer.body.match(/[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/g) ?? [] };
};

export const readAccount = async (pool: Pool, email: string): Promise<string> => {
  const { rows } = await pool.query<{ account_id: string }>('select account_id from accounts where email = $1', [
    email,
  ]);
  return rows[0]?.account_id ?? '';
};

/** A connection as sign-in makes it, without its tokens. */
export const connect = async (pool: Pool, accountId: string, name = 'agent'): Promise<string> => {
  const id = `con_${randomUUID()}`;
  await pool.query(
    `with k as (insert into api_keys (key_id, account_id, hash, display, name, plan, kind)
       values ($1, $2, sha256(convert_to($1, 'UTF8')), 'mc_', 'connection', 'free', 'connection') returning key_id)
     insert into connections (connection_id, account_id, client_id, client_name, redirect_uri, key_id, expires_at)
     select $3, $2, $3, $4, 'http://localhost:1234/cb', key_id, now() + interval '1 day' from k`,
    [`key_${randomUUID()}`, accountId, id, name],
  );
  return id;
};
