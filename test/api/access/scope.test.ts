// What a narrowing plan covers: the largest by turnover, everything while it is no more than the plan's number, and how it is stated (AC-02, S-07).
import fc from 'fast-check';
import t from 'tap';
import { createScopeChooser, makeScopeMember, toNarrowing } from '../../../api/access/scope.ts';
import { chooseScope, type Turnover } from '../../../api/access/turnover.ts';
import { PLANS, type Plan, type PlanCode } from '../../../api/contract/plans.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { selectListings } from '../../../api/selection/resolve.ts';
import type { Micros } from '../../../schemas/records.ts';
import { Feed, LISTED, listing, listingValues, NOW, post, testApp } from '../../support/apps/live-fixture.ts';

const DAY: Micros = 86_400_000_000;
const DAY_START = Math.floor(NOW / DAY) * DAY;

type Listed = {
  readonly venue: string;
  readonly base: string;
  readonly seenAt?: Micros;
  readonly delistedAt?: Micros | null;
};
const list = (feed: Feed, { venue, base, seenAt = LISTED, delistedAt = null }: Listed): void => {
  const values = listingValues({ instrument: `${base}-PERP`, venue_symbol: `${base}USDT`, base });
  feed.list({ ...listing(venue, values, { writtenAt: seenAt, delistedAt }), first_seen_at: seenAt });
};
const plan = (venues: number | null, instruments: number | null): Plan => ({ ...PLANS.free, venues, instruments });

t.test('venues and instruments by the largest turnover, in exact figures, equal ones by code (AC-02)', (t) => {
  const turnover = new Map([
    [
      'a',
      new Map([
        ['X-PERP', '0.1'],
        ['Y-PERP', '0.2'],
        ['Z-PERP', '5'],
      ]),
    ],
    [
      'b',
      new Map([
        ['X-PERP', '5.3'],
        ['Y-PERP', '0'],
      ]),
    ],
    [
      'c',
      new Map([
        ['X-PERP', '5.3'],
        ['Z-PERP', '100'],
      ]),
    ],
    ['d', new Map([['W-PERP', '9007199254740993.1']])],
  ]);
  const choose = (asked: Plan, of: Turnover) => {
    const feed = new Feed([...of.keys()]);
    for (const [venue, figures] of of) {
      feed.venue(venue);
      for (const instrument of figures.keys()) list(feed, { venue, base: instrument.slice(0, -5) });
    }
    return chooseScope(asked, of, { live: feed.memory, dayStart: DAY_START });
  };
  const two = new Map([...turnover].slice(0, 2));
  t.same(choose(plan(2, 2), turnover), { venues: ['c', 'd'], instruments: ['W-PERP', 'Z-PERP'] });
  t.same(choose(plan(null, 2), turnover), { venues: null, instruments: ['W-PERP', 'Z-PERP'] });
  t.same(choose(plan(2, 1), two), { venues: null, instruments: ['X-PERP'] }, 'all that are served');
  const known = ['X-PERP', 'Y-PERP', 'Z-PERP'];
  t.same(choose(plan(1, 9), two), { venues: ['a'], instruments: null, known }, 'all that its venues know');
  t.same(choose(plan(null, null), turnover), { venues: null, instruments: null });
  t.end();
});

type Drawn = {
  readonly venue: number;
  readonly base: number;
  readonly seenDaysAgo: number;
  readonly endedHoursAgo: number | null;
};
const drawn: fc.Arbitrary<Drawn> = fc.record({
  venue: fc.nat(2),
  base: fc.nat(11),
  seenDaysAgo: fc.integer({ min: 0, max: 9 }),
  endedHoursAgo: fc.option(fc.constantFrom(1, 30), { freq: 3 }),
});
const VENUES = ['aster', 'binance', 'okx'] as const;

/** By the sum over all venues, equal ones by code; whatever has no figure is below all that have one. */
const isRankedHigher = (one: string, other: string, turnover: ReadonlyMap<string, ReadonlyMap<string, string>>) => {
  const sum = (instrument: string): number =>
    [...turnover.values()].reduce((so, figures) => so + Number(figures.get(instrument) ?? 0), 0);
  const isRanked = (instrument: string): boolean => [...turnover.values()].some((figures) => figures.has(instrument));
  if (!isRanked(one)) return false;
  return !isRanked(other) || sum(one) > sum(other) || (sum(one) === sum(other) && one < other);
};

/** Equal ones by code. */
const isKnownBefore = (one: string, other: string, all: readonly Drawn[]): boolean => {
  const days = (instrument: string): number =>
    Math.max(...all.filter(({ base }) => `B${base}-PERP` === instrument).map(({ seenDaysAgo }) => seenDaysAgo));
  return days(one) > days(other) || (days(one) === days(other) && one < other);
};

t.test(
  'no listed instrument is left out while the plan has room, and none that comes later takes the place of another',
  async (t) => {
    const market = fc.array(drawn, { maxLength: 20 });
    const stored = fc.array(fc.record({ venue: fc.nat(2), base: fc.nat(14), turnover: fc.nat(5) }), { maxLength: 10 });
    await fc.assert(
      fc.property(market, stored, fc.nat(14), fc.option(fc.integer({ min: 1, max: 3 })), (all, rows, count, venues) => {
        const feed = new Feed(VENUES);
        const turnover = new Map<string, Map<string, string>>();
        for (const { venue, base, turnover: figure } of rows) {
          const code = VENUES[venue] ?? 'okx';
          turnover.set(code, (turnover.get(code) ?? new Map()).set(`B${base}-PERP`, String(figure)));
        }
        const choose = createScopeChooser(feed.memory, () =>
          rows.length === 0 ? null : { day: '2026-01-15', turnover },
        );
        const asked = plan(venues, count);
        let before: readonly string[] = [];
        // In the order in which they are seen first, as the log has them.
        for (const one of all.toSorted((a, b) => b.seenDaysAgo - a.seenDaysAgo)) {
          const delistedAt = one.endedHoursAgo === null ? null : NOW - one.endedHoursAgo * 3_600_000_000;
          list(feed, {
            venue: VENUES[one.venue] ?? 'okx',
            base: `B${one.base}`,
            seenAt: NOW - one.seenDaysAgo * DAY,
            delistedAt,
          });
          const choice = choose(asked, NOW);
          const within = (instruments: boolean) =>
            selectListings({}, findDirectory(feed.memory), {
              at: NOW,
              narrowing: { ...toNarrowing(choice), ...(instruments ? {} : { instruments: null }) },
            }).map(({ version }) => version.record.values.instrument);
          const [covered, listed] = [new Set(within(true)), new Set(within(false))];
          const name = JSON.stringify({ all, rows, count, venues, choice });
          t.equal(makeScopeMember(asked, choice, { live: feed.memory, at: NOW })?.instruments, covered.size, name);
          t.ok((choice.instruments?.length ?? 0) <= count, name);
          if (covered.size < listed.size) t.equal(choice.instruments?.length, count, `full: ${name}`);
          if (rows.length > 0 && choice.instruments !== null && before.length === count) {
            const gone = before.filter(
              (instrument) => listed.has(instrument) && !choice.instruments?.includes(instrument),
            );
            const arrived = choice.instruments.filter((instrument) => !before.includes(instrument));
            // Only one that the day's turnover ranks higher takes a place, or one that is listed again and was known before.
            const mayTake = (one: string, left: string): boolean =>
              isRankedHigher(one, left, turnover) ||
              (!isRankedHigher(left, one, turnover) && isKnownBefore(one, left, all));
            const isDisplaced = gone.every((left) => arrived.every((each) => mayTake(each, left)));
            t.ok(isDisplaced || venues !== null, name);
          }
          before = choice.instruments ?? [];
        }
      }),
      { numRuns: 200, seed: 3 },
    );
  },
);

t.test(
  'an instrument that is listed today is covered by a plan that has room, and `scope` counts what there is (S-07)',
  async (t) => {
    const feed = new Feed(['binance']);
    feed.venue('binance');
    for (const base of ['BTC', 'ETH', 'SOL']) list(feed, { venue: 'binance', base });
    const day = {
      day: '2026-01-15',
      turnover: new Map([
        [
          'binance',
          new Map([
            ['BTC-PERP', '3'],
            ['ETH-PERP', '2'],
            ['SOL-PERP', '1'],
          ]),
        ],
      ]),
    };
    const { app, as } = await testApp(feed, { turnover: () => day });
    t.teardown(() => app.close());
    const ask = async (plan: 'free' | 'mini' | 'standard') => {
      const { items, scope } = (await post(app, as(plan), { layers: ['mark'] })).json<{
        items: unknown[];
        scope: unknown;
      }>();
      return [items.length, scope];
    };
    const covers = (plan: string, instruments: number) => [instruments, { venues: ['binance'], instruments, plan }];
    t.same(await ask('free'), covers('free', 3));
    for (let i = 0; i < 8; i++) list(feed, { venue: 'binance', base: `N${i}`, seenAt: NOW - 1_000 });
    t.same(await ask('free'), covers('free', 10));
    t.same(await ask('mini'), covers('mini', 11));
    t.same(await ask('standard'), covers('standard', 11));
    const named = await post(app, as('free'), { where: 'base = N7', layers: ['mark'] });
    t.equal(named.statusCode, 403);
    t.match(named.json(), {
      errors: [{ code: 'PLAN_LIMIT', message: '"N7" is not among the 10 instruments of the plan Free.' }],
    });
    t.equal((await post(app, as('free'), { where: 'base = N6', layers: ['mark'] })).statusCode, 200);
  },
);

t.test('an instrument of other venues is outside of a plan, however few its own venues have (S-07)', async (t) => {
  const feed = new Feed(['binance', 'okx', 'deribit']);
  for (const venue of ['binance', 'okx', 'deribit']) feed.venue(venue);
  for (const venue of ['binance', 'okx']) list(feed, { venue, base: 'BTC' });
  for (const base of ['BTC', 'MOG']) list(feed, { venue: 'deribit', base });
  const turnover = new Map(['binance', 'okx'].map((venue) => [venue, new Map([['BTC-PERP', '3']])]));
  const { app, as } = await testApp(feed, { turnover: () => ({ day: '2026-01-15', turnover }) });
  t.teardown(() => app.close());
  const { scope } = (await post(app, as('free'), { layers: ['mark'] })).json<{ scope: unknown }>();
  t.same(scope, { venues: ['binance', 'okx'], instruments: 1, plan: 'free' });
  for (const where of ['instrument = MOG-PERP', 'base = MOG']) {
    const named = await post(app, as('free'), { where, layers: ['mark'] });
    t.equal(named.statusCode, 403, where);
    t.match(named.json(), { errors: [{ code: 'PLAN_LIMIT', hint: 'Ask for one of: BTC-PERP.' }] });
    t.equal((await post(app, as('mini'), { where, layers: ['mark'] })).statusCode, 200);
  }
});

t.test(
  '`scope` tells of what was selected, whatever day begins meanwhile, and of every page the same (S-07, SC-05)',
  async (t) => {
    const venues = ['binance', 'bybit', 'deribit', 'okx'];
    const feed = new Feed(venues);
    for (const venue of venues) {
      feed.venue(venue);
      for (const base of ['BTC', 'ETH', 'SOL']) list(feed, { venue, base });
    }
    const days = [venues.slice(0, 2), venues.slice(2)].map((largest, i) => ({
      day: `2026-01-1${4 + i}`,
      turnover: new Map(largest.map((venue) => [venue, new Map([['BTC-PERP', '3']])])),
    }));
    let [looks, isMoving] = [0, true];
    const turnover = () => days[(isMoving ? looks++ : looks) % 2] ?? null;
    const { app, table } = await testApp(feed, { turnover });
    t.teardown(() => app.close());
    const headers = { authorization: `Bearer ${table.add('free')}` };
    type Asked = { scope: { venues: string[] }; page: { next_cursor: string } };
    const ask = async (url: string, payload: object): Promise<Asked & Record<string, { venue: string }[]>> =>
      (await app.inject({ method: 'POST', url, headers, payload })).json();
    const listed = (await ask('/v2/snapshots', { layers: ['mark'] })) as unknown as {
      items: { venue: string }[];
    } & Asked;
    t.same([...new Set(listed.items.map(({ venue }) => venue))], listed.scope.venues, 'snapshots');
    isMoving = false;
    const query = 'order by instrument select venue';
    const first = await ask('/v2/screen', { query, limit: 1 });
    looks += 1;
    const second = await ask('/v2/screen', { query, limit: 1, cursor: first.page.next_cursor });
    const { instruments } = second as unknown as { instruments: { venues: { venue: string }[] }[] };
    t.same(
      instruments.map((one) => one.venues.map(({ venue }) => venue)),
      [second.scope.venues],
      'the following page of a screen',
    );
    t.same(second.scope, first.scope);
  },
);

t.test('a code outside of the plan is refused wherever a query names it (S-07)', async (t) => {
  const feed = new Feed(['binance', 'okx', 'deribit']);
  for (const venue of ['binance', 'okx', 'deribit']) feed.venue(venue);
  for (const venue of ['binance', 'okx']) list(feed, { venue, base: 'BTC' });
  for (const base of ['BTC', 'MOG']) list(feed, { venue: 'deribit', base });
  const turnover = new Map(['binance', 'okx'].map((venue) => [venue, new Map([['BTC-PERP', '3']])]));
  const { app, table } = await testApp(feed, { turnover: () => ({ day: '2026-01-15', turnover }) });
  t.teardown(() => app.close());
  const ask = (plan: PlanCode, payload: object) => {
    // A key of its own: a free one may call four times at once.
    const headers = { authorization: `Bearer ${table.add(plan)}` };
    return app.inject({ method: 'POST', url: '/v2/screen', headers, payload });
  };
  const queries = [
    'any(venues where mark > 1) where venue = deribit',
    'any(venues where venue = deribit and mark > 1)',
    'any(venues where venue in (okx, deribit) and mark > 1)',
    'any(venues where mark > 1) select max(venues where venue = deribit, mark)',
    'any(venues where mark > 1) order by count(venues where venue = deribit and mark > 1)',
    'base = MOG and any(venues where mark > 1)',
    'base in (BTC, MOG)',
    'instrument = MOG-PERP',
  ];
  for (const query of queries) {
    const [name = ''] = /deribit|MOG(-PERP)?/.exec(query) ?? [];
    const code = name === 'deribit' ? 'PLAN_VENUE_NOT_INCLUDED' : 'PLAN_LIMIT';
    const refused = await ask('free', { query });
    t.equal(refused.statusCode, 403, query);
    t.match(refused.json(), { errors: [{ code, position: { offset: query.indexOf(name), length: name.length } }] });
    t.equal((await ask('mini', { query })).statusCode, 200, `${query} under a plan of all venues`);
  }
  const [, query] = queries;
  t.match((await ask('free', { query, where: 'quote = USDT' })).json(), { errors: [{ path: '/query' }] });
  const left = { type: 'field', name: 'venue' };
  const object = {
    dql: '1',
    condition: { type: 'any', where: { type: 'cmp', op: '=', left, right: { type: 'code', value: 'deribit' } } },
  };
  t.match((await ask('free', { query_object: object })).json(), {
    errors: [{ code: 'PLAN_VENUE_NOT_INCLUDED', path: /^\/query_object\/condition\/where\/right/ }],
  });
  t.equal((await ask('free', { query: 'any(venues where venue in (okx, binance))' })).statusCode, 200);
});

t.test('a plan chooses anew as soon as the turnover of a day is stored (AC-02)', (t) => {
  const feed = new Feed(['a', 'b', 'c']);
  for (const venue of ['a', 'b', 'c']) {
    feed.venue(venue);
    list(feed, { venue, base: 'X' });
  }
  const makeDay = (day: string, first: string) => ({
    day,
    turnover: new Map(['a', 'b', 'c'].map((venue) => [venue, new Map([['X-PERP', venue === first ? '2' : '1']])])),
  });
  let stored: ReturnType<typeof makeDay> | null = null;
  const choose = createScopeChooser(feed.memory, () => stored);
  const chosen = [null, makeDay('2026-01-14', 'b'), makeDay('2026-01-15', 'c')].map((day) => {
    stored = day;
    return choose(plan(1, null), NOW).venues;
  });
  t.same(chosen, [['a'], ['b'], ['c']]);
  t.end();
});
