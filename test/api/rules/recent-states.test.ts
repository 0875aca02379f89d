// What a rule reads at an instant is the newest reading recorded up to it, compared with a search of the whole log (AG-03).
import t from 'tap';
import { LiveMemory } from '../../../api/live/memory.ts';
import { isBetweenInstants } from '../../../api/rules/instants.ts';
import { RecentStates } from '../../../api/rules/recent-states.ts';
import { codecs, decodeLiveHead } from '../../../schemas/avro/codec.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Reading } from '../../../schemas/topics.ts';
import { makeSteps, VENUE } from '../../support/services/joined-node.ts';
import { SECOND } from '../../support/tasks/task-driver.ts';

type Recorded = { readonly at: Micros; readonly reading: Reading | null };

const SECONDS_BACK = 29;
const EVERY_STEPS = 50;

t.test('the reading of every listing and layer at each whole second is that of the log', async (t) => {
  const live = new LiveMemory([VENUE]);
  const states = new RecentStates(live);
  live.beginAtStart(VENUE, 0);
  live.markReady(VENUE, 0);
  const log = new Map<string, Recorded[]>();
  let [compared, readings] = [0, 0];
  const wrong: string[] = [];
  const compare = (now: Micros): void => {
    const last = Math.floor(now / SECOND) * SECOND;
    const instants = Array.from({ length: SECONDS_BACK }, (_, i) => last - i * SECOND);
    for (const listing of live.venue(VENUE)?.listings.values() ?? [])
      for (const layer of READING_LAYERS)
        for (const at of instants.filter((instant) => instant >= states.from)) {
          const recorded = log.get(`${listing.venueSymbol}|${layer}`) ?? [];
          const wanted = recorded.findLast((one) => one.at <= at)?.reading ?? null;
          const found = states.readingAt(listing, layer, at);
          compared++;
          if (JSON.stringify(found) !== JSON.stringify(wanted)) wrong.push(`${listing.venueSymbol} ${layer} at ${at}`);
        }
  };
  for (const [i, step] of makeSteps(23, 300).entries()) {
    for (const bytes of step.live) {
      live.applyLive(VENUE, 0, bytes);
      const { kind, symbol, layer } = decodeLiveHead(bytes);
      if (kind !== 'reading' || symbol === null || layer === null) continue;
      readings++;
      const key = `${symbol}|${layer}`;
      const { reading } = codecs.live.decode(bytes);
      const held = log.get(key);
      if (held === undefined) log.set(key, [{ at: step.recordedAt, reading }]);
      else held.push({ at: step.recordedAt, reading });
    }
    if (i % EVERY_STEPS === 0) compare(step.recordedAt);
  }
  t.same(wrong, []);
  t.ok(compared > 1_000, `${compared} compared`);
  const noted = states.changes;
  t.ok(noted < readings, `${noted} kept of ${readings} readings`);
});

t.test('a reading that no whole second can see is not kept', async (t) => {
  const steps = makeSteps(23, 120);
  const live = new LiveMemory([VENUE]);
  const states = new RecentStates(live);
  live.beginAtStart(VENUE, 0);
  const seconds = new Map<string, Set<number>>();
  const newest = steps.at(-1)?.recordedAt ?? 0;
  for (const { live: entries, recordedAt } of steps)
    for (const bytes of entries) {
      live.applyLive(VENUE, 0, bytes);
      const { kind, symbol, layer } = decodeLiveHead(bytes);
      if (kind !== 'reading' || recordedAt <= newest - 30 * SECOND) continue;
      const key = `${symbol}|${layer}`;
      seconds.set(key, (seconds.get(key) ?? new Set()).add(Math.ceil(recordedAt / SECOND)));
    }
  const most = [...seconds.values()].reduce((sum, { size }) => sum + size, 0);
  t.ok(states.changes > 0 && states.changes <= most, `${states.changes} kept, one for each of ${most} seconds at most`);
});

t.test('the second of an instant: its start included, its end not', async (t) => {
  t.notOk(isBetweenInstants(5 * SECOND, 5 * SECOND + 1), 'recorded at the instant');
  t.ok(isBetweenInstants(5 * SECOND + 1, 6 * SECOND), 'replaced at the instant');
  t.notOk(isBetweenInstants(5 * SECOND + 1, 6 * SECOND + 1), 'held at the instant');
  t.ok(isBetweenInstants(5 * SECOND, 5 * SECOND), 'recorded together');
});
