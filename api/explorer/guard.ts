// Access to the explorer: signed-in users, and everybody where the operator has opened it with a key of its own (EXPLORER_KEY).
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requireSession } from '../account-app/guards.ts';
import type { Site } from '../account-app/site.ts';

/** A page of another name that leads to this address (DNS rebinding) is not the explorer, so that it reads nothing without a session. */
const isOwnHost = (request: FastifyRequest, { urls }: Site): boolean => request.host === new URL(urls.account).host;

/** Whether this request needs no sign-in. */
export const isOpen = (request: FastifyRequest, site: Site): boolean =>
  site.explorerKey !== null && isOwnHost(request, site);

/** A hook for pages and calls of the explorer: leads to the sign-in, or answers 401. */
export const requireExplorer =
  (site: Site) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    isOpen(request, site) ? undefined : requireSession(request, reply);
