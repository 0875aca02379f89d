// Faults of the simulators, each with its incident whose range is that of the gap rows (OP-01). The short form is at the end of truth.test.ts;
// here twenty in turn, on request, about fifteen minutes: npm test -- e2e/incidents (INCIDENT_FAULTS=n for another number)
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { FaultEntry } from '../../infra/dev/simulator/faults.ts';
import { simulatedVenues } from '../../infra/dev/simulator/venues/index.ts';
import { incidentFaults, reportedIncidents, type StoredIncident } from '../support/truth/gap-incidents.ts';
import { openRows, sealed } from '../support/truth/true-rows.ts';
import { nowMicros, startWorld, tally, type World } from '../support/truth/true-world.ts';

const VENUES = simulatedVenues.map(({ id }) => id);
const COUNT = Number(process.env['INCIDENT_FAULTS'] ?? 20);
const ROUNDS = Math.ceil(COUNT / VENUES.length);
/** Longer than two sampling windows, so that one of them is a gap for any position in a window. */
const LASTS_MS = 25_000;
/** Two faults of one venue are further apart than the longest window, or they would be one incident. */
const APART_MS = 100_000;
const SEALED_MS = 480_000;

type Kind = { readonly fault: Readonly<Record<string, unknown>>; readonly causes: readonly string[] };
/** One a round; the cause is the simulator's deed as the collector sees it. */
const KINDS: readonly Kind[] = [
  { fault: { kind: 'crossed_book', durationMs: LASTS_MS }, causes: ['crossed_book'] },
  {
    fault: { kind: 'disconnect', stream: 'book', count: 100, durationMs: LASTS_MS },
    causes: ['connection_lost', 'venue_down'],
  },
  { fault: { kind: 'silence', durationMs: LASTS_MS }, causes: ['no_update', 'connection_lost', 'sequence_break'] },
  { fault: { kind: 'restart', durationMs: LASTS_MS }, causes: ['connection_lost', 'venue_down'] },
];

type Injected = { readonly entry: FaultEntry; readonly causes: readonly string[] };

const injectAll = async (world: World): Promise<readonly Injected[]> => {
  const injected: Injected[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, venue] of VENUES.entries()) {
      const kind = KINDS[(round + i) % KINDS.length];
      if (kind === undefined || injected.length >= COUNT) continue;
      const entry = (await world.simulator.fault({ venue, ...kind.fault })) as FaultEntry;
      injected.push({ entry, causes: kind.causes });
    }
    await pause(LASTS_MS + APART_MS);
  }
  return injected;
};

/** Microseconds about a fault in which its gap rows may begin: the longest window, a minute, and the recovery. */
const NEAR = 65_000_000;
const isCausedBy = ({ venue, from, to, cause }: StoredIncident, { entry, causes }: Injected): boolean =>
  venue === entry.venue &&
  causes.includes(cause) &&
  from >= entry.from - NEAR &&
  from <= entry.from + LASTS_MS * 1_000 + NEAR &&
  to >= entry.from;

const checkAll = async (t: Test, world: World, injected: readonly Injected[]): Promise<void> => {
  const { rows, close } = openRows(world);
  t.teardown(close);
  await sealed(rows, world.market, nowMicros(), SEALED_MS);
  const found = await reportedIncidents(t, world);
  t.comment(
    `${found.incidents.length} incidents: ${tally(found.incidents.map(({ cause }) => cause))}; ${found.rows.length} gap rows`,
  );
  t.same(incidentFaults(found), [], 'ranges and layers are those of the gap rows');
  for (const one of injected) {
    const own = found.incidents.filter((incident) => isCausedBy(incident, one));
    t.ok(
      own.length > 0,
      `${one.entry.venue} ${one.entry.kind}: ${own.map(({ cause, from, to }) => `${cause} ${(to - from) / 1e6} s`).join(', ')}`,
    );
  }
};

t.setTimeout(ROUNDS * (LASTS_MS + APART_MS) + SEALED_MS + 300_000);

t.test(`${COUNT} faults, each with its incident`, async (t) => {
  const world = await startWorld(t, { venues: VENUES, listings: 3 });
  await pause(APART_MS);
  const injected = await injectAll(world);
  t.equal(injected.length, COUNT);
  await checkAll(t, world, injected);
});
