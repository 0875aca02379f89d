// The nightly runner: runs each step of each day when it is due, or one by hand (`npm run nightly`).
import { POSTGRES_AWAY, watchReachable } from '../infra/runtime/network/reachable.ts';
import { canWrite } from '../infra/runtime/postgres/postgres.ts';
import { type Environment, readConfig } from '../infra/runtime/process/config.ts';
import { runProcess, type Stop } from '../infra/runtime/process/lifecycle.ts';
import { createLog } from '../infra/runtime/process/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/process/metrics.ts';
import { isHelpAsked, printOutcome } from '../infra/runtime/process/print-outcome.ts';
import { withRunningService } from '../infra/runtime/process/running-service.ts';
import { refuseWrongClock } from './nightly/clock.ts';
import { formatUsage, parseCommandLine, runCommand, UsageError } from './nightly/command.ts';
import { NIGHTLY_CONFIG } from './nightly/config.ts';
import { openLedger } from './nightly/ledger.ts';
import { openContext } from './nightly/open-context.ts';
import { startRunner } from './nightly/runner.ts';
import { STEPS } from './nightly/steps/index.ts';

const startScheduled = async (): Promise<Stop> => {
  const registry = createMetrics();
  const { context, close } = await openContext(process.env, registry, {
    log: createLog('nightly'),
    progress: () => undefined,
  });
  const runner = startRunner(STEPS, openLedger(context.database), context);
  const isReachable = watchReachable(() => canWrite(context.database));
  const unready = async (): Promise<readonly string[]> => [
    ...((await isReachable()) ? [] : [POSTGRES_AWAY]),
    ...runner.problems(),
  ];
  const { METRICS_HOST: host, METRICS_PORT: port } = readConfig(NIGHTLY_CONFIG, process.env);
  const server = await serveMetrics(registry, port, { host, unready });
  return async () => {
    await runner.stop();
    await server.close();
    await close();
  };
};

/** Settings of the environment, or of the local run on this machine. */
const findSettings = (env: Environment): Environment => {
  const found = withRunningService(env);
  if (found === null)
    throw new UsageError('no database: set DATABASE_URL and QUESTDB_PG, or run `npm run demo` in another terminal');
  return found;
};

const runByHand = async (argv: readonly string[]): Promise<string> => {
  if (isHelpAsked(argv)) return formatUsage(STEPS);
  parseCommandLine(argv, STEPS);
  // For an interactive user the lines of progress replace the log.
  const env = findSettings(process.env);
  const printLine = (line: string): void => void process.stderr.write(`${line}\n`);
  const { context, close } = await openContext(env, createMetrics(), {
    log: createLog('nightly', 'error'),
    progress: printLine,
  });
  try {
    if (!argv.includes('--list')) await refuseWrongClock(context);
    return await runCommand(argv, { steps: STEPS, ledger: openLedger(context.database), context });
  } finally {
    await close();
  }
};

if (process.argv.length <= 2) runProcess('nightly', startScheduled);
else await printOutcome(runByHand(process.argv.slice(2)).then((text) => ({ text })));
