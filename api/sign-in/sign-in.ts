// Everything of the sign-in of agents' clients over one database: the provider with its addresses, the consent, connections, the check of tokens.
import type { EventEmitter } from 'node:events';
import type { FastifyInstance } from 'fastify';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Pool } from 'pg';
import { isOutOfService } from '../../infra/runtime/postgres/away.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { MS_PER_MINUTE } from '../../schemas/instants.ts';
import { toError } from '../../schemas/thrown.ts';
import { AddressMeter } from './address-meter.ts';
import { openConnectionKeys } from './connection-key.ts';
import { openConnections } from './connections.ts';
import { openConsents } from './consents.ts';
import { createExchanges } from './exchanges.ts';
import { createOauthRoutes, type OauthDeps } from './oauth-routes.ts';
import { createProvider } from './provider.ts';
import { openRenewals } from './renewals.ts';
import { createUnits } from './units.ts';

/** Successful registrations of an address in an hour (T-08). */
const REGISTRATIONS_PER_HOUR = 20;
/** Refusals of the token endpoint in a minute. */
const FAILURES_PER_MINUTE = 100;
/** Documents of clients fetched for an address in an hour. */
const FETCHES_PER_HOUR = 60;

const HOUR_MS = 3_600_000;

type SignInSpec = {
  readonly pool: Pool;
  /** `AUTH_URL`; a slash at its end does not count. */
  readonly authUrl: string;
  readonly mcpUrl: string;
  /** Connection keys and cookies are derived from it: another one ends every connection. */
  readonly secret: Buffer;
  /** Answers a browser that cannot be sent back to its client. */
  readonly sendProblem: OauthDeps['sendProblem'];
  readonly nowMs: () => number;
  /** How documents of clients are fetched; the platform's own unless a test has none to reach. */
  readonly fetch?: typeof fetch;
  readonly log: Logger;
};

export const openSignIn = ({ pool, authUrl, secret, sendProblem, log, ...spec }: SignInSpec) => {
  const { mcpUrl, nowMs } = spec;
  const issuer = authUrl.replace(/\/$/, '');
  const units = createUnits(pool);
  const deriveKey = openConnectionKeys(secret);
  const connections = openConnections({ units, keyOf: deriveKey, nowMs });
  const renewals = openRenewals(units, { connections, nowMs });
  const fetches = new AddressMeter(FETCHES_PER_HOUR, HOUR_MS);
  const exchanges = createExchanges({ units, renewals, mcpUrl, fetches, nowMs });
  const provider = createProvider({ ...spec, units, connections, exchanges, issuer, secret });
  // The library reports a failure here and has answered it; the context with its headers and bodies goes into no log.
  const onFault = (error: unknown): void => {
    const { name, message, stack } = toError(error);
    const err = { name, message, stack };
    if (isOutOfService(error)) log.warn({ err }, 'what a request of sign-in needs does not answer');
    else log.error({ err }, 'a request of sign-in failed');
  };
  provider.on('server_error', (_ctx, error) => {
    exchanges.noteFailure(error);
    onFault(error);
  });
  // The end of a connection whose client has left is reported here as well.
  const onError = (error: unknown, ctx?: KoaContextWithOIDC): void => {
    if (error !== ctx?.req.socket.errored) onFault(error);
  };
  (provider as unknown as EventEmitter).on('error', onError);
  const routes: (app: FastifyInstance) => Promise<void> = createOauthRoutes({
    provider,
    exchanges,
    sendProblem,
    issuer,
    mcpUrl,
    registrations: new AddressMeter(REGISTRATIONS_PER_HOUR, HOUR_MS),
    failures: new AddressMeter(FAILURES_PER_MINUTE, MS_PER_MINUTE),
    nowMs,
  });
  return {
    routes,
    consents: openConsents({ provider, connections, units }),
  };
};
export type SignIn = ReturnType<typeof openSignIn>;
