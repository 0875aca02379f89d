// `npm run payments -- list|show|reconcile|blocked ...`: payments and blocked payers by command, for operators.
import type { Pool } from 'pg';
import type { Address } from 'viem';
import { API_CONFIG } from '../../api/config.ts';
import { parseDuration } from '../../schemas/durations.ts';
import { runOnDatabase } from '../postgres/migrate.ts';
import { type Config, type ConfigSpec, type Environment, readConfig } from '../runtime/process/config.ts';
import { isHelpAsked, printOutcome } from '../runtime/process/print-outcome.ts';
import { withRunningService } from '../runtime/process/running-service.ts';
import { describeCommandLine, NO_DATABASE, OperatorError } from './command-line.ts';
import {
  type BlockedPayer,
  blockPayer,
  listBlocked,
  listPayments,
  type PaymentDetails,
  type PaymentRow,
  showPayment,
  unblockPayer,
} from './payment-admin.ts';
import { reconcilePayments } from './reconcile-payments.ts';

const USAGE = `usage: npm run payments -- COMMAND [--json]
  list [--state STATE] [--payer ADDRESS] [--limit 50]   newest first
  show RECEIPT                     everything that is kept of one payment
  reconcile [--since 1d]           compares the ledger with the chain both ways; exit code 1 where they differ
  blocked                          payers whose payments are refused
  blocked add PAYER [--for 1d]     refuses the payments of a payer
  blocked remove PAYER
Settings: DATABASE_URL, PAYMENT_RPC_URL, PAYMENT_PAY_TO, PAYMENT_ASSET; else those of a running service (.local/endpoints.json).`;

const OPTIONS = {
  state: { type: 'string' },
  payer: { type: 'string' },
  limit: { type: 'string', default: '50' },
  since: { type: 'string', default: '1d' },
  for: { type: 'string', default: '1d' },
  json: { type: 'boolean', default: false },
} as const;

const { parseArguments, requireText } = describeCommandLine(USAGE, OPTIONS);

const CONFIG = {
  DATABASE_URL: API_CONFIG.DATABASE_URL,
  PAYMENT_RPC_URL: API_CONFIG.PAYMENT_RPC_URL,
  PAYMENT_PAY_TO: API_CONFIG.PAYMENT_PAY_TO,
  PAYMENT_ASSET: API_CONFIG.PAYMENT_ASSET,
} as const satisfies ConfigSpec;

type Arguments = ReturnType<typeof parseArguments>;
type Output = { readonly json: unknown; readonly text: string; readonly failed?: boolean };
type Tools = { readonly pool: Pool; readonly config: Config<typeof CONFIG> };
type Command = (args: Arguments, tools: Tools) => Promise<Output>;

const toMs = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === null || ms <= 0) throw new OperatorError(`"${text}" is not a duration such as 12h`);
  return ms;
};

const toLimit = (text: string): number => {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new OperatorError(`"${text}" is not a number of rows`);
};

/** `5000` is `0.005`. */
const toUsdc = (atomic: string | bigint): string => {
  const digits = String(atomic).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '');
};

const formatLine = ({
  receipt_id,
  state,
  payer,
  amount,
  class: of,
  plan,
  transaction,
  presented_at,
}: PaymentRow): string =>
  [
    ...[presented_at.toISOString(), receipt_id, state.padEnd(9), `${toUsdc(amount)} USDC`.padEnd(12)],
    ...[(of ?? `plan ${plan}`).padEnd(14), payer, transaction ?? '-'],
  ].join('  ');

const formatMembers = (details: PaymentDetails): string =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(13)} ${value instanceof Date ? value.toISOString() : value}`)
    .join('\n');

const formatBlocked = ({ payer, blocked_at, blocked_until }: BlockedPayer): string =>
  `${payer}  since ${blocked_at.toISOString()}, until ${blocked_until.toISOString()}`;

const BLOCKED: Readonly<Record<string, Command>> = {
  list: async (_, { pool }) => {
    const rows = await listBlocked(pool);
    return { json: rows, text: rows.length === 0 ? 'no payer is blocked' : rows.map(formatBlocked).join('\n') };
  },
  add: async ({ values, positionals }, { pool }) => {
    const row = await blockPayer(pool, requireText(positionals[2], 'PAYER'), toMs(values.for) / 1_000);
    return { json: row, text: formatBlocked(row) };
  },
  remove: async ({ positionals }, { pool }) => {
    const payer = requireText(positionals[2], 'PAYER');
    await unblockPayer(pool, payer);
    return { json: { payer }, text: `${payer} may pay again` };
  },
};

const reconcile: Command = async ({ values }, { pool, config }) => {
  const { PAYMENT_RPC_URL: rpcUrl, PAYMENT_PAY_TO: payTo, PAYMENT_ASSET: asset } = config;
  if (rpcUrl === null || payTo === null)
    throw new OperatorError('no chain to compare with: set PAYMENT_RPC_URL and PAYMENT_PAY_TO');
  const settings = { rpcUrl, payTo: payTo as Address, asset: asset as Address };
  const { findings, ...sums } = await reconcilePayments(pool, settings, Date.now() - toMs(values.since));
  const { settled, settledAmount, transfers, transferredAmount } = sums;
  const lines = [
    `ledger  ${settled} payments, ${toUsdc(settledAmount)} USDC`,
    `chain   ${transfers} payments, ${toUsdc(transferredAmount)} USDC`,
    ...findings.map(({ isFault, text }) => `${isFault ? 'DIFFERS' : 'open   '} ${text}`),
  ];
  const json = {
    findings,
    settled,
    transfers,
    settled_amount: String(settledAmount),
    transferred_amount: String(transferredAmount),
  };
  return { json, text: lines.join('\n'), failed: findings.some(({ isFault }) => isFault) };
};

const COMMANDS: Readonly<Record<string, Command>> = {
  list: async ({ values: { state = null, payer = null, limit } }, { pool }) => {
    const rows = await listPayments(pool, { state, payer, limit: toLimit(limit) });
    return { json: rows, text: rows.length === 0 ? 'no payments' : rows.map(formatLine).join('\n') };
  },
  show: async ({ positionals }, { pool }) => {
    const details = await showPayment(pool, requireText(positionals[1], 'RECEIPT'));
    return { json: details, text: formatMembers(details) };
  },
  reconcile,
  blocked: (args, tools) => {
    const command = BLOCKED[args.positionals[1] ?? 'list'];
    if (command === undefined) throw new OperatorError(USAGE);
    return command(args, tools);
  },
};

/** Runs one command line; returns the text to print, and whether ledger and chain differ. Throws OperatorError for what can be corrected. */
export const runPayments = async (
  argv: readonly string[],
  env: Environment,
): Promise<{ readonly text: string; readonly failed: boolean }> => {
  if (isHelpAsked(argv)) return { text: USAGE, failed: false };
  const args = parseArguments(argv);
  const command = COMMANDS[args.positionals[0] ?? ''];
  if (command === undefined) throw new OperatorError(USAGE);
  const settings = withRunningService(env);
  if (settings === null) throw new OperatorError(NO_DATABASE);
  const config = readConfig(CONFIG, settings);
  return runOnDatabase({ url: config.DATABASE_URL, max: 2 }, async (pool) => {
    const { json, text, failed = false } = await command(args, { pool, config });
    return { text: args.values.json ? JSON.stringify(json, null, 2) : text, failed };
  });
};

if (import.meta.main) await printOutcome(runPayments(process.argv.slice(2), process.env));
