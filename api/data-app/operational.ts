// Open routes for operators and machines: liveness, readiness, the OpenAPI document, the schema registry (OP-01, design section 4).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerRegistryRequest } from '../../schemas/avro/registry.ts';
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { LiveMemory } from '../live/memory.ts';
import { OPERATIONS } from '../operations/index.ts';
import { STREAM } from '../stream/request.ts';
import type { AppDeps } from './app-deps.ts';
import { makeNamedOpenApi } from './named-openapi.ts';
import { JSON_TYPE } from './sent-errors.ts';

const REGISTRY_TYPE = 'application/vnd.schemaregistry.v1+json';

const findLiveProblems = (live: LiveMemory, at: number): string[] => {
  if (!live.isReady()) return ['The state has not been read yet.'];
  const behind = live.logTime - at;
  const problems =
    behind > STATE_LAG ? [`The clock of this node is ${Math.floor(behind / 1_000)} ms behind that of the log.`] : [];
  for (const { venue } of live.venues()) {
    const watermark = live.watermark(venue);
    if (watermark === null) problems.push(`Nothing has been received from ${venue}.`);
    else if (at - watermark > STATE_LAG)
      problems.push(`${venue} is ${Math.floor((at - watermark) / 1_000)} ms behind.`);
  }
  return problems;
};

type Judged = Pick<AppDeps, 'live' | 'nowMicros' | 'areKeysReachable' | 'isHistoryReachable'>;

/** Why the service is not ready, one sentence each; empty when it is. The listener of metrics answers the same. */
export const findUnready = async (deps: Judged): Promise<string[]> => {
  const { live, nowMicros, areKeysReachable, isHistoryReachable = async () => true } = deps;
  const [areKeys, isHistory] = await Promise.all([areKeysReachable(), isHistoryReachable()]);
  const problems = areKeys ? [] : ['The store of keys does not respond or is read-only.'];
  if (!isHistory) problems.push('The store of history does not respond.');
  return [...problems, ...findLiveProblems(live, nowMicros())];
};

const answerRegistry = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { pathname, searchParams } = new URL(request.url, 'http://registry');
  const path = pathname.slice('/registry'.length);
  const body = Buffer.isBuffer(request.body) ? request.body.toString() : '';
  const answer = answerRegistryRequest({ method: request.method, path, query: Object.fromEntries(searchParams), body });
  if (answer.allow !== undefined) reply.header('allow', answer.allow);
  return reply.code(answer.status).type(REGISTRY_TYPE).send(JSON.stringify(answer.body));
};

const addRegistry = (app: FastifyInstance): void => {
  for (const url of ['/registry', '/registry/*'])
    app.route({ method: ['GET', 'POST', 'PUT', 'DELETE'], url, handler: answerRegistry });
};

export const addOperational = (app: FastifyInstance, deps: AppDeps): void => {
  const openApi = JSON.stringify(
    makeNamedOpenApi({ operations: [...OPERATIONS, STREAM], baseUrl: deps.baseUrl, simulated: deps.simulated }),
  );
  app.get('/healthz', (_request, reply) => reply.send({ status: 'alive' }));
  app.get('/readyz', async (_request, reply) => {
    const problems = await findUnready(deps);
    const ready = problems.length === 0;
    reply.code(ready ? 200 : 503);
    return { status: ready ? 'ready' : 'not_ready', simulated: deps.simulated, problems };
  });
  app.get('/openapi.json', (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').type(JSON_TYPE).send(openApi),
  );
  addRegistry(app);
};
