// The rights of a key, for the pages of the explorer: read once a minute and key, because GET /v2/account is answered once a second (AC-01).
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { fetchJson, NotAnswered } from '../../infra/runtime/network/fetch-json.ts';
import { isYounger } from '../../infra/runtime/time/kept-age.ts';
import type { Site } from '../account-app/site.ts';
import { isPlanCode, PLANS } from '../contract/plans.ts';
import { openExplorerKeys } from './explorer-key.ts';

/** What the key of a request may see. */
export type Scope = {
  readonly venues: readonly string[];
  /** Null: all. */
  readonly instruments: readonly string[] | null;
  readonly layers: readonly string[];
  readonly limits: Readonly<Record<string, number | string>>;
  readonly mayReadRaw: boolean;
};

type Account = Omit<Scope, 'mayReadRaw'> & { readonly plan: { readonly code: string } };
type Kept = { readonly scope: Promise<Scope>; readonly atMs: number };

const KEPT_MS = 60_000;
/** Number of keys whose scopes are kept; above it the oldest one is dropped, and read again for its next page. */
const MOST_KEPT = 1_000;
/** Another process, or the owner of the key, may have spent its second. */
const TRIES = 3;
const SECOND_MS = 1_000;

const readAccount = async (url: string, key: string, tries = TRIES): Promise<Account> => {
  try {
    return (await fetchJson(url, { headers: { authorization: `Bearer ${key}` } })) as Account;
  } catch (error) {
    if (!(error instanceof NotAnswered) || error.status !== 429 || tries === 1) throw error;
    await delay(SECOND_MS);
    return readAccount(url, key, tries - 1);
  }
};

const toScope = ({ venues, instruments, layers, limits, plan }: Account): Scope => ({
  ...{ venues, instruments, layers, limits },
  mayReadRaw: isPlanCode(plan.code) && PLANS[plan.code].raw,
});

type Scopes = (request: Pick<FastifyRequest, 'session'>) => Promise<Scope>;

const createScopes = (site: Site): Scopes => {
  const findKey = openExplorerKeys(site);
  const kept = new Map<string, Kept>();
  const read = async ({ session }: Pick<FastifyRequest, 'session'>): Promise<Scope> => {
    const key = await findKey(session);
    if (key === null) throw new Error('the explorer has no key for visitors');
    return toScope(await readAccount(`${site.urls.api}/v2/account`, key));
  };
  return (request) => {
    const { session } = request;
    const name = session === null ? '' : `${session.accountId} ${session.plan}`;
    const held = kept.get(name);
    if (held !== undefined && isYounger(KEPT_MS, held.atMs, site.nowMs())) return held.scope;
    const reading: Kept = { scope: read(request), atMs: site.nowMs() };
    kept.delete(name);
    kept.set(name, reading);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
    // A reading that failed is not kept.
    reading.scope.catch(() => {
      if (kept.get(name) === reading) kept.delete(name);
    });
    return reading.scope;
  };
};

const made = new WeakMap<Site, Scopes>();

/** The scopes of a site: one for all of its pages. */
export const findScopes = (site: Site): Scopes => {
  const scopes = made.get(site) ?? createScopes(site);
  made.set(site, scopes);
  return scopes;
};
