// The evaluator against the slow one on random queries and markets: the same results, values, reasons and order. DQL_PAIRS sets how many are tried.
import t from 'tap';
import { type Compiled, compile } from '../../../api/language/compile.ts';
import { printNode } from '../../../api/language/printer.ts';
import { makePlan } from '../../../api/screen/plan.ts';
import { Budget, makeScreenItems } from '../../../api/screen/screen.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { writeJson } from '../../../schemas/json.ts';
import { Dice, randomMarket, randomQuery } from '../../support/screen/random-market.ts';
import { findFirst, Slow, type SlowListing, type Worth } from '../../support/screen/slow-evaluator.ts';
import { CODES } from '../language/codes.ts';
import { readFacts } from './market-facts.ts';

t.setTimeout(900_000);
const PAIRS = Number(process.env.DQL_PAIRS ?? 1_000);
const SEED = Number(process.env.DQL_SEED ?? 20_260_115);

type Shown = {
  value: unknown;
  status?: string;
  reason?: string;
  unknown?: number;
  bound?: { at_least?: number; at_most?: number };
};
type Item = {
  instrument: string;
  result: string;
  values: Record<string, Shown>;
  venues: { venue: string; values: Record<string, Shown> }[];
};
type Node = Readonly<Record<string, unknown>> & { readonly type: string };

const isCondition = (node: Node): boolean =>
  ['cmp', 'in', 'and', 'or', 'any', 'all'].includes(node.type) ||
  (node.type === 'call' && String(node.name).startsWith('cross'));

/** The expected object of a value; `causes` are the inputs that made it unknown. */
const computeExpected = (node: Node, worth: Worth, causes: readonly Worth[]): Shown => {
  if (node.type === 'count') {
    if (worth.is === 'between') {
      return { value: null, unknown: worth.hi - worth.lo, bound: { at_least: worth.lo, at_most: worth.hi } };
    }
    return { value: (worth as { x: number }).x, unknown: 0 };
  }
  const { status: first, reason } = findFirst(causes);
  // A source whose figure cannot be converted is present (L-07), what is computed of one is missing (DQL-33j).
  const status = first === 'present' && node.type !== 'source' ? 'missing' : first;
  if (isCondition(node)) {
    const value = worth.is === 'truth' ? worth.x : null;
    if (node.type === 'call') return value === null ? { value, status, reason } : { value, status: 'present' };
    return { value, status: 'present', ...(value === null ? { reason } : {}) };
  }
  if (worth.is === 'between') {
    return {
      value: null,
      status,
      reason,
      bound: Number.isFinite(worth.lo) ? { at_least: worth.lo } : { at_most: worth.hi },
    };
  }
  if (worth.is === 'unknown') return { value: null, status, reason };
  return { value: worth.x, status: 'present' };
};

const differs = (found: Shown | undefined, expected: Shown): boolean =>
  Object.entries(expected).some(([member, x]) => JSON.stringify(found?.[member as keyof Shown]) !== JSON.stringify(x));

const keyWorths = (query: { order_by?: { expr: Node; dir?: string }[] }, slow: Slow) =>
  (query.order_by ?? []).map(({ expr }) => slow.worth(expr, null));

const compareWorths = (a: Worth, b: Worth, descending: boolean): number => {
  const [knownA, knownB] = [a.is === 'number' || a.is === 'text', b.is === 'number' || b.is === 'text'];
  if (!knownA || !knownB) return Number(knownB) - Number(knownA);
  const [x, y] = [(a as { x: number }).x, (b as { x: number }).x];
  return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1);
};

type Query = { condition: Node; timeframe?: string; select: Node[]; order_by?: { expr: Node; dir?: string }[] };
type Tally = { true: number; false: number; unknown: number; known: number; open: number };

/** The difference as text; null when there is none. */
const disagreement = (
  compiled: Compiled,
  market: readonly SlowListing[],
  items: readonly Item[],
  tally: Tally,
): string | null => {
  const query = JSON.parse(writeJson(compiled.json)) as Query;
  const groups = new Map<string, SlowListing[]>();
  for (const one of market) groups.set(one.instrument, [...(groups.get(one.instrument) ?? []), one]);
  const expected = [...groups].flatMap(([instrument, group]) => {
    const slow = new Slow(group, query.timeframe);
    const result = slow.worth(query.condition, null);
    const truth = result.is === 'truth' ? result.x : null;
    tally[truth === null ? 'unknown' : truth ? 'true' : 'false']++;
    return truth === false ? [] : [{ instrument, group, slow, truth, keys: keyWorths(query, slow) }];
  });
  expected.sort((a, b) => {
    for (const [i, { dir }] of (query.order_by ?? []).entries()) {
      const order = compareWorths(a.keys[i] as Worth, b.keys[i] as Worth, dir === 'desc');
      if (order !== 0) return order;
    }
    return a.instrument < b.instrument ? -1 : 1;
  });
  const summary = items.map(({ instrument, result }) => `${instrument} ${result}`).join();
  const meant = expected.map(({ instrument, truth }) => `${instrument} ${truth === null ? 'unknown' : 'true'}`).join();
  if (summary !== meant) return `answered ${summary}, not ${meant}`;
  for (const [i, { group, slow }] of expected.entries()) {
    for (const [s, node] of query.select.entries()) {
      const key = printNode(compiled.query.select[s] as never);
      const item = items[i] as Item;
      const isOfInstrument = key in item.values;
      for (const [l, at] of group.entries()) {
        const worth = slow.worth(node, isOfInstrument ? null : at);
        tally[
          worth.is === 'number' || worth.is === 'text' || (worth.is === 'truth' && worth.x !== null) ? 'known' : 'open'
        ]++;
        const found = isOfInstrument ? item.values[key] : item.venues[l]?.values[key];
        const meaning = computeExpected(node, worth, slow.causes(node, isOfInstrument ? null : at));
        if (differs(found, meaning))
          return `${key} at ${at.venue} is ${JSON.stringify(found)}, not ${JSON.stringify(meaning)}`;
      }
    }
  }
  return null;
};

t.test(`the evaluator agrees with the slow one on ${PAIRS} queries and markets`, { timeout: 900_000 }, async (t) => {
  const tally: Tally = { true: 0, false: 0, unknown: 0, known: 0, open: 0 };
  let compared = 0;
  for (let seed = SEED; compared < PAIRS; seed++) {
    const dice = new Dice(seed);
    const object = randomQuery(dice);
    const market = randomMarket(dice);
    let compiled: Compiled;
    try {
      compiled = compile({ object, path: '' }, CODES);
    } catch (error) {
      if (error instanceof ServiceError) continue;
      throw error;
    }
    compared++;
    const plan = makePlan(compiled.query, 'published');
    const facts = market.map((one) => readFacts(one, plan));
    const texts = await makeScreenItems(plan, facts, {
      includeUnknown: true,
      numberFormat: 'json',
      budget: new Budget(60_000),
    });
    const wrong = disagreement(
      compiled,
      market,
      texts.map((text) => JSON.parse(text) as Item),
      tally,
    );
    if (wrong !== null) {
      t.fail(`DQL_SEED=${seed}: ${compiled.string}: ${wrong}`);
      return;
    }
  }
  t.comment(JSON.stringify(tally));
  const least = PAIRS / 10;
  t.ok(Math.min(tally.true, tally.false, tally.unknown, tally.known, tally.open) > least, JSON.stringify(tally));
});

t.test('of several unknowns the first by class, then by reason, is returned (L-07, DQL-33f)', async (t) => {
  const of = (status: string, reason: string): Worth => ({ is: 'unknown', status, reason });
  t.equal(findFirst([of('stale', 'freshness_bound'), of('stale', 'connection_lost')]).reason, 'connection_lost');
  t.equal(findFirst([of('missing', 'gap'), of('off', 'policy_off')]).reason, 'policy_off');
  t.equal(findFirst([of('present', 'unit_unknown'), of('stale', 'state_lag')]).reason, 'state_lag');
});
