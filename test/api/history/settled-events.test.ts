// Settled answers about the whole market stay, byte for byte: while the log goes on, when a venue is added or behind, and on a node that begins anew.
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { HistoryStore } from '../../../api/history/store.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import { capability, Feed, listing, listingValues, testApp } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';
import { PAPER_LAYERS } from '../../support/tasks/oracle.ts';
import { PaperWorld } from '../../support/tasks/paper-world.ts';
import { SECOND, START } from '../../support/tasks/task-driver.ts';
import { validQueries } from '../language/generate.ts';

/** Questions of each kind a stage: SETTLED_QUESTIONS=60 for the full form. */
const QUESTIONS = Number(process.env['SETTLED_QUESTIONS'] ?? 5);
const SEED = Number(process.env['SETTLED_SEED'] ?? 5);
/** Seconds of the log at which questions are sent, and how far the store is behind then. */
const STAGES = [
  [40, 0],
  [130, 3],
  [303, 0],
  [443, 0],
  [583, 40],
  [743, 0],
  [823, 5],
  [1_093, 0],
  [1_273, 7],
  [1_503, 0],
] as const;
/** The stage at which the second venue has its first listing, and the one at which it is behind: it lists another then, which is heard of later. */
const [ADDED_AT, BEHIND_AT] = [6, 7];
const LATER = 'later';

t.setTimeout(1_800_000);
const engines = await useEngines(t, ['questdb']);

type Asked = { readonly method: 'GET' | 'POST'; readonly url: string; readonly body?: unknown; readonly until: number };
type Kept = Asked & { readonly text: string };

const post = (url: string, body: unknown, until: number): Asked => ({ method: 'POST', url, body, until });

class Asker {
  readonly #draw: () => number;
  readonly #seed: number;
  constructor(seed: number) {
    this.#seed = seed;
    this.#draw = createRandom(seed).next;
  }
  #one<T>(of: readonly T[]): T {
    return of[Math.floor(this.#draw() * of.length)] as T;
  }
  /** An instant of the log or of before it, on a boundary or on none. */
  instant(now: number): number {
    const at = START - 200 * SECOND + Math.floor(this.#draw() * (now - START + 200 * SECOND));
    return this.#one([at, at - (at % SECOND), at - (at % (10 * SECOND)), at - (at % (60 * SECOND))]);
  }
  #span(now: number): { from: number; to: number } {
    const [a, b] = [this.instant(now), this.instant(now)];
    return a === b ? { from: a, to: a + SECOND } : { from: Math.min(a, b), to: Math.max(a, b) };
  }
  #common() {
    return {
      where: this.#one([undefined, undefined, 'quote = USDT', 'base in (LIN, KIL, GON)', 'venue = paper']),
      units: this.#one(['published', 'base', 'quote']),
      number_format: this.#one(['json', 'string']),
    };
  }
  history(now: number): Asked {
    const layers = PAPER_LAYERS.filter(() => this.#draw() < 0.4);
    const body = {
      ...this.#common(),
      ...(layers.length > 0 ? { layers } : { layers: ['mark'] }),
      ...{ allow_stale: this.#draw() < 0.5, include_gaps: this.#draw() < 0.7 },
    };
    if (this.#draw() < 0.4) {
      const at = [...new Set(Array.from({ length: 4 }, () => this.instant(now)))].sort((a, b) => a - b);
      return post('/v2/snapshots/history', { ...body, at: at.map(formatInstant) }, at.at(-1) ?? 0);
    }
    const { from, to } = this.#span(now);
    const times = { from: formatInstant(from), to: formatInstant(to), interval: this.#one(['1m', '2m', '5m', '15m']) };
    return post('/v2/snapshots/history', { ...body, ...times }, to);
  }
  candles(now: number): Asked {
    const { from, to } = this.#span(now);
    const timeframe = this.#one(['1m', '2m', '3m', '5m', '15m']);
    const times = {
      from: formatInstant(from),
      to: formatInstant(to),
      timeframe,
      price_type: this.#one(['trade', 'mark']),
    };
    return post('/v2/candles', { ...this.#common(), ...times, include_gaps: this.#draw() < 0.7 }, to);
  }
  liquidations(now: number): Asked {
    const { from, to } = this.#span(now);
    const times = { from: formatInstant(from), to: formatInstant(to), limit: this.#one([1, 3, 10, 5_000]) };
    return post('/v2/liquidations', { ...this.#common(), ...times }, to);
  }
  screens(now: number, count: number, world: PaperWorld): Asked[] {
    const instants = fc.constantFrom(...Array.from({ length: 20 }, () => Math.max(START + SECOND, this.instant(now))));
    const { codes } = findDirectory(world.feed.memory);
    const made = fc.sample(validQueries({ codes, instants: instants.map(formatInstant) }), {
      numRuns: count,
      seed: this.#seed + Math.floor(now / SECOND),
    });
    return made.map((query) => {
      const asOf = String(query['as_of'] ?? formatInstant(Math.max(START + SECOND, this.instant(now))));
      const { number_format, units } = this.#common();
      const body = { query_object: { ...query, as_of: asOf }, include_unknown: true, number_format, units };
      return post('/v2/screen', body, Date.parse(asOf) * 1_000);
    });
  }
  instruments(now: number): Asked {
    const at = Math.max(START + SECOND, this.instant(now));
    const query = new URLSearchParams({ as_of: formatInstant(at), units: this.#common().units, include_raw: 'true' });
    return { method: 'GET', url: `/v2/instruments?${query}`, until: at };
  }
  all(now: number, count: number, world: PaperWorld): Asked[] {
    const rest = Array.from({ length: count }, () => [
      this.history(now),
      this.candles(now),
      this.liquidations(now),
      this.instruments(now),
    ]);
    return [...rest.flat(), ...this.screens(now, count * 2, world)];
  }
}

/** All of an answer but what is its own each time. */
const strip = (text: string): string =>
  text
    .replace(/"evaluated_at":"[^"]*",/, '')
    .replace(/"receipt_id":"[^"]*",/, '')
    .replace(/"next_cursor":"[^"]*"/, '"next_cursor":"more"');

type Node = { readonly feed: Pick<Feed, 'memory'>; readonly history: HistoryStore; readonly now: number };

/** Answers about listings do not say whether they are settled. */
const isReached = ({ memory }: Node['feed'], until: number, now: number): boolean =>
  now >= until + 120 * SECOND &&
  ['paper', LATER].every((venue) => (memory.historyWatermark(venue) ?? 0) >= until + 101 * SECOND);

const askSome = async (t: Test, { feed, history, now }: Node, asked: readonly Asked[]): Promise<Kept[]> => {
  const { app, as } = await testApp(feed, { history, nowMicros: () => now });
  const kept: Kept[] = [];
  for (const one of asked) {
    const headers = { 'content-type': 'application/json', ...as('pro_plus') };
    const answer = await app.inject({
      ...{ method: one.method, url: one.url, headers },
      ...(one.body === undefined ? {} : { payload: JSON.stringify(one.body) }),
    });
    // Generated queries may be past a limit.
    if (answer.statusCode !== 200 && !(one.url === '/v2/screen' && answer.statusCode === 400))
      t.fail(`${one.url} ${JSON.stringify(one.body)}: ${answer.body.slice(0, 400)}`);
    if (answer.statusCode !== 200) continue;
    const { settled } = answer.json<{ settled?: boolean }>();
    if (settled ?? isReached(feed, one.until, now)) kept.push({ ...one, text: strip(answer.body) });
  }
  await app.close();
  return kept;
};

/** More at once would be past the limit of requests a second. */
const AT_ONCE = 90;

const askEach = async (t: Test, node: Node, asked: readonly Asked[]): Promise<Kept[]> => {
  const kept: Kept[] = [];
  for (let i = 0; i < asked.length; i += AT_ONCE) kept.push(...(await askSome(t, node, asked.slice(i, i + AT_ONCE))));
  return kept;
};

const findDifference = (was: string, is: string): string => {
  let i = 0;
  while (i < was.length && was[i] === is[i]) i++;
  return `at ${i}: was …${was.slice(Math.max(0, i - 200), i + 200)}…\n is …${is.slice(Math.max(0, i - 200), i + 200)}…`;
};

const sameAgain = async (t: Test, name: string, node: Node, kept: readonly Kept[]): Promise<void> => {
  const again = await askEach(t, node, kept);
  const byQuestion = new Map(again.map((one) => [JSON.stringify([one.url, one.body]), one]));
  let different = 0;
  for (const one of kept) {
    const found = byQuestion.get(JSON.stringify([one.url, one.body]));
    if (found?.text === one.text) continue;
    different++;
    if (different <= 5)
      t.comment(
        `${name}: ${one.url} ${JSON.stringify(one.body)}: ${found === undefined ? 'not settled' : findDifference(one.text, found.text)}`,
      );
  }
  t.equal(different, 0, `${name}: ${kept.length} settled answers`);
};

const list = (feed: Feed, base: string, writtenAt: number): void => {
  const values = listingValues({ instrument: `${base}-PERP`, base, venue_symbol: `${base}USDT` });
  feed.list({ ...listing(LATER, values, { writtenAt }), first_seen_at: writtenAt });
};

/** The second venue, whose task has no listings at first. `before`: the stage before. */
const advance = (
  feed: Feed,
  stage: number,
  { now, before }: { readonly now: number; readonly before: number },
): void => {
  if (stage === 0) feed.entry(LATER, { kind: 'capability', capability: capability(LATER, {}, now) });
  if (stage === ADDED_AT) list(feed, 'LIN', now);
  if (stage === BEHIND_AT) return;
  if (stage === BEHIND_AT + 1) list(feed, 'KIL', before - 250 * SECOND);
  feed.watermark(LATER, now);
  feed.memory.applyHistoryWatermark(LATER, 0, now);
};

/** A node that knows the versions and has read nothing of what happened. */
const beginAnew = (world: PaperWorld): Feed => {
  const feed = new Feed([LATER, 'paper']);
  for (const { listings, capabilities } of world.feed.memory.venues()) {
    for (const version of capabilities) feed.memory.applyCapability(version);
    for (const { versions } of listings.values()) for (const version of versions) feed.memory.applyListing(version);
  }
  for (const venue of [LATER, 'paper']) {
    feed.memory.applyHistoryWatermark(venue, 0, world.feed.memory.historyWatermark(venue) ?? 0);
    feed.watermark(venue, world.paper.log.now);
  }
  return feed;
};

t.test('settled answers of the whole market', async (t) => {
  const { history, write } = await openTestStore(t, engines);
  const world = new PaperWorld({ seed: SEED, write, beside: [LATER] });
  const asker = new Asker(SEED);
  const kept: Kept[] = [];
  let before = START;
  for (const [stage, [second, behind]] of STAGES.entries()) {
    await world.goTo(second, behind);
    const { now } = world.paper.log;
    advance(world.feed, stage, { now, before });
    before = now;
    const node = { feed: world.feed, history, now };
    await sameAgain(
      t,
      `stage ${stage}`,
      node,
      kept.filter((_, i) => stage >= STAGES.length - 2 || i % 2 === stage % 2),
    );
    kept.push(...(await askEach(t, node, asker.all(now, QUESTIONS, world))));
  }
  t.comment(
    Object.entries(Object.groupBy(kept, ({ url }) => url.split('?')[0] ?? ''))
      .map(([url, all]) => `${url}: ${all?.length}`)
      .join(', '),
  );
  const { now } = world.paper.log;
  t.ok(kept.length > QUESTIONS * 20, 'enough was settled');
  await sameAgain(t, 'begun anew', { feed: beginAnew(world), history, now: now + 10 * 86_400 * SECOND }, kept);
});
