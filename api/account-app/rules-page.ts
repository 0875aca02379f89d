// /rules: write a rule, check it, see its current matches, its moves and the webhooks that receive them; works without script (AG-01, AG-06).
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'htm/preact';
import { ServiceError } from '../../schemas/errors.ts';
import type { Rule } from '../rules/rule.ts';
import {
  changeRule,
  createRule,
  findRule,
  listRules,
  readOwnStates,
  readTransitions,
  removeRule,
} from '../rules/store.ts';
import { readField } from './fields.ts';
import { requireSession } from './guards.ts';
import { checkDraft, matchNow } from './rule-check.ts';
import { NEW_RULE, type RuleFields, readSentFields, toMembers, toRuleFields } from './rule-fields.ts';
import { endRules, exportRules } from './rules-account.ts';
import { addRulesJson, requireAccountId, toActor } from './rules-json.ts';
import {
  RULES_PATH as PATH,
  renderFaultList,
  renderMatchedNow,
  renderMoveTable,
  renderRuleForm,
  renderRuleTable,
  renderStateLead,
} from './rules-view.ts';
import { type Content, type Exchange, renderButtonForm, sendPage, sendProblem } from './shell.ts';
import type { Site, SiteModule } from './site.ts';
import { addHookForms, renderHooksPart } from './webhooks-part.ts';

const SHOWN_MOVES = 50;
const ISLANDS = ['rule-query'];

type Shown = { readonly problem?: Content; readonly fields?: RuleFields; readonly status?: number };

const showAll = async (site: Site, exchange: Exchange, { problem, fields = NEW_RULE, status = 200 }: Shown = {}) => {
  const accountId = requireAccountId(exchange.request);
  const [rules, states] = [await listRules(site.pool, accountId), await readOwnStates(site.pool, accountId)];
  return sendPage(site, exchange, {
    title: 'Agent rules',
    status,
    islands: ISLANDS,
    body: html`<h1>Agent rules</h1>
      <p class="lead">A rule is a query that is evaluated repeatedly; an agent reads whether it holds, and what has changed.</p>
      ${renderRuleTable(rules, states)}
      <h2>New rule</h2>
      ${problem}${renderRuleForm(site, exchange, { path: PATH, fields, verb: 'Make the rule' })}${await renderHooksPart(site, exchange)}`,
  });
};

const showOne = async (
  site: Site,
  exchange: Exchange,
  { rule, problem, fields = toRuleFields(rule), status = 200 }: Shown & { readonly rule: Rule },
) => {
  const state = (await readOwnStates(site.pool, rule.accountId)).get(rule.ruleId);
  const moves = await readTransitions(site.pool, rule.ruleId, SHOWN_MOVES);
  const path = `${PATH}/${rule.ruleId}`;
  return sendPage(site, exchange, {
    title: rule.name,
    status,
    islands: ISLANDS,
    body: html`<h1>${rule.name}</h1>
      <p><code>${rule.ruleId}</code></p>
      ${state === undefined ? null : renderStateLead(state, rule)}
      ${problem}${renderRuleForm(site, exchange, { path, fields, verb: 'Save' })}
      ${renderButtonForm(site, exchange, { path: `${path}/remove`, label: 'Remove', name: `Remove ${rule.name}`, style: 'small quiet' })}
      <h2>Transitions</h2>
      ${renderMoveTable(moves)}`,
  });
};

/** Carries out a form, or shows the page again with its faults. */
const attemptForm = async (
  work: () => Promise<FastifyReply>,
  refuse: (problem: Content, status: number) => Promise<FastifyReply>,
): Promise<FastifyReply> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return refuse(renderFaultList(error), error.status);
  }
};

const isCheck = (body: unknown): boolean => readField(body, 'do') === 'check';

type OneRule = { readonly Params: { readonly rule_id: string } };

const addListPage = (app: FastifyInstance, site: Site): void => {
  const { pool } = site;
  const signedIn = { onRequest: requireSession };
  app.get(PATH, signedIn, (request, reply) => showAll(site, { request, reply }));
  app.post(PATH, signedIn, (request, reply) => {
    const [exchange, fields] = [{ request, reply }, readSentFields(request.body)];
    return attemptForm(
      async () => {
        const draft = await checkDraft(site, toMembers(fields, null));
        const accountId = requireAccountId(request);
        if (isCheck(request.body))
          return showAll(site, exchange, { problem: renderMatchedNow(await matchNow(site, draft, accountId)), fields });
        const rule = await createRule(pool, draft, { accountId, actor: toActor(request) });
        return reply.redirect(`${PATH}/${rule.ruleId}`, 303);
      },
      (problem, status) => showAll(site, exchange, { problem, fields, status }),
    );
  });
};

const createMissing =
  (site: Site, exchange: Exchange) =>
  async (_problem: Content, status: number): Promise<FastifyReply> =>
    sendProblem(site, exchange, { status, code: 'NOT_FOUND', text: 'There is no such rule.' });

const addRulePage = (app: FastifyInstance, site: Site): void => {
  const { pool } = site;
  const signedIn = { onRequest: requireSession };
  app.get<OneRule>(`${PATH}/:rule_id`, signedIn, (request, reply) => {
    const exchange = { request, reply };
    return attemptForm(
      async () =>
        showOne(site, exchange, { rule: await findRule(pool, request.params.rule_id, requireAccountId(request)) }),
      createMissing(site, exchange),
    );
  });
  app.post<OneRule>(`${PATH}/:rule_id`, signedIn, (request, reply) => {
    const [exchange, fields, ruleId] = [{ request, reply }, readSentFields(request.body), request.params.rule_id];
    const accountId = requireAccountId(request);
    const change = async (rule: Rule): Promise<FastifyReply> => {
      const draft = await checkDraft(site, toMembers(fields, rule));
      if (isCheck(request.body)) {
        const problem = renderMatchedNow(await matchNow(site, draft, accountId));
        return showOne(site, exchange, { rule, problem, fields });
      }
      await changeRule(pool, { ruleId, draft }, { accountId, actor: toActor(request) });
      return reply.redirect(`${PATH}/${ruleId}`, 303);
    };
    return attemptForm(
      async () => {
        const rule = await findRule(pool, ruleId, accountId);
        return attemptForm(
          () => change(rule),
          (problem, status) => showOne(site, exchange, { rule, problem, fields, status }),
        );
      },
      createMissing(site, exchange),
    );
  });
  app.post<OneRule>(`${PATH}/:rule_id/remove`, signedIn, (request, reply) =>
    attemptForm(
      async () => {
        const owner = { accountId: requireAccountId(request), actor: toActor(request) };
        await removeRule(pool, request.params.rule_id, owner);
        return reply.redirect(PATH, 303);
      },
      createMissing(site, { request, reply }),
    ),
  );
};

export const rulesPage: SiteModule = {
  name: 'rules',
  nav: { member: [{ path: PATH, label: 'Rules' }] },
  islands: { 'rule-query': new URL('./islands/rule-query.ts', import.meta.url) },
  onClose: endRules,
  exportPart: exportRules,
  register: (app, site) => {
    addListPage(app, site);
    addRulePage(app, site);
    addHookForms(app, site, {
      show: (exchange, problem) => showAll(site, exchange, { problem }),
      attempt: (exchange, work) => attemptForm(work, (problem, status) => showAll(site, exchange, { problem, status })),
    });
    addRulesJson(app, site);
  },
};
