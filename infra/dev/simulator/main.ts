// The simulated venues as a process: prints one JSON line with its endpoints, then advances the market until it is stopped.
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { readConfig } from '../../runtime/process/config.ts';
import { runProcess } from '../../runtime/process/lifecycle.ts';
import { SIMULATOR_CONFIG } from './config.ts';
import { type FaultRequest, parseFault } from './faults.ts';
import { startSimulator } from './simulator.ts';

/** `--faults plan.json`: a list of fault requests with `afterMs`. */
async function readPlan(path: string | undefined, venues: readonly string[]): Promise<readonly FaultRequest[]> {
  if (path === undefined) return [];
  const plan: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (!Array.isArray(plan)) throw new TypeError(`${path} must be a list of faults`);
  return plan.map((fault) => parseFault(fault, venues));
}

runProcess('simulator', async () => {
  const { values } = parseArgs({ options: { faults: { type: 'string' } } });
  const config = readConfig(SIMULATOR_CONFIG, process.env);
  const simulator = await startSimulator({
    port: config.SIM_PORT,
    venues: config.SIM_VENUES,
    seed: config.SIM_SEED,
    listings: config.SIM_LISTINGS,
    ...(config.SIM_RATE === null ? {} : { rate: config.SIM_RATE }),
    stepS: config.SIM_STEP_S,
    levels: config.SIM_LEVELS,
    limits: { weightPerMinute: config.SIM_WEIGHT },
    truthRows: config.SIM_TRUTH_ROWS,
    logPath: config.SIM_LOG,
    plan: await readPlan(values.faults, config.SIM_VENUES),
  });
  process.stdout.write(`${JSON.stringify({ endpoints: simulator.endpoints, control: simulator.control })}\n`);
  return simulator.stop;
});
