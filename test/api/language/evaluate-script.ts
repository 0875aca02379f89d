// Evaluates a case of a script: builds the market its lines load, runs the query, compares the expectations. scripts/README.md defines the format.
import type { Test } from 'tap';
import type { Compiled } from '../../../api/language/compile.ts';
import { makePlan } from '../../../api/screen/plan.ts';
import { Budget, makeScreenItems } from '../../../api/screen/screen.ts';
import { LAYER_OF, type SlowColumn, type SlowLayer, type SlowListing } from '../../support/screen/slow-evaluator.ts';
import { readFacts } from '../screen/market-facts.ts';
import type { Case } from './script.ts';

const STATUSES = ['stale', 'missing', 'not_published', 'off'] as const;
const REASON_OF = {
  stale: 'connection_lost',
  missing: 'no_value',
  not_published: 'venue_capability',
  off: 'policy_off',
} as const;
const AGE_MS = 1_000;

type Loaded = { [K in 'venue' | 'symbol' | 'quote' | 'base' | 'instrument' | 'tickSize']: SlowListing[K] } & {
  layers: Record<string, SlowLayer>;
  columns: Record<string, SlowColumn>;
};

const toLayer = (member: string): string => LAYER_OF[member] ?? (member.startsWith('depth_') ? 'venue_depth' : member);

const EMPTY: SlowLayer = { status: 'missing', reason: 'no_value', ageMs: null, values: {} };

/** `mark=10`, `index=-` (no value), `funding:stale`, `stats:off/policy_off`, `mark@20000` (age in milliseconds). */
const applyWord = (listing: Loaded, word: string): void => {
  const [, name = '', sign = '', rest = ''] = /^(\w+)([=:@])(.+)$/.exec(word) ?? [];
  if (sign === '=' && name === 'quote') {
    listing.quote = rest;
    return;
  }
  const layer = toLayer(name);
  const held = listing.layers[layer] ?? EMPTY;
  if (sign === '@') listing.layers[layer] = { ...held, ageMs: Number(rest) };
  else if (sign === '=') {
    const value = rest === '-' ? 'no_value' : rest === 'venue_capability' ? rest : Number(rest);
    const values = { ...held.values, [name]: value };
    listing.layers[layer] = { status: 'present', reason: null, ageMs: held.ageMs ?? AGE_MS, values };
  } else {
    const [status = '', reason] = rest.split('/');
    const known = STATUSES.find((s) => s === status);
    if (known === undefined) throw new Error(`"${word}" is no state of a layer`);
    listing.layers[layer] = {
      ...held,
      status: known,
      reason: reason ?? REASON_OF[known],
      ageMs: known === 'stale' ? AGE_MS : null,
    };
  }
};

const newListing = (venue: string, symbol: string, instrument: string): Loaded => ({
  ...{ venue, symbol, instrument, quote: 'USDT', base: instrument.replace(/-PERP$/, ''), tickSize: 0.1 },
  layers: Object.fromEntries([...new Set([...Object.values(LAYER_OF), 'venue_depth'])].map((name) => [name, EMPTY])),
  columns: {},
});

/** Oldest first; `_` is a gap. What lies before is no history. */
const parseColumn = (words: readonly string[]): SlowColumn => {
  const [first = ''] = words;
  const status = STATUSES.find((s) => s === first);
  if (status !== undefined) return { status, reason: REASON_OF[status] };
  const stored = words.map((word): number | string => (word === '_' ? 'gap' : Number(word)));
  return [...stored.reverse(), ...Array.from({ length: 100 }, () => 'insufficient_history')];
};

/** The market a case loads. */
const loadMarket = ({ load, name }: Case): SlowListing[] => {
  const listings = new Map<string, Loaded>();
  for (const line of load) {
    const [word, place = '', ...words] = line.split(/\s+/);
    const [venue = '', symbol = '', instrument = 'BTC-PERP'] = place.split('/');
    const key = `${venue}/${symbol}`;
    if (word === 'listing') {
      const made = newListing(venue, symbol, instrument);
      for (const each of words) applyWord(made, each);
      listings.set(key, made);
    } else {
      const held = listings.get(key);
      const [column = '', timeframe = '', ...elements] = words;
      if (held === undefined) throw new Error(`${name}: no listing ${key}`);
      held.columns[`${column} ${timeframe}`] = parseColumn(elements);
    }
  }
  return [...listings.values()].sort((a, b) => (a.venue + a.symbol < b.venue + b.symbol ? -1 : 1));
};

type Shown = Readonly<Record<string, unknown>>;
type Item = {
  instrument: string;
  result: string;
  values: Record<string, Shown>;
  venues: { venue: string; symbol: string; values: Record<string, Shown> }[];
  because?: { expr: string; venue: string; symbol: string; reason: string }[];
};

const formatText = (shown: Shown | undefined): string => {
  if (shown === undefined) return 'nothing';
  const { value, reason, bound } = shown as {
    value: unknown;
    reason?: string;
    bound?: { at_least?: number; at_most?: number };
  };
  if (bound !== undefined) return `${bound.at_least ?? ''}..${bound.at_most ?? ''}`;
  return value === null ? `null:${reason}` : String(value);
};

const formatStatus = (shown: Shown | undefined): string =>
  shown === undefined ? 'nothing' : [shown.status, shown.reason].filter((part) => part !== undefined).join('/');

/** `value PLACE WORTH EXPRESSION`, `status PLACE STATUS[/REASON] EXPRESSION`, `result INSTRUMENT true|unknown|absent`, `because PLACE EXPRESSION REASON`. */
const check = (t: Test, line: string, items: readonly Item[]): void => {
  const [word, place = '', ...rest] = line.split(' ');
  if (word === 'result') {
    t.equal(items.find(({ instrument }) => instrument === place)?.result ?? 'absent', rest.join(' '), line);
    return;
  }
  const venues = items.flatMap((item) => item.venues);
  if (word === 'because') {
    const causes = items.flatMap(({ because = [] }) =>
      because.map((c) => `${c.venue}/${c.symbol} ${c.expr} ${c.reason}`),
    );
    t.ok(causes.includes(`${place} ${rest.join(' ')}`), `${line}: ${causes.join('; ')}`);
    return;
  }
  const [expected = '', ...expression] = rest;
  const values =
    items.find(({ instrument }) => instrument === place)?.values ??
    venues.find(({ venue, symbol }) => `${venue}/${symbol}` === place)?.values;
  const shown = values?.[expression.join(' ')];
  t.equal(word === 'status' ? formatStatus(shown) : formatText(shown), expected, line);
};

/** Runs the query over the market loaded and checks every expectation. */
export const evaluateCase = async (t: Test, one: Case, compiled: Compiled): Promise<void> => {
  const plan = makePlan(compiled.query, 'published');
  const facts = loadMarket(one).map((listing) => readFacts(listing, plan));
  const options = { includeUnknown: true, numberFormat: 'json', budget: new Budget(60_000) } as const;
  const items = (await makeScreenItems(plan, facts, options)).map((text) => JSON.parse(text) as Item);
  for (const line of one.expect) check(t, line, items);
};
