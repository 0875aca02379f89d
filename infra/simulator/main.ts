// The simulated venues as a process: prints one JSON line with its endpoints, then moves the market until it is stopped.
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { readConfig } from '../runtime/config.ts';
import { runProcess } from '../runtime/lifecycle.ts';
import { type FaultRequest, parseFault } from './faults.ts';
import { startSimulator } from './simulator.ts';

const SPEC = {
  SIM_PORT: { type: 'integer', default: 0, description: 'Loopback port; 0 takes a free one.' },
  SIM_SEED: {
    type: 'integer',
    default: 1,
    description: 'Seed of the market: the same seed and clock give the same frames.',
  },
  SIM_LISTINGS: {
    type: 'integer',
    default: 50,
    description: 'Perpetuals listed, a fifth of them COIN-M (at most ten).',
  },
  SIM_RATE: { type: 'integer', default: 300, description: 'Frames a second over all streams.' },
  SIM_LEVELS: { type: 'integer', default: 300, description: 'Book levels a side.' },
  SIM_WEIGHT: {
    type: 'integer',
    default: 2_400,
    description: 'REST weight a minute; load runs raise it to sync many books at once.',
  },
  SIM_LOG: { type: 'string', default: null, description: 'File for every fault and row of truth, one JSON a line.' },
} as const;

/** `--faults plan.json`: a list of fault requests with `afterMs`. */
async function readPlan(path: string | undefined): Promise<readonly FaultRequest[]> {
  if (path === undefined) return [];
  const plan: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (!Array.isArray(plan)) throw new TypeError(`${path} must be a list of faults`);
  return plan.map(parseFault);
}

runProcess('simulator', async () => {
  const { values } = parseArgs({ options: { faults: { type: 'string' } } });
  const config = readConfig(SPEC, process.env);
  const simulator = await startSimulator({
    port: config.SIM_PORT,
    seed: config.SIM_SEED,
    listings: config.SIM_LISTINGS,
    rate: config.SIM_RATE,
    levels: config.SIM_LEVELS,
    limits: { weightPerMinute: config.SIM_WEIGHT },
    logPath: config.SIM_LOG,
    plan: await readPlan(values.faults),
  });
  process.stdout.write(`${JSON.stringify({ endpoints: simulator.endpoints, control: simulator.control })}\n`);
  return simulator.stop;
});
