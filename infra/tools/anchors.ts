// `npm run anchors -- deploy|post|check|list`: commands for operators for the anchor contract and the posting of day roots.
import { parseArgs } from 'node:util';
import { Registry } from 'prom-client';
import { findDayStart, isDay } from '../../processors/nightly/day.ts';
import { createNightlyMetrics } from '../../processors/nightly/metrics.ts';
import { anchorDay } from '../../processors/nightly/steps/anchor/anchor.ts';
import { ANCHOR_CONFIG } from '../../processors/nightly/steps/anchor/config.ts';
import { deployContract } from '../../processors/nightly/steps/anchor/deploy.ts';
import {
  type ClosedDay,
  isSettled,
  readClosedDay,
  readClosedDays,
} from '../../processors/nightly/steps/anchor/post-day.ts';
import { openChain, openOwner } from '../../processors/nightly/steps/anchor/poster.ts';
import { MS_PER_DAY } from '../../schemas/instants.ts';
import { describeError } from '../../schemas/thrown.ts';
import { runOnDatabase } from '../postgres/migrate.ts';
import { ARCHIVE_CONFIG, openArchiveStore } from '../runtime/files/archive-store.ts';
import { type ConfigSpec, type Environment, readConfig } from '../runtime/process/config.ts';
import { createLog } from '../runtime/process/log.ts';
import { isHelpAsked, printOutcome } from '../runtime/process/print-outcome.ts';
import { withRunningService } from '../runtime/process/running-service.ts';
import { checkAnchors, type Kept } from './check-anchors.ts';
import { NO_DATABASE, OperatorError } from './command-line.ts';
import { listAnchors } from './list-anchors.ts';

const USAGE = `usage: npm run anchors -- COMMAND
  deploy               the contract of ANCHOR_OWNER_KEY on the chain of RPC_URL, once; prints its address
  post [DAY] [--early] the root of a closed day, or of every closed day that is due and not confirmed;
                       --early: before D+7 02:00 UTC, where the anchor does not bind
  check [DAY]          compares kept trees, recorded roots and statuses with the chain; exit code 1 where they differ
  list                 closed days and how far their anchors are
Settings: DATABASE_URL, RPC_URL, ANCHOR_CONTRACT, ANCHOR_OWNER_KEY, ARCHIVE_*; else those of a running service (.local/endpoints.json).`;

const CONFIG = {
  DATABASE_URL: { type: 'url', secret: true, description: 'PostgreSQL with the closed days.' },
  ...ANCHOR_CONFIG,
  ...ARCHIVE_CONFIG,
} as const satisfies ConfigSpec;

type PostOptions = { readonly day: string | null; readonly early: boolean };
type Output = { readonly text: string; readonly failed: boolean };
type Tools = Kept & { readonly nowMs: () => number };
type Command = (asked: PostOptions, tools: Tools) => Promise<Output>;

const DUE_MS = 7 * MS_PER_DAY + 2 * 3_600_000;
const makeOutput = (text: string): Output => ({ text, failed: false });

const deploy: Command = async (_, { database, anchors, nowMs }) => {
  const chain = await openChain(anchors);
  const owner = openOwner(anchors.ownerKey);
  const poster = { chain, owner, nowMs, reached: () => undefined, count: () => undefined };
  const { contract, block, isNew } = await deployContract(database, poster);
  return makeOutput(
    [
      isNew ? `deployed in block ${block}` : `deployed before${block === null ? '' : ` in block ${block}`}`,
      `network   ${chain.network}, first block ${chain.genesisHash}${chain.binding ? '' : ': not Base, nothing binds'}`,
      `owner     ${owner.address.toLowerCase()}`,
      `ANCHOR_CONTRACT=${contract}`,
    ].join('\n'),
  );
};

const requireClosed = async (day: string, { database }: Tools): Promise<ClosedDay> => {
  const closed = await readClosedDay(database, day);
  if (closed === null) throw new OperatorError(`${day} is not closed, or has no rows; \`list\` shows closed days`);
  return closed;
};

const refuseUndue = (day: string, { nowMs }: Tools): void => {
  const dueMs = findDayStart(day) + DUE_MS;
  if (nowMs() < dueMs) throw new OperatorError(`${day} is due at ${new Date(dueMs).toISOString()}`);
};

/** `--early` posts before D+7 02:00 UTC only where the anchor does not bind (AN-12). */
const refuseBinding = async (day: string, { anchors, nowMs }: Tools): Promise<void> => {
  if (nowMs() < findDayStart(day) + DUE_MS && (await openChain(anchors)).binding)
    throw new OperatorError(`the anchor binds: ${day} is not posted before it is due`);
};

const listDueDays = async ({ database, anchors, nowMs }: Tools): Promise<ClosedDay[]> => {
  const chain = await openChain(anchors);
  const due: ClosedDay[] = [];
  for (const closed of await readClosedDays(database))
    if (nowMs() >= findDayStart(closed.day) + DUE_MS && !(await isSettled(closed, chain))) due.push(closed);
  return due;
};

const post: Command = async ({ day, early }, tools) => {
  if (day !== null && early) await refuseBinding(day, tools);
  else if (day !== null) refuseUndue(day, tools);
  const days = day === null ? await listDueDays(tools) : [await requireClosed(day, tools)];
  const { database, anchors, nowMs } = tools;
  const metrics = createNightlyMetrics(new Registry());
  const lines: string[] = [];
  let failed = false;
  for (const closed of days) {
    try {
      lines.push(
        `${closed.day}  ${await anchorDay(closed, { database, anchors, nowMs, metrics, log: createLog('anchors', 'silent') })}`,
      );
    } catch (error) {
      failed = true;
      lines.push(`${closed.day}  not posted: ${describeError(error)}`);
    }
  }
  return { text: lines.length === 0 ? 'nothing is due' : lines.join('\n'), failed };
};

const COMMANDS: Readonly<Record<string, Command>> = {
  deploy,
  post,
  check: async ({ day }, tools) => {
    const days = day === null ? await readClosedDays(tools.database) : [await requireClosed(day, tools)];
    const lines = await checkAnchors(days, tools);
    return { text: lines.map(({ text }) => text).join('\n'), failed: lines.some(({ isFault }) => isFault) };
  },
  list: async (_, { database }) => makeOutput(await listAnchors(database)),
};

const parse = (argv: readonly string[]): { readonly command: Command; readonly asked: PostOptions } => {
  try {
    const options = { early: { type: 'boolean', default: false } } as const;
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const [name = '', day = null, ...rest] = positionals;
    const command = COMMANDS[name];
    if (command === undefined || rest.length > 0)
      throw new Error(name === '' ? 'no command' : `"${positionals.join(' ')}" is not a command`);
    if (day !== null && !isDay(day)) throw new Error(`"${day}" is not a day such as 2026-01-15`);
    return { command, asked: { day, early: values.early } };
  } catch (error) {
    throw new OperatorError(`${describeError(error)}\n${USAGE}`);
  }
};

/** Runs one command line; returns the text to print, and whether there is a fault. */
export const runAnchors = async (argv: readonly string[], env: Environment): Promise<Output> => {
  if (isHelpAsked(argv)) return makeOutput(USAGE);
  const { command, asked } = parse(argv);
  const settings = withRunningService(env);
  if (settings === null) throw new OperatorError(NO_DATABASE);
  const config = readConfig(CONFIG, settings);
  const { RPC_URL: rpcUrl, ANCHOR_CONTRACT: contract, ANCHOR_OWNER_KEY: ownerKey } = config;
  const anchors = { rpcUrl, contract, ownerKey };
  return runOnDatabase({ url: config.DATABASE_URL, max: 3 }, (database) =>
    command(asked, { database, anchors, store: openArchiveStore(config), nowMs: Date.now }),
  );
};

if (import.meta.main) await printOutcome(runAnchors(process.argv.slice(2), process.env));
