// `npm run rules -- list|add|show|disable|enable|share|remove|transitions|webhooks ...`: agent rules by command, for operators (AG-01, AG-06).
import type { Pool } from 'pg';
import { checkRule, fetchCodes } from '../../api/rules/check-rule.ts';
import { type Rule, readDraft, toRuleJson } from '../../api/rules/rule.ts';
import {
  changeRule,
  createRule,
  findRule,
  listRules,
  readTransitions,
  removeRule,
  type Transition,
} from '../../api/rules/store.ts';
import { listWebhooks } from '../../api/rules/webhooks.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { runOnDatabase } from '../postgres/migrate.ts';
import { type ConfigSpec, readConfig } from '../runtime/process/config.ts';
import { isHelpAsked, printOutcome } from '../runtime/process/print-outcome.ts';
import { readEndpoints } from '../runtime/process/running-service.ts';
import { describeCommandLine, OperatorError } from './command-line.ts';

const USAGE = `usage: npm run rules -- COMMAND [--json] [--by NAME]
  list [--account ID]
  add --account ID --name NAME --query DQL [--interval 1m] [--units published|base|quote] [--freshness 60s] [--shared]
  show RULE_ID
  disable|enable|share|unshare|remove RULE_ID
  transitions RULE_ID
  webhooks --account ID
The database is that of DATABASE_URL, or of a running service (.local/endpoints.json); queries are checked by the service at BASE_URL, or that one.`;

const OPTIONS = {
  account: { type: 'string' },
  name: { type: 'string' },
  query: { type: 'string' },
  interval: { type: 'string' },
  units: { type: 'string' },
  freshness: { type: 'string' },
  shared: { type: 'boolean', default: false },
  by: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

const { parseArguments, requireText } = describeCommandLine(USAGE, OPTIONS);

type Arguments = ReturnType<typeof parseArguments>;
type Output = { readonly json: unknown; readonly text: string };
type Deps = { readonly pool: Pool; readonly actor: string; readonly baseUrl: () => string };
type Command = (args: Arguments, deps: Deps) => Promise<Output>;

const formatLine = (rule: Rule): string => {
  const { rule_id, interval, name, query } = toRuleJson(rule);
  const marks = [rule.enabled ? 'enabled ' : 'disabled', rule.shared ? 'shared' : 'own   '];
  return [rule_id, rule.accountId, ...marks, interval.padEnd(4), name, query].join('  ');
};

const formatOne = (rule: Rule): Output => ({
  json: { account_id: rule.accountId, ...toRuleJson(rule) },
  text: formatLine(rule),
});

const formatMany = (rules: readonly Rule[]): Output => ({
  json: rules.map((rule) => formatOne(rule).json),
  text: rules.length === 0 ? 'no rules' : rules.map(formatLine).join('\n'),
});

const toMoveJson = ({ at, from, to, reason, version, matched, matchedTotal }: Transition) => ({
  ...{ at: formatInstant(at), from, to, reason, version, matched, matched_total: matchedTotal },
});

const formatMove = (move: Transition): string => {
  const { at, from, to, reason, matched } = toMoveJson(move);
  return [at, `${from} -> ${to}`, reason ?? matched.join(', ')].join('  ');
};

const add: Command = async ({ values }, { pool, actor, baseUrl }) => {
  const { interval, units, freshness, shared } = values;
  const draft = readDraft({
    name: requireText(values.name, '--name'),
    query: requireText(values.query, '--query'),
    ...{ interval, units, freshness, shared },
  });
  checkRule(draft, await fetchCodes(baseUrl()));
  return formatOne(await createRule(pool, draft, { accountId: requireText(values.account, '--account'), actor }));
};

const changeRuleByHand =
  (draft: Parameters<typeof changeRule>[1]['draft']): Command =>
  async ({ positionals }, { pool, actor }) => {
    const ruleId = requireText(positionals[1], 'RULE_ID');
    return formatOne(await changeRule(pool, { ruleId, draft }, { accountId: null, actor }));
  };

const COMMANDS: Readonly<Record<string, Command>> = {
  add,
  list: async ({ values }, { pool }) => formatMany(await listRules(pool, values.account ?? null)),
  show: async ({ positionals }, { pool }) =>
    formatOne(await findRule(pool, requireText(positionals[1], 'RULE_ID'), null)),
  disable: changeRuleByHand({ enabled: false }),
  enable: changeRuleByHand({ enabled: true }),
  share: changeRuleByHand({ shared: true }),
  unshare: changeRuleByHand({ shared: false }),
  remove: async ({ positionals }, { pool, actor }) => {
    const ruleId = requireText(positionals[1], 'RULE_ID');
    await removeRule(pool, ruleId, { accountId: null, actor });
    return { json: { removed: ruleId }, text: `${ruleId}  removed` };
  },
  transitions: async ({ positionals }, { pool }) => {
    const moves = await readTransitions(pool, requireText(positionals[1], 'RULE_ID'));
    return { json: moves.map(toMoveJson), text: moves.length === 0 ? 'no moves' : moves.map(formatMove).join('\n') };
  },
  webhooks: async ({ values }, { pool }) => {
    const hooks = await listWebhooks(pool, requireText(values.account, '--account'));
    const lines = hooks.map((hook) => [hook.webhook_id, hook.url, hook.notice ?? `${hook.waiting} waiting`].join('  '));
    return { json: hooks, text: lines.length === 0 ? 'no webhooks' : lines.join('\n') };
  },
};

const TOOL_CONFIG = {
  DATABASE_URL: { type: 'url', default: null, secret: true, description: 'PostgreSQL with accounts and rules.' },
  BASE_URL: { type: 'url', default: null, description: 'The service that checks queries.' },
} as const satisfies ConfigSpec;

type Running = { readonly database_url?: string; readonly base_url?: string };

const readRunning = (): Running => {
  try {
    return readEndpoints() as Running;
  } catch {
    return {};
  }
};

const requireFound = (address: string | null | undefined, setting: string): string => {
  if (address) return address;
  throw new OperatorError(`no service: set ${setting}, or run \`npm run demo\` in another terminal`);
};

type Addresses = { readonly databaseUrl: string; readonly baseUrl: () => string };

const findAddresses = (): Addresses => {
  const { DATABASE_URL: database, BASE_URL: base } = readConfig(TOOL_CONFIG, process.env);
  return {
    databaseUrl: requireFound(database ?? readRunning().database_url, 'DATABASE_URL'),
    baseUrl: () => requireFound(base ?? readRunning().base_url, 'BASE_URL'),
  };
};

/** Faults as text: each with its position in the query. */
const describeFaults = ({ errors }: ServiceError): string =>
  errors
    .map(({ message, hint, position }) => {
      const place = position === undefined ? '' : `line ${position.line}, column ${position.column}: `;
      return `${place}${message} ${hint ?? ''}`.trimEnd();
    })
    .join('\n');

/** Runs one command line; returns the text to print. Throws errors that the operator can correct. */
const runRules = async (argv: readonly string[]): Promise<string> => {
  if (isHelpAsked(argv)) return USAGE;
  const args = parseArguments(argv);
  const command = COMMANDS[args.positionals[0] ?? ''];
  if (command === undefined) throw new OperatorError(USAGE);
  const addresses = findAddresses();
  const actor = args.values.by ?? process.env['USER'] ?? 'operator';
  try {
    return await runOnDatabase({ url: addresses.databaseUrl, max: 1 }, async (pool) => {
      const { json, text } = await command(args, { pool, actor, baseUrl: addresses.baseUrl });
      return args.values.json ? JSON.stringify(json, null, 2) : text;
    });
  } catch (error) {
    if (error instanceof ServiceError) throw new OperatorError(describeFaults(error));
    throw error;
  }
};

if (import.meta.main) await printOutcome(runRules(process.argv.slice(2)).then((text) => ({ text })));
