// `GET|POST /api/rules`, `PUT|DELETE /api/rules/{rule_id}`: the rules of the signed-in user, as JSON (AC-04, AG-01).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../schemas/errors.ts';
import { writeErrors } from '../contract/errors-text.ts';
import { RULE_UNITS, toRuleJson } from '../rules/rule.ts';
import { changeRule, createRule, findRule, listRules, removeRule } from '../rules/store.ts';
import { readField } from './fields.ts';
import { readSession, requireSession } from './guards.ts';
import { checkDraft, checkQuery, readWords } from './rule-check.ts';
import type { Site } from './site.ts';

const PATH = '/api/rules';
/** Characters; longer texts are no query (the language refuses far shorter ones). */
export const LONGEST_QUERY = 65_536;
type OneRule = { readonly Params: { readonly rule_id: string } };

export const requireAccountId = (request: FastifyRequest): string => readSession(request).accountId;
/** Written to the versions of a rule. */
export const toActor = (request: FastifyRequest): string => `account ${readSession(request).accountId}`;

const answer = async (reply: FastifyReply, work: () => Promise<FastifyReply>): Promise<FastifyReply> => {
  reply.header('cache-control', 'no-store');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return reply.code(error.status).send({ errors: writeErrors(error.errors) });
  }
};

/** For the form while the user types: `POST /api/rules/check` with `query` and `units`; `GET /api/rules/words` for completion. */
const addEditorJson = (app: FastifyInstance, site: Site): void => {
  const signedIn = { onRequest: requireSession };
  app.post(`${PATH}/check`, signedIn, (request, reply) =>
    answer(reply, async () => {
      const units = RULE_UNITS.find((one) => one === readField(request.body, 'units')) ?? 'published';
      return reply.send(await checkQuery(site, readField(request.body, 'query', LONGEST_QUERY), units));
    }),
  );
  app.get(`${PATH}/words`, signedIn, (_request, reply) =>
    answer(reply, async () => reply.send({ words: await readWords(site) })),
  );
};

export const addRulesJson = (app: FastifyInstance, site: Site): void => {
  const { pool } = site;
  const signedIn = { onRequest: requireSession };
  addEditorJson(app, site);
  app.get(PATH, signedIn, (request, reply) =>
    answer(reply, async () =>
      reply.send({ items: (await listRules(pool, requireAccountId(request))).map(toRuleJson) }),
    ),
  );
  app.post(PATH, signedIn, (request, reply) =>
    answer(reply, async () => {
      const draft = await checkDraft(site, request.body);
      const rule = await createRule(pool, draft, { accountId: requireAccountId(request), actor: toActor(request) });
      return reply.code(201).send(toRuleJson(rule));
    }),
  );
  app.put<OneRule>(`${PATH}/:rule_id`, signedIn, (request, reply) =>
    answer(reply, async () => {
      const { rule_id: ruleId } = request.params;
      // Ownership is checked first: for another account's rule the only answer is that it does not exist.
      await findRule(pool, ruleId, requireAccountId(request));
      const draft = await checkDraft(site, request.body);
      const owner = { accountId: requireAccountId(request), actor: toActor(request) };
      return reply.send(toRuleJson(await changeRule(pool, { ruleId, draft }, owner)));
    }),
  );
  app.delete<OneRule>(`${PATH}/:rule_id`, signedIn, (request, reply) =>
    answer(reply, async () => {
      await removeRule(pool, request.params.rule_id, { accountId: requireAccountId(request), actor: toActor(request) });
      return reply.code(204).send();
    }),
  );
};
