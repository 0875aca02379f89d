// `npm run keys -- create|list|revoke|plan ...`: API keys by command, for operators; `key_events` records every change.
import type { Pool } from 'pg';
import { isPlanCode, PLAN_CODES, type PlanCode } from '../../api/contract/plans.ts';
import { parseDuration } from '../../schemas/durations.ts';
import { parseInstant } from '../../schemas/instants.ts';
import { runOnDatabase } from '../postgres/migrate.ts';
import { type ConfigSpec, type Environment, readConfig } from '../runtime/process/config.ts';
import { isHelpAsked, printOutcome } from '../runtime/process/print-outcome.ts';
import { withRunningService } from '../runtime/process/running-service.ts';
import { describeCommandLine, NO_DATABASE, OperatorError } from './command-line.ts';
import { changePlan, createKey, type KeyEntry, listKeys, revokeKey } from './key-admin.ts';

const USAGE = `usage: npm run keys -- COMMAND [--json] [--by NAME]
  create --plan ${PLAN_CODES.join('|')} --name NAME [--account ID] [--expires 30d|INSTANT]
  list [--account ID]
  revoke KEY_ID
  plan KEY_ID ${PLAN_CODES.join('|')}
The database is that of DATABASE_URL, or of a running service (.local/endpoints.json).`;

/** End of the range of instants (N-03). A duration may be longer than dates reach. */
const LATEST_MS = Date.UTC(2100, 0, 1);

const OPTIONS = {
  plan: { type: 'string' },
  name: { type: 'string' },
  account: { type: 'string' },
  expires: { type: 'string' },
  by: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

const { parseArguments, requireText } = describeCommandLine(USAGE, OPTIONS);

type Output = { readonly json: unknown; readonly text: string };
type Arguments = ReturnType<typeof parseArguments>;
type Command = (pool: Pool, args: Arguments, actor: string) => Promise<Output>;

const parsePlan = (text: string | undefined): PlanCode => {
  if (text !== undefined && isPlanCode(text)) return text;
  throw new OperatorError(`"${text ?? ''}" is not a plan; use one of ${PLAN_CODES.join(', ')}`);
};

const parseExpiry = (text: string | undefined, nowMs: number): Date | null => {
  if (text === undefined) return null;
  const durationMs = parseDuration(text);
  const instant = parseInstant(text);
  const atMs = durationMs !== null ? nowMs + durationMs : instant !== null ? instant / 1_000 : null;
  if (atMs === null) throw new OperatorError(`"${text}" is neither a duration such as 30d nor an instant`);
  if (atMs <= nowMs) throw new OperatorError(`"${text}" is not in the future`);
  if (atMs > LATEST_MS) throw new OperatorError(`"${text}" is after 2100; a key without --expires does not end`);
  return new Date(atMs);
};

const formatLine = ({
  key_id,
  display,
  plan,
  state,
  account_id,
  name,
  expires_at,
  compromised_at,
}: KeyEntry): string => {
  const notes = [
    ...(expires_at === null ? [] : [`expires ${expires_at.toISOString()}`]),
    ...(compromised_at === null ? [] : ['seen in a URL: replace it']),
  ];
  return [key_id, display, plan.padEnd(8), state.padEnd(7), account_id, name, ...notes].join('  ');
};

const formatOne = (entry: KeyEntry): Output => ({ json: entry, text: formatLine(entry) });

const COMMANDS: Readonly<Record<string, Command>> = {
  create: async (pool, { values }, actor) => {
    const made = {
      plan: parsePlan(values.plan),
      name: requireText(values.name, '--name'),
      accountId: values.account ?? 'acc_operator',
      expiresAt: parseExpiry(values.expires, Date.now()),
    };
    const { key, entry } = await createKey(pool, made, actor);
    return { json: { ...entry, key }, text: `${formatLine(entry)}\n${key}   (shown once)` };
  },
  list: async (pool, { values }) => {
    const entries = await listKeys(pool, values.account ?? null);
    return { json: entries, text: entries.length === 0 ? 'no keys' : entries.map(formatLine).join('\n') };
  },
  revoke: async (pool, { positionals }, actor) =>
    formatOne(await revokeKey(pool, requireText(positionals[1], 'KEY_ID'), actor)),
  plan: async (pool, { positionals }, actor) =>
    formatOne(
      await changePlan(pool, { keyId: requireText(positionals[1], 'KEY_ID'), plan: parsePlan(positionals[2]) }, actor),
    ),
};

const CONFIG = {
  DATABASE_URL: { type: 'url', secret: true, description: 'PostgreSQL with accounts and keys.' },
} as const satisfies ConfigSpec;

/** Runs one command line; returns the text to print. Throws OperatorError for an error that the operator can correct. */
export const runKeys = async (argv: readonly string[], env: Environment): Promise<string> => {
  if (isHelpAsked(argv)) return USAGE;
  const args = parseArguments(argv);
  const command = COMMANDS[args.positionals[0] ?? ''];
  if (command === undefined) throw new OperatorError(USAGE);
  const settings = withRunningService(env);
  if (settings === null) throw new OperatorError(NO_DATABASE);
  return runOnDatabase({ url: readConfig(CONFIG, settings).DATABASE_URL, max: 1 }, async (pool) => {
    const { json, text } = await command(pool, args, args.values.by ?? env['USER'] ?? 'operator');
    return args.values.json ? JSON.stringify(json, null, 2) : text;
  });
};

if (import.meta.main) await printOutcome(runKeys(process.argv.slice(2), process.env).then((text) => ({ text })));
