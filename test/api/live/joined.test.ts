// A node that starts anywhere in a log and later reads the part before it has the same state as one that received everything; and its answers
// about the present are right before (design section 5, "An API node").
import { Writable } from 'node:stream';
import t, { type Test } from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { type LiveMemory, NO_PARTITIONS } from '../../../api/live/memory.ts';
import { findLoss } from '../../../api/live/partition.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { RecentStates } from '../../../api/rules/recent-states.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { readRequest } from '../../../api/stream/request.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { ALL_LAYERS } from '../../../schemas/layers/index.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import { JoinedNode, makeSteps, type Step, VENUE } from '../../support/services/joined-node.ts';
import { parseFrames, type StreamEvent } from '../../support/services/stream-client.ts';
import { SECOND, START } from '../../support/tasks/task-driver.ts';

const SECONDS = 900;
const RESUMED_WITHIN: Micros = 300 * SECOND;
const RULES_KEPT: Micros = 30 * SECOND;
const SEED = 11;
const findStep = (steps: readonly Step[], second: number): number => {
  const found = steps.findIndex(({ recordedAt }) => recordedAt >= START + second * SECOND);
  return found < 0 ? steps.length : found;
};

/** Keeps what a copy applies. */
const createKeeper = (clock: { now: Micros }) => (live: LiveMemory) => ({
  hub: new StreamHub({ live, nowMicros: () => clock.now }),
  states: new RecentStates(live),
});
type Node = JoinedNode<ReturnType<ReturnType<typeof createKeeper>>>;

/** Events that a client receives at once when it opens a stream. */
const openStream = (hub: StreamHub, live: LiveMemory, lastEventId: string | null, now: Micros): StreamEvent[] => {
  const plan = PLANS.pro_plus;
  const input = { layers: 'mark,funding,ticker,liquidation,candles' };
  const names = readNames(undefined, live);
  const choice = { venues: null, instruments: null };
  const events: StreamEvent[] = [];
  const out = new Writable({
    write(text, _encoding, done) {
      events.push(...parseFrames(String(text)));
      done();
    },
  });
  const request = readRequest({ input, names }, { live, plan, choice, at: now });
  const findKey = async () => 'unreachable' as const;
  const stream = hub.open({
    account: { keyId: 'key', plan },
    request,
    lastEventId,
    out,
    findKey,
    isInScope: () => true,
  });
  const listEvents = [...events];
  stream.drop();
  return listEvents;
};

/** Without the names of the stream itself. */
const withoutStreamIds = (events: readonly StreamEvent[]) =>
  events.map(({ id, event, data }) => [id, event, { ...data, stream_id: null, buffer_from: null }]);

/** What is said of each listing, in its order: tasks are read side by side, so their entries come in any order, and ids name it. */
const groupByListing = (events: readonly StreamEvent[]) =>
  [...Map.groupBy(events, ({ data }) => String(data.venue_symbol))]
    .map(([symbol, of]) => [symbol, withoutStreamIds(of.map((event) => ({ ...event, id: '' })))] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));

const listReadings = (live: LiveMemory) =>
  [...(live.venue(VENUE)?.listings.values() ?? [])].map(({ venueSymbol, readings }) => [
    venueSymbol,
    READING_LAYERS.map((layer) => readings.get(layer)),
  ]);

type FromOf = (venueSymbol: string) => Micros;
const listRows = (live: LiveMemory, fromOf: FromOf) =>
  [...(live.venue(VENUE)?.listings.keys() ?? [])].flatMap((symbol) =>
    [...ALL_LAYERS.map(({ table }) => table)].flatMap((table) =>
      [...live.recentRows(VENUE, table, symbol)]
        .filter(({ end }) => end > fromOf(symbol))
        .map(({ row, sealed }) => ({ row, sealed })),
    ),
  );

const listLosses = (live: LiveMemory, rows: ReturnType<typeof listRows>) =>
  rows.map(({ row: { texts, instants } }) => {
    const reading = { conn_id: texts.conn ?? '', received_at: instants.received_at ?? 0 };
    const symbol = texts.listing?.split(':')[1] ?? '';
    return findLoss(live.venue(VENUE)?.partitions ?? NO_PARTITIONS, symbol, reading);
  });

const listStates = (live: LiveMemory, states: RecentStates, instants: readonly Micros[]) =>
  instants.map((at) =>
    [...(live.venue(VENUE)?.listings.values() ?? [])].map((listing) =>
      READING_LAYERS.map((layer) => {
        const reading = states.readingAt(listing, layer, at);
        return [reading, states.lostAt(listing, reading, at)];
      }),
    ),
  );

/** Of megabytes only the first different place is shown. */
const same = (t: Test, found: unknown, wanted: unknown, what: string): void => {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one === other) return;
  let at = 0;
  while (one[at] === other[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 200), at + 200);
  t.equal(around(one), around(other), what);
};

const sameNow = (t: Test, { node, whole }: Node, what: string): void => {
  same(t, listReadings(node), listReadings(whole), `${what}: readings`);
  same(t, node.watermark(VENUE), whole.watermark(VENUE), `${what}: W`);
  same(t, node.venue(VENUE)?.capabilities.at(-1), whole.venue(VENUE)?.capabilities.at(-1), `${what}: capability`);
};

const samePast = (t: Test, joined: Node, what: string): void => {
  const { node, whole, kept, now } = joined;
  const fromOf: FromOf = (venueSymbol) => node.recentFrom({ venue: VENUE, venueSymbol });
  const rows = listRows(whole, fromOf);
  same(t, listRows(node, fromOf), rows, `${what}: rows`);
  same(t, listLosses(node, rows), listLosses(whole, rows), `${what}: losses`);
  // Rules are evaluated at whole seconds.
  const last = Math.floor(now / SECOND) * SECOND;
  const instants = Array.from({ length: 31 }, (_, i) => last - i * SECOND).filter((at) => at >= kept.node.states.from);
  same(
    t,
    listStates(node, kept.node.states, instants),
    listStates(whole, kept.whole.states, instants),
    `${what}: states`,
  );
  t.ok(kept.node.states.from <= Math.max(kept.whole.states.from, now - RULES_KEPT), `${what}: states are kept as long`);
};

const beginAnywhere = async (t: Test, shards: number, rounds: number): Promise<void> => {
  const steps = makeSteps(SEED, SECONDS, shards);
  const { below: random } = createRandom(SEED);
  const compared = shards === 1 ? withoutStreamIds : groupByListing;
  let resumed = 0;
  for (let round = 0; round < rounds; round++) {
    const clock = { now: START };
    const joined: Node = new JoinedNode(steps, createKeeper(clock));
    const { node, whole, kept } = joined;
    const goTo = (step: number): void => {
      joined.goTo(Math.min(steps.length, step));
      clock.now = joined.now;
    };
    const listEvents = (live: 'whole' | 'node', id: string) =>
      compared(openStream(kept[live].hub, joined[live], id, clock.now));
    const cut = findStep(steps, 100 + random(450));
    // At once, or when all that rules ask for came here.
    const join = cut + random(round % 2 === 0 ? 100 : 2_400);
    const what = `begun at ${cut}, joined at ${join}`;
    goTo(cut - random(600));
    const id = openStream(kept.whole.hub, whole, null, clock.now).at(-1)?.id ?? '';
    goTo(cut);
    joined.begin(RESUMED_WITHIN);
    sameNow(t, joined, what);
    t.notOk(node.isWhole, `${what}: not whole`);
    goTo(join);
    sameNow(t, joined, what);
    const early = openStream(kept.node.hub, node, id, clock.now);
    if (early[0]?.data.resumed === true)
      same(t, compared(early), listEvents('whole', id), `${what}: nothing was missed`);
    else t.match(early[1], { event: 'gap', data: { reason: 'resume_expired' } }, `${what}: no hole`);
    joined.join();
    t.ok(node.isWhole, `${what}: whole`);
    for (const later of [0, 700, 3_000]) {
      goTo(join + later);
      samePast(t, joined, `${what}, ${later} later`);
      same(t, listEvents('node', id), listEvents('whole', id), `${what}, ${later} later: what a client has missed`);
      if (openStream(kept.node.hub, node, id, clock.now)[0]?.data.resumed === true) resumed++;
    }
    kept.whole.hub.close();
    kept.node.hub.close();
  }
  t.ok(resumed > rounds / 3, `${resumed} clients came back to where the node was not yet`);
};

t.test('a node that begins anywhere equals one that received everything', (t) => beginAnywhere(t, 1, 8));
t.test('likewise of three shards', (t) => beginAnywhere(t, 3, 6));
