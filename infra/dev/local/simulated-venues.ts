// Starts the simulated venues of a local run and reads their addresses.
import { isJsonObject, parseJson } from '../../../schemas/json-object.ts';
import type { ProcessSpec } from '../engines/supervisor.ts';
import { listSmallProcessArguments, type Ports } from './processes.ts';

type SimulatedVenues = {
  readonly venues: readonly string[];
  /** SIM_*. */
  readonly settings?: Readonly<Record<string, string>>;
};

export async function startSimulator(
  { venues, settings }: SimulatedVenues,
  ports: Ports,
  begin: (spec: ProcessSpec) => Promise<void>,
): Promise<{ env: Record<string, string>; control: string }> {
  let announced: { endpoints: unknown; control: string } | null = null;
  await begin({
    name: 'simulator',
    command: process.execPath,
    args: listSmallProcessArguments('infra/dev/simulator/main.ts'),
    // A port that survives a restart: the collectors receive the addresses once.
    env: { SIM_VENUES: venues.join(','), ...settings, SIM_PORT: String(ports.SIM_PORT) },
    isReady: async () => announced !== null,
    onLine: (line) => {
      announced ??= parseAnnouncement(line);
    },
  });
  // Ready means announced; the compiler cannot see the assignment in the callback.
  const { endpoints, control } = announced as unknown as { endpoints: unknown; control: string };
  return { env: { VENUE_ENDPOINTS: JSON.stringify(endpoints) }, control };
}

function parseAnnouncement(line: string): { endpoints: unknown; control: string } | null {
  const said = parseJson(line);
  if (!isJsonObject(said) || !('endpoints' in said) || !('control' in said)) return null;
  return { endpoints: said['endpoints'], control: String(said['control']) };
}
