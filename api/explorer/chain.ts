// The node of the chain on which days are anchored, for the proof page: it returns what the verifier reads, so that the page can check the chain itself.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fetchBytes } from '../../infra/runtime/network/fetch-bytes.ts';
import { isFromElsewhere } from '../account-app/guards.ts';
import { sendProblem } from '../account-app/shell.ts';
import type { Site } from '../account-app/site.ts';
import { requireExplorer } from './guard.ts';

export const CHAIN_PATH = '/api/explore/chain';

/** The methods that the verifier calls on a node; none changes anything. */
export const CHAIN_METHODS: ReadonlySet<unknown> = new Set([
  'eth_chainId',
  'eth_getCode',
  'eth_call',
  'eth_getTransactionReceipt',
  'eth_getBlockByNumber',
]);
const MOST_PARAMS = 2_000;
const MOST_BYTES = 1_000_000;
const TIMEOUT_MS = 15_000;

const AWAY = { status: 503, code: 'UNAVAILABLE', text: 'The node of the chain does not respond.' };
const NOT_ASKED = { status: 403, code: 'FORBIDDEN', text: 'This call to the node is not allowed here.' };
const ELSEWHERE = { status: 403, code: 'FORBIDDEN', text: 'This request came from another site.' };

/** Nothing is added where the site knows no node (RPC_URL). */
export const addChain = (app: FastifyInstance, site: Site): void => {
  const url = site.chainUrl;
  if (url === null) return;
  // Refuses other sites for this call only: their links may lead to the page.
  const refuseElsewhere = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    isFromElsewhere(request, site) ? sendProblem(site, { request, reply }, ELSEWHERE) : undefined;
  app.post(CHAIN_PATH, { onRequest: [refuseElsewhere, requireExplorer(site)] }, async (request, reply) => {
    const exchange = { request, reply };
    const { method, params } = (request.body ?? {}) as { readonly method?: unknown; readonly params?: unknown };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    if (!CHAIN_METHODS.has(method) || !Array.isArray(params) || body.length > MOST_PARAMS)
      return sendProblem(site, exchange, NOT_ASKED);
    try {
      const answer = await fetchBytes({
        ...{ url, method: 'POST', body, timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES },
        headers: { 'content-type': 'application/json' },
      });
      return reply.header('cache-control', 'no-store').type('application/json').code(answer.status).send(answer.body);
    } catch {
      return sendProblem(site, exchange, AWAY);
    }
  });
};
