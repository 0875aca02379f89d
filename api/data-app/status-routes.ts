// Open routes about the service itself: /status.json, /incidents.json, /changelog.json and its Atom feed, /llms.txt (OP-01, VER-02).
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { makeUnavailable } from '../../schemas/errors.ts';
import { parseChangelog, renderAtom } from '../status/changelog.ts';
import type { ServiceLevels } from '../status/service-levels.ts';
import { createStatus } from '../status/status.ts';
import type { AppDeps } from './app-deps.ts';
import { JSON_TYPE } from './sent-errors.ts';

const CACHING = 'public, max-age=10';

const readChanges = () => parseChangelog(readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8'));

/** What the account site renders from the documentation; it leads here in turn for what this app has. */
const ON_SITE = ['/llms.txt', '/changelog'] as const;

export const addStatus = (app: FastifyInstance, deps: AppDeps & { readonly levels: ServiceLevels }): void => {
  const { live, nowMicros, simulated, levels, statusStore, baseUrl, accountUrl } = deps;
  const status = createStatus({
    ...{ live, nowMicros, simulated, levels },
    ...(statusStore === undefined ? {} : { store: statusStore }),
  });
  const changes = readChanges();
  const changelog = JSON.stringify({ items: changes });
  const atom = renderAtom(changes, baseUrl);
  app.addHook('onClose', async () => levels.stop());
  app.get('/status.json', async (_request, reply) =>
    reply
      .header('cache-control', CACHING)
      .type(JSON_TYPE)
      .send(await status.document()),
  );
  app.get('/incidents.json', async (_request, reply) => {
    const text = await status.incidents().catch(() => null);
    if (text === null) throw makeUnavailable('The incidents cannot be read now.');
    return reply.header('cache-control', CACHING).type(JSON_TYPE).send(text);
  });
  app.get('/changelog.json', (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').type(JSON_TYPE).send(changelog),
  );
  if (accountUrl !== undefined)
    for (const path of ON_SITE) app.get(path, (_request, reply) => reply.redirect(`${accountUrl}${path}`, 302));
  app.get('/changelog.atom', (_request, reply) =>
    reply.header('cache-control', 'public, max-age=60').type('application/atom+xml; charset=utf-8').send(atom),
  );
};
