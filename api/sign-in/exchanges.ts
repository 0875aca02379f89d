// One request to the provider on its way through: what is rewritten before the provider sees it, its transaction, and what ends a connection.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { isOutOfService } from '../../infra/runtime/postgres/away.ts';
import { isStorableJson } from '../../infra/runtime/postgres/storable.ts';
import { isJsonObject } from '../../schemas/json-object.ts';
import type { Problem } from '../account-app/shell.ts';
import { SCOPE } from './adapter.ts';
import type { AddressMeter } from './address-meter.ts';
import type { EndReason } from './connections.ts';
import type { Renewals, TokenBody } from './renewals.ts';
import type { Units } from './units.ts';

export type Exchange = {
  readonly kind: 'authorize' | 'resume' | 'token' | 'revoke' | 'register' | 'preflight';
  readonly address: string;
  /** The body posted to the token endpoint, as it is passed on. */
  readonly form: URLSearchParams | null;
  /** Set to show the browser an error on a page of ours: the provider has answered nothing then. */
  problem: Problem | null;
  /** What the provider answered as a failure of its own; null: nothing failed. */
  failure: unknown;
};

export type Exchanges = {
  /** Runs `work` as the answer to a request. */
  readonly run: <T>(exchange: Exchange, work: () => Promise<T>) => Promise<T>;
  /** Why the request that is being answered ends a connection: at the token endpoint something was used twice. */
  readonly endReason: () => EndReason;
  /** Whether the document of a client may be fetched for this request. */
  readonly mayFetch: () => boolean;
  readonly renderError: (
    ctx: KoaContextWithOIDC,
    out: { error: string; error_description?: string | undefined },
  ) => void;
  /** Takes note of what the provider reports while it answers a request. */
  readonly noteFailure: (error: unknown) => void;
  readonly middleware: (ctx: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>;
};

type ExchangeDeps = {
  readonly units: Units;
  readonly renewals: Renewals;
  readonly mcpUrl: string;
  /** Documents fetched for an address. */
  readonly fetches: AddressMeter;
  readonly nowMs: () => number;
};

const TOUCH = `update oidc_clients set used_at = $2 where client_id = $1 and used_at < $2::timestamptz - interval '1 day'`;

/** Members of an authorisation request that mean something here; hints and wishes of OpenID clients are no faults. */
const ASKED: ReadonlySet<string> = new Set([
  ...['client_id', 'response_type', 'redirect_uri', 'state', 'code_challenge', 'code_challenge_method'],
  ...['resource', 'request', 'request_uri', 'registration'],
]);
const RESPONSE_MODES: ReadonlySet<string> = new Set(['query', 'fragment']);

/** `resource` as RFC 8707 compares it: after URL normalisation. */
const isResource = (text: string, mcpUrl: string): boolean =>
  URL.canParse(text) && new URL(text).href === new URL(mcpUrl).href;

/** Those that a browser follows. */
const PAGES: ReadonlySet<Exchange['kind']> = new Set(['authorize', 'resume']);
const PROBLEM_WORDS =
  'The request of the application that sent you here is not valid or has expired. Go back to the application and connect again.';

/** Nothing of these is a transaction. */
const PASSED_ON: ReadonlySet<Exchange['kind']> = new Set(['register', 'preflight']);

type OAuthParameters = Record<string, string | string[] | undefined>;

/** Another spelling of the resource is the resource. */
const toCanonicalResource = (given: string, mcpUrl: string): string => (isResource(given, mcpUrl) ? mcpUrl : given);

/** `market:read` is always granted, other scopes are ignored, and every authorisation shows the page (T-08). */
const rewriteRequest = (asked: OAuthParameters, mcpUrl: string): OAuthParameters => {
  const { resource, prompt, response_mode: mode } = asked;
  const isSilent = typeof prompt === 'string' && prompt.split(' ').includes('none');
  return {
    ...Object.fromEntries(Object.entries(asked).filter(([name]) => ASKED.has(name))),
    ...(typeof resource === 'string' ? { resource: toCanonicalResource(resource, mcpUrl) } : {}),
    ...(isSilent ? { prompt } : {}),
    ...(typeof mode === 'string' && RESPONSE_MODES.has(mode) ? { response_mode: mode } : {}),
    scope: SCOPE,
  };
};

/** The form of a token request as the provider gets it. */
export const rewriteForm = (form: URLSearchParams, mcpUrl: string): URLSearchParams => {
  const entries = [...form].filter(([name]) => name !== 'scope');
  return new URLSearchParams(
    entries.map(([name, value]): [string, string] => [
      name,
      name === 'resource' ? toCanonicalResource(value, mcpUrl) : value,
    ]),
  );
};

/** Found after the code or token was used up: the fault of a request, which costs nothing. */
const isHarmless = (body: unknown): boolean => isJsonObject(body) && body['error'] === 'invalid_target';

/** A text that cannot be stored cannot be returned to the client either (RFC 6749 appendix A has no such character). */
const refusePage = (ctx: KoaContextWithOIDC, exchange: Exchange): void => {
  exchange.problem = { status: 400, code: 'INVALID_REQUEST', text: PROBLEM_WORDS };
  ctx.respond = false;
};

const sendRepeated = (ctx: KoaContextWithOIDC, body: TokenBody): void => {
  const origin = ctx.get('origin');
  if (origin !== '') ctx.set('access-control-allow-origin', origin);
  ctx.set('cache-control', 'no-store');
  ctx.body = body;
};

/** To a program; nothing of its request was kept. */
const refuseForNow = (ctx: KoaContextWithOIDC): void => {
  ctx.status = 503;
  ctx.set('retry-after', '5');
  ctx.body = { error: 'temporarily_unavailable', error_description: 'try again in 5 seconds' };
};

const runInUnit = async (units: Units, ctx: KoaContextWithOIDC, work: () => Promise<void>): Promise<void> => {
  try {
    await units.run(work, () => ctx.status < 500 && !isHarmless(ctx.body));
  } catch (error) {
    // Nothing was kept, so nothing may be given out.
    refuseForNow(ctx);
    ctx.app.emit('error', error, ctx);
  }
};

type Handling = (exchange: Exchange, ctx: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>;

/** What is done around the provider for each kind of request. */
const createHandling = ({ units, renewals, mcpUrl, nowMs }: Omit<ExchangeDeps, 'fetches'>): Handling => {
  /** A note beside an answer that stands: tokens that were given out and not answered would end their connection at the repetition. */
  const touch = async (ctx: KoaContextWithOIDC, clientId: unknown): Promise<void> => {
    if (typeof clientId !== 'string') return;
    const noted = units.alone(TOUCH, [clientId, new Date(nowMs())]);
    await noted.catch((error: unknown) => ctx.app.emit('error', error, ctx));
  };

  const answerToken = async (ctx: KoaContextWithOIDC, form: URLSearchParams, next: () => Promise<void>) => {
    const token = form.get('grant_type') === 'refresh_token' ? form.get('refresh_token') : null;
    const repeated = token === null ? null : await renewals.repeat(token, form.get('client_id') ?? '');
    if (repeated !== null) return sendRepeated(ctx, repeated);
    await next();
    if (ctx.status === 200 && token !== null) await renewals.keep(token, ctx.body as TokenBody);
  };

  return async (exchange, ctx, next) => {
    const { kind, form } = exchange;
    if (PASSED_ON.has(kind)) return next();
    if (kind === 'authorize') {
      const asked = rewriteRequest(ctx.query, mcpUrl);
      if (!isStorableJson(asked)) return refusePage(ctx, exchange);
      ctx.query = asked as typeof ctx.query;
      await next();
      if (ctx.status === 303) await touch(ctx, ctx.query['client_id']);
      return;
    }
    await runInUnit(units, ctx, () => (kind === 'token' && form !== null ? answerToken(ctx, form, next) : next()));
    if (kind === 'token' && ctx.status === 200) await touch(ctx, form?.get('client_id'));
  };
};

export const createExchanges = ({ fetches, ...deps }: ExchangeDeps): Exchanges => {
  const { nowMs } = deps;
  const current = new AsyncLocalStorage<Exchange>();
  const handle = createHandling(deps);
  return {
    run: (exchange, work) => current.run(exchange, work),
    endReason: () => (current.getStore()?.kind === 'token' ? 'reuse' : 'client'),
    mayFetch: () => {
      const address = current.getStore()?.address;
      if (address === undefined) return true;
      if (fetches.waitS(address, nowMs()) !== null) return false;
      fetches.note(address, nowMs());
      return true;
    },
    renderError: (ctx, out) => {
      const exchange = current.getStore();
      if (exchange === undefined || !PAGES.has(exchange.kind)) {
        ctx.body = out;
        return;
      }
      const text = `${PROBLEM_WORDS} (${out.error_description ?? out.error})`;
      exchange.problem = { status: ctx.status, code: out.error.toUpperCase(), text };
      ctx.respond = false;
    },
    noteFailure: (error) => {
      const exchange = current.getStore();
      if (exchange !== undefined) exchange.failure = error;
    },
    middleware: async (ctx, next) => {
      const exchange = current.getStore();
      if (exchange === undefined) return next();
      await handle(exchange, ctx, next);
      // The provider calls it a failure of ours; pages are answered by the site.
      if (!PAGES.has(exchange.kind) && isOutOfService(exchange.failure)) refuseForNow(ctx);
    },
  };
};
