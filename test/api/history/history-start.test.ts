// Answers of a node that has just started about the past, and to resumed streams, while it reads the minutes before its start: equal to those of a
// node that was always running, or "not yet known"; never a false gap (N-11, ST-05).
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { LiveMemory } from '../../../api/live/memory.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import { type TestApp, testApp } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore, type TestStore } from '../../support/engines/test-store.ts';
import { JoinedNode, makeSteps, VENUE } from '../../support/services/joined-node.ts';
import { StreamClient } from '../../support/services/stream-client.ts';
import { SECOND, START } from '../../support/tasks/task-driver.ts';
import { waitFor } from '../../support/wait.ts';

const CUT = 520;
const SHOWN = 440;
/** Timeout of a resumed stream here; a test does not wait a minute. */
const MISSED_WITHIN_MS = 2_000;
const steps = makeSteps(11, CUT + 60);
const stepAt = (second: number): number => steps.findIndex(({ recordedAt }) => recordedAt >= START + second * SECOND);

type Asked = { readonly url: string; readonly payload: Readonly<Record<string, unknown>> };
const questions = (from: Micros, to: Micros): readonly Asked[] => {
  const window = { from: formatInstant(from), to: formatInstant(to), units: 'base' };
  return [
    { url: '/v2/snapshots/history', payload: { ...window, layers: ['mark', 'funding'], interval: '1m' } },
    { url: '/v2/snapshots/history', payload: { ...window, layers: ['mark', 'ticker'], raw: true } },
    { url: '/v2/snapshots/history', payload: { at: [formatInstant(to)], layers: ['mark', 'oi', 'stats'] } },
    { url: '/v2/candles', payload: { ...window, timeframe: '1m' } },
    { url: '/v2/candles', payload: { ...window, timeframe: '5m' } },
    { url: '/v2/liquidations', payload: window },
    { url: '/v2/screen', payload: { query: `any(venues where mark > 0) as of ${formatInstant(to)}` } },
  ];
};

const ask = async ({ app, as }: TestApp, { url, payload }: Asked) => {
  const answer = await app.inject({ method: 'POST', url, headers: as('pro_plus'), payload });
  const body = answer.json<Record<string, unknown>>();
  return { status: answer.statusCode, retryAfter: answer.headers['retry-after'], body };
};
/** Without the members of the call itself. */
const withoutReceipt = ({ status, body }: Awaited<ReturnType<typeof ask>>) => ({ status, ...body, receipt_id: null });

type World = {
  readonly joined: JoinedNode<StreamHub>;
  readonly whole: TestApp;
  readonly node: TestApp;
};

/** A node that begins at CUT beside one that was there all along, over a store that shows what was sealed by SHOWN. */
const openWorld = async (t: Test, { history, write }: TestStore): Promise<World> => {
  const clock = { now: START };
  const nowMicros = (): Micros => clock.now;
  const keep = (live: LiveMemory): StreamHub => new StreamHub({ live, nowMicros, missedWithinMs: MISSED_WITHIN_MS });
  const joined = new JoinedNode(steps, keep);
  joined.goTo(stepAt(CUT));
  joined.begin(300 * SECOND);
  const rows = steps.slice(0, stepAt(SHOWN)).flatMap((step) => step.rows);
  const shown = rows.findLastIndex(({ kind }) => kind === 'watermark');
  await write(rows.slice(0, shown).flatMap(({ row }) => (row === null ? [] : [row])));
  for (const live of [joined.whole, joined.node]) live.applyHistoryWatermark(VENUE, 0, rows[shown]?.watermark ?? 0);
  joined.goTo(stepAt(CUT + 20));
  clock.now = joined.now;
  const open = (live: LiveMemory, hub: StreamHub) => testApp({ memory: live }, { history, hub, nowMicros });
  const [whole, node] = [await open(joined.whole, joined.kept.whole), await open(joined.node, joined.kept.node)];
  t.teardown(() => Promise.all([whole.app.close(), node.app.close()]));
  return { joined, whole, node };
};

t.setTimeout(300_000);
const store = await openTestStore(t, await useEngines(t, ['questdb']));

t.test(
  'what the store shows is answered at once, the rest waits for what is being read and is never answered without it',
  async (t) => {
    const { joined, whole, node } = await openWorld(t, store);
    const [visible, now] = [START + (SHOWN - 120) * SECOND, joined.now];
    for (const asked of questions(START + 60 * SECOND, visible)) {
      const found = await ask(node, asked);
      t.equal(found.status, 200, `${asked.url} is answered`);
      t.same(
        withoutReceipt(found),
        withoutReceipt(await ask(whole, asked)),
        `${asked.url} ${JSON.stringify(asked.payload)}`,
      );
    }
    const wanted = await Promise.all(questions(START + 60 * SECOND, now).map((asked) => ask(whole, asked)));
    // Nothing comes in the ten seconds that a call waits.
    const found = await Promise.all(questions(START + 60 * SECOND, now).map((asked) => ask(node, asked)));
    const refused = found.filter(({ status }) => status === 503);
    for (const one of refused) t.match(one, { retryAfter: /\d/, body: { errors: [{ code: 'UNAVAILABLE' }] } });
    t.equal(refused.length, found.length - 1, 'all but the one whose periods are shown');
    for (const [i, one] of found.entries())
      if (one.status !== 503)
        t.same(withoutReceipt(one), withoutReceipt(wanted[i] as typeof one), 'and that one is whole');
    const waiting = questions(START + 60 * SECOND, now)
      .filter(({ url }) => url !== '/v2/screen')
      .map(async (asked) => withoutReceipt(await ask(node, asked)));
    const live = await ask(node, { url: '/v2/snapshots', payload: { layers: ['mark'] } });
    t.equal(live.status, 200, 'the present is answered meanwhile');
    joined.join();
    t.same(
      await Promise.all(waiting),
      wanted.slice(0, -1).map(withoutReceipt),
      'what waited is as of a node that was there',
    );
    const asOf = await ask(node, questions(START + 60 * SECOND, now).at(-1) as Asked);
    t.same(
      withoutReceipt(asOf),
      withoutReceipt(wanted.at(-1) as Awaited<ReturnType<typeof ask>>),
      'a screen of the past too',
    );
  },
);

/** The last id that another node sent to a stream, a minute before the node under test started. */
const earlierId = async (t: Test, path: string): Promise<string> => {
  const live = new LiveMemory([VENUE]);
  const now = steps[stepAt(CUT - 60) - 1]?.recordedAt ?? 0;
  const hub = new StreamHub({ live, nowMicros: () => now });
  live.beginAtStart(VENUE, 0);
  live.markReady(VENUE, 0);
  for (const step of steps.slice(0, stepAt(CUT - 60))) for (const bytes of step.live) live.applyLive(VENUE, 0, bytes);
  const node = await testApp({ memory: live }, { hub, nowMicros: () => now });
  t.teardown(() => node.app.close());
  const client = await StreamClient.open((await listening(node)) + path, node.as('pro_plus'));
  const [ready] = await client.untilCount('ready', 1);
  await client.close();
  return ready?.id ?? '';
};

const listening = async ({ app }: TestApp): Promise<string> => {
  await app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
};

t.test('a stream that returns waits for what it has missed, or begins with fresh snapshots', async (t) => {
  const { joined, whole, node } = await openWorld(t, store);
  const path = '/v2/stream?layers=mark,ticker';
  const [there, here] = [await listening(whole), await listening(node)];
  const resume = async (base: string, test: TestApp, id: string): Promise<StreamClient> => {
    const client = await StreamClient.open(base + path, { ...test.as('pro_plus'), 'last-event-id': id });
    t.teardown(() => client.close());
    return client;
  };
  const toldNow = await StreamClient.open(there + path, whole.as('pro_plus'));
  const [now] = await toldNow.untilCount('ready', 1);
  await toldNow.close();
  const present = await resume(here, node, now?.id ?? '');
  await present.untilCount('ready', 1);
  t.equal(present.events[0]?.data.resumed, true, 'what came since it began is there at once');
  const id = await earlierId(t, path);
  const late = await resume(here, node, id);
  await waitFor('a stream that has waited long enough', () => late.named('ready')[0] ?? null);
  t.equal(late.events[0]?.data.resumed, false, 'the request that has waited long enough');
  t.match(late.events[1], { event: 'gap', data: { reason: 'resume_expired' } });
  t.ok(late.named('snapshot').length > 0);
  const waiting = await resume(here, node, id);
  t.same(waiting.events, [], 'nothing is published before the missed entries are known');
  joined.join();
  await waiting.untilCount('ready', 1);
  t.equal(waiting.events[0]?.data.resumed, true);
  const wanted = await resume(there, whole, id);
  await wanted.untilCount('ready', 1);
  const listEvents = ({ events }: StreamClient) => events.slice(1).map((event) => [event.id, event.event, event.data]);
  t.ok(wanted.named('update').length > 10, 'there was much to miss');
  t.same(listEvents(waiting), listEvents(wanted), 'exactly as from a node that was there');
});
