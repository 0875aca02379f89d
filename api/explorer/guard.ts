// Access to the explorer: signed-in users, and everybody where the operator has opened it with a key of its own (EXPLORER_KEY).
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOpen, requireSession } from '../account-app/guards.ts';
import type { Site } from '../account-app/site.ts';

/** A hook for pages and calls of the explorer: leads to the sign-in, or answers 401. */
export const requireExplorer =
  (site: Site) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    isOpen(request, site) ? undefined : requireSession(request, reply);
