// Random queries and random markets with stale, missing, unpublished and absent inputs, from one seed each; small numbers, so that comparisons often meet.
import type { SlowColumn, SlowLayer, SlowListing } from './slow-evaluator.ts';

type Json = Readonly<Record<string, unknown>>;

/** A small generator of numbers: the same seed gives the same case anywhere (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(n: number): number {
    return Math.floor(this.roll() * n);
  }

  is(share: number): boolean {
    return this.roll() < share;
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

const TIMEFRAMES_READ = ['5m', '1h'] as const;
const PRICES = ['open', 'high', 'low', 'close'];
const SOURCES = [...PRICES, 'volume', ...['mark', 'index'].flatMap((type) => PRICES.map((name) => `${type}_${name}`))];
/** Volumes that no venue has. */
const NEVER = ['mark_volume', 'index_volume'] as const;
const SAMPLED = ['mark', 'funding', 'oi', 'spread'] as const;
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  ticker: ['last'],
  mark: ['mark', 'index', 'basis'],
  funding: ['funding', 'funding_8h', 'funding_interval', 'time_to_funding'],
  oi: ['oi'],
  book: ['bid', 'ask', 'mid', 'spread', 'bid_size', 'ask_size'],
  stats: ['volume_24h', 'turnover_24h', 'change_24h'],
  venue_depth: ['depth_bid_10bps', 'depth_ask_10bps', 'depth_bid_value_25bps', 'depth_ask_value_25bps'],
};
const STALE = ['connection_lost', 'state_lag', 'horizon_unknown', 'horizon_passed', 'freshness_bound'];

const value = (dice: Dice): number => dice.of([0, 1, 2, 3, 5, 10, 0.5, 0.1, 0.0001, 7.25, -1, 100]);
/** What a query may write: products and quotients of these leave the range of doubles at both ends (DQL-15). */
const written = (dice: Dice): number => (dice.is(0.1) ? dice.of([1e200, -1e200, 1e308, 1e-200, 5e-324]) : value(dice));

const layer = (dice: Dice, name: string): SlowLayer => {
  const bare = (status: SlowLayer['status'], reason: string, ageMs: number | null = null): SlowLayer => ({
    ...{ status, reason, ageMs, values: {} },
  });
  const ageMs = dice.of([100, 5_000, 20_000, 60_000]);
  const kind = dice.roll();
  if (kind < 0.12) return bare('stale', dice.of(STALE), ageMs);
  if (kind < 0.18) return bare('missing', 'no_value');
  if (kind < 0.22) return bare('missing', 'gap', ageMs);
  if (kind < 0.28) return bare('not_published', 'venue_capability');
  if (kind < 0.33) return bare('off', 'policy_off');
  const values: Record<string, number | string> = {};
  for (const member of MEMBERS[name] ?? []) {
    const isCount = member === 'funding_interval' || member === 'time_to_funding';
    values[member] = isCount ? dice.of([3_600_000, 28_800_000]) : value(dice);
    if (!isCount && dice.is(0.06)) values[member] = dice.of(['no_value', 'venue_capability']);
  }
  return { status: 'present', reason: null, ageMs, values };
};

const column = (dice: Dice, isPresence: boolean): SlowColumn => {
  const kind = dice.roll();
  if (kind < 0.05) return { status: 'off', reason: 'policy_off' };
  if (kind < 0.1) return { status: 'not_published', reason: 'venue_capability' };
  if (kind < 0.13) return { status: 'stale', reason: 'state_lag' };
  const length = dice.of([0, 5, 20, 60, 60, 60]);
  const gaps = dice.of([0, 0, 0.02, 0.2]);
  const before = dice.of(['insufficient_history', 'not_retained']);
  const element = (): number | string => (isPresence ? 1 : dice.is(0.01) ? 'unit_unknown' : value(dice));
  const stored = Array.from({ length }, (): number | string => (dice.is(gaps) ? 'gap' : element()));
  return [...stored, ...Array.from({ length: 100 }, () => before)];
};

const listing = (dice: Dice, base: string, venue: string, i: number): SlowListing => {
  const columns: Record<string, SlowColumn> = {};
  for (const timeframe of TIMEFRAMES_READ) {
    for (const name of [...SOURCES, ...SAMPLED]) columns[`${name} ${timeframe}`] = column(dice, false);
    columns[`candles ${timeframe}`] = column(dice, true);
    for (const name of NEVER) columns[`${name} ${timeframe}`] = { status: 'not_published', reason: 'venue_capability' };
  }
  return {
    ...{ venue, base, instrument: `${base}-PERP`, symbol: `${base}${i}`, tickSize: dice.of([0.1, 1]), columns },
    quote: dice.of(['USDT', 'USDC']),
    layers: Object.fromEntries(Object.keys(MEMBERS).map((name) => [name, layer(dice, name)])),
  };
};

/** Listings of two or three instruments, ascending by (venue, symbol); a venue may list one twice. */
export const randomMarket = (dice: Dice): SlowListing[] =>
  ['BTC', 'ETH', 'SOL'].flatMap((base) => {
    const count = 1 + dice.below(4);
    const venues = Array.from({ length: count }, () => dice.of(['binance', 'bybit', 'okx'])).sort();
    return venues.map((venue, i) => listing(dice, base, venue, i));
  });

const num = (x: number): Json => ({ type: 'number', value: x });
const small = (dice: Dice): Json => num(1 + dice.below(4));
const field = (name: string): Json => ({ type: 'field', name });

class Writer {
  readonly #dice: Dice;
  readonly #timeframe: string;

  constructor(dice: Dice, timeframe: string) {
    this.#dice = dice;
    this.#timeframe = timeframe;
  }

  #call(name: string, args: readonly Json[], timed: boolean): Json {
    return { type: 'call', name, args, ...(timed && this.#dice.is(0.2) ? { timeframe: this.#timeframe } : {}) };
  }

  series(depth: number): Json {
    const dice = this.#dice;
    const kind = depth <= 0 ? dice.roll() * 0.4 : dice.roll();
    if (kind < 0.3) return { type: 'source', name: dice.is(0.06) ? dice.of(NEVER) : dice.of(SOURCES) };
    if (kind < 0.4) return field(dice.of(SAMPLED));
    if (kind < 0.52)
      return this.#arith(this.series(depth - 1), dice.is(0.5) ? num(written(dice)) : this.series(depth - 1));
    if (kind < 0.58) return this.#call('abs', [this.series(depth - 1)], false);
    return this.#windowed(depth);
  }

  #windowed(depth: number): Json {
    const dice = this.#dice;
    if (dice.is(0.08)) return this.#call('atr', [small(dice)], true);
    const s = this.series(depth - 1);
    if (dice.is(0.15)) {
      const method = dice.is(0.5) ? [{ type: 'code', value: 'linear' }] : [];
      return this.#call('percentile', [s, small(dice), num(dice.of([5, 25, 50, 95, 100])), ...method], true);
    }
    const names = [
      'prev',
      'sma',
      'ema',
      'rsi',
      'stdev',
      'highest',
      'lowest',
      'change',
      'roc',
      'rolling_sum',
      'percentile_rank',
    ];
    return this.#call(dice.of(names), [s, small(dice)], true);
  }

  #arith(left: Json, right: Json, op = this.#dice.of(['+', '-', '*', '/'])): Json {
    return { type: 'arith', op, left, right };
  }

  #depth(): Json {
    const side = this.#dice.of(['bid', 'ask']);
    const [name, band] = this.#dice.is(0.5) ? [`depth_${side}`, '10bps'] : [`depth_${side}_value`, '25bps'];
    return this.#call(name, [{ type: 'code', value: band }], false);
  }

  /** Two or three. */
  #join(make: () => Json): Json {
    const args = Array.from({ length: this.#dice.is(0.7) ? 2 : 3 }, make);
    return { type: this.#dice.of(['and', 'or']), args };
  }

  /** A number at a listing. */
  number(depth: number): Json {
    const dice = this.#dice;
    const kind = depth <= 0 ? dice.roll() * 0.4 : dice.roll();
    if (kind < 0.3) {
      const fields = Object.values(MEMBERS)
        .flat()
        .filter((name) => !/^depth|interval|time/.test(name));
      return field(dice.of([...fields, 'tick_size', 'venues_listed', 'venues_answered']));
    }
    if (kind < 0.35) return this.#depth();
    if (kind < 0.38) return num(written(dice));
    if (kind < 0.4) return this.#arith(field('funding_interval'), { type: 'duration', value: '8h' }, '/');
    if (kind < 0.5) return this.#call('gaps', [small(dice)], true);
    if (kind < 0.58) return this.#call('abs', [this.number(depth - 1)], false);
    if (kind < 0.75) return this.#arith(this.number(depth - 1), this.number(depth - 1));
    const series = this.series(2);
    // A field without brackets is the reading of T, not a series.
    return series;
  }

  condition(depth: number): Json {
    const dice = this.#dice;
    const kind = dice.roll();
    if (depth > 0 && kind < 0.25) return this.#join(() => this.condition(depth - 1));
    const about = field(dice.of(['last', 'mark', 'funding', 'oi', 'bid', 'volume_24h']));
    if (kind < 0.33)
      return this.#cmp('=', this.#call('status', [about], false), {
        type: 'status',
        value: dice.of(['present', 'stale', 'missing', 'not_published', 'off']),
      });
    if (kind < 0.4)
      return this.#cmp(dice.of(['<', '>']), this.#call('age', [about], false), {
        type: 'duration',
        value: dice.of(['5s', '30s']),
      });
    if (kind < 0.45) return this.#cmp('<', field('time_to_funding'), field('funding_interval'));
    if (kind < 0.52) {
      const lists = { venue: [['binance', 'okx'], ['bybit', 'okx'], ['okx']], quote: [['USDT'], ['USDC', 'USDT']] };
      const key = dice.of(['venue', 'quote'] as const);
      const values = dice.of<string[]>(lists[key]).map((code) => ({ type: 'code', value: code }));
      return { type: 'in', left: field(key), values };
    }
    if (kind < 0.62) {
      const b = dice.is(0.4) ? num(written(dice)) : this.series(1);
      return this.#call(dice.of(['crossover', 'crossunder']), [this.series(1), b], true);
    }
    return this.#cmp(dice.of(['=', '<', '>', '<=', '>=']), this.number(depth), this.number(1));
  }

  #cmp(op: string, left: Json, right: Json): Json {
    return { type: 'cmp', op, left, right };
  }

  /** A number of the instrument. */
  amount(depth: number): Json {
    const dice = this.#dice;
    const kind = dice.roll();
    if (depth > 0 && kind < 0.2)
      return this.#arith(this.amount(depth - 1), dice.is(0.5) ? num(written(dice)) : this.amount(0));
    if (kind < 0.25) return this.#call('abs', [this.amount(0)], false);
    if (kind < 0.32) return field(dice.of(['venues_listed', 'venues_answered']));
    if (kind < 0.55) return { type: 'count', where: this.condition(1) };
    const where = dice.is(0.5) ? { where: this.condition(1) } : {};
    if (kind < 0.7) return { type: 'agg', fn: 'sum', expr: this.#additive(), ...where };
    return { type: 'agg', fn: dice.of(['max', 'min']), expr: this.number(1), ...where };
  }

  /** What may be summed (DQL-24). */
  #additive(): Json {
    const dice = this.#dice;
    const plain = field(dice.of(['turnover_24h', 'oi', 'volume_24h']));
    const kind = dice.roll();
    if (kind < 0.6) return plain;
    if (kind < 0.7) return this.#depth();
    if (kind < 0.8) return this.#call('rolling_sum', [{ type: 'source', name: 'volume' }, small(dice)], true);
    return this.#arith(plain, dice.is(0.5) ? field('mark') : num(written(dice)), dice.of(['*', '/']));
  }

  top(depth: number): Json {
    const dice = this.#dice;
    const kind = dice.roll();
    if (depth > 0 && kind < 0.25) return this.#join(() => this.top(depth - 1));
    if (kind < 0.32) return this.#cmp('=', field('base'), { type: 'code', value: dice.of(['BTC', 'ETH']) });
    if (kind < 0.65) return { type: dice.of(['any', 'all']), where: this.condition(2) };
    return this.#cmp(
      dice.of(['=', '<', '>', '<=', '>=']),
      this.amount(1),
      dice.is(0.7) ? num(written(dice)) : this.amount(0),
    );
  }
}

/** A valid machine form, apart from the limits and from mixtures of kinds that the checker refuses. */
export const randomQuery = (dice: Dice): Json => {
  const timeframe = dice.of(TIMEFRAMES_READ);
  const writer = new Writer(dice, timeframe);
  const select = Array.from({ length: 1 + dice.below(3) }, () =>
    dice.of([() => writer.number(2), () => writer.condition(1), () => writer.amount(1), () => writer.series(1)])(),
  );
  const key = (): Json => ({
    expr: dice.is(0.1) ? field('instrument') : writer.amount(0),
    dir: dice.of(['asc', 'desc']),
  });
  const order_by = Array.from({ length: dice.of([0, 0, 1, 1, 2]) }, key);
  const order = order_by.length === 0 ? {} : { order_by };
  return { dql: '1', condition: writer.top(2), timeframe, select, ...order };
};
