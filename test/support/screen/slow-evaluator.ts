// The language evaluated once more, slowly and from the rules alone (DQL-12 to DQL-29, DQL-33): shares nothing with the product but the machine form.

type Any = Readonly<Record<string, unknown>> & { readonly type: string };

/** A layer at T. */
export type SlowLayer = {
  readonly status: 'present' | 'stale' | 'missing' | 'not_published' | 'off';
  readonly reason: string | null;
  readonly ageMs: number | null;
  /** A number, or why there is none. Of a layer that is stale or missing, only the fields that are never published. */
  readonly values: Readonly<Record<string, number | string>>;
};
/** Newest element first; a number or why there is none. A text instead: the venue has none of it. */
export type SlowColumn = readonly (number | string)[] | { readonly status: string; readonly reason: string };
export type SlowListing = {
  readonly venue: string;
  readonly symbol: string;
  readonly quote: string;
  readonly base: string;
  readonly instrument: string;
  readonly tickSize: number;
  readonly layers: Readonly<Record<string, SlowLayer>>;
  /** By `name timeframe`; existing trade candles have the key `candles timeframe`. */
  readonly columns: Readonly<Record<string, SlowColumn>>;
};

export type Worth =
  | { readonly is: 'number'; readonly x: number }
  | { readonly is: 'text'; readonly x: string }
  | { readonly is: 'truth'; readonly x: boolean | null }
  | { readonly is: 'between'; readonly lo: number; readonly hi: number }
  | { readonly is: 'unknown'; readonly status: string; readonly reason: string };

export const LAYER_OF: Readonly<Record<string, string>> = {
  last: 'ticker',
  ...{ mark: 'mark', index: 'mark', basis: 'mark' },
  ...{ funding: 'funding', funding_8h: 'funding', funding_interval: 'funding', time_to_funding: 'funding' },
  oi: 'oi',
  ...{ bid: 'book', ask: 'book', mid: 'book', spread: 'book', bid_size: 'book', ask_size: 'book' },
  ...{ volume_24h: 'stats', turnover_24h: 'stats', change_24h: 'stats' },
};

// L-07: the classes, then the reasons of staleness; DQL-33f: the rest.
const CLASSES = ['off', 'not_published', 'missing', 'stale', 'present'];
const CAUSES = [
  'policy_off',
  'venue_capability',
  'connection_lost',
  'state_lag',
  'horizon_unknown',
  'horizon_passed',
].concat(['freshness_bound', 'no_value', 'gap', 'not_retained', 'insufficient_history', 'unit_unknown']);
type Unknown = Worth & { is: 'unknown' };
const unknown = (status: string, reason: string): Unknown => ({ is: 'unknown', status, reason });
const NOTHING = unknown('missing', 'no_value');
export const findFirst = (list: readonly Worth[]): Unknown => {
  const unknowns = list.filter((w): w is Unknown => w.is === 'unknown');
  const sorted = unknowns
    .map((w, i) => ({ w, i }))
    .sort(
      (a, b) =>
        CLASSES.indexOf(a.w.status) - CLASSES.indexOf(b.w.status) ||
        CAUSES.indexOf(a.w.reason) - CAUSES.indexOf(b.w.reason) ||
        a.i - b.i,
    );
  return sorted[0]?.w ?? NOTHING;
};
const number = (x: number): Worth => (Number.isFinite(x) ? { is: 'number', x } : NOTHING);

/** Element i of a series counts back from the newest. */
type Element = number | { readonly why: string };
const worst = (elements: readonly Element[]): { why: string } | null => {
  const whys = elements.flatMap((e) => (typeof e === 'number' ? [] : [e.why]));
  return whys.length === 0 ? null : { why: whys.sort((a, b) => CAUSES.indexOf(a) - CAUSES.indexOf(b))[0] as string };
};
const finite = (x: number): Element => (Number.isFinite(x) ? x : { why: 'no_value' });

const total = (xs: readonly number[]): number => {
  let s = 0;
  let c = 0;
  for (const x of xs) {
    const t = s + x;
    if (Math.abs(s) >= Math.abs(x)) c = c + (s - t + x);
    else c = c + (x - t + s);
    s = t;
  }
  return s + c;
};
const average = (xs: readonly number[]): number => total(xs) / xs.length;
const smooth = (xs: readonly number[], n: number): number =>
  xs.slice(n).reduce((avg, v) => (avg * (n - 1) + v) / n, average(xs.slice(0, n)));

/** Windows are oldest first. */
const WINDOW: Readonly<Record<string, (n: number) => number>> = {
  ema: (n) => 4 * n,
  rsi: (n) => 4 * n + 1,
  prev: (n) => n + 1,
  change: (n) => n + 1,
  roc: (n) => n + 1,
};
const OVER: Readonly<Record<string, (w: number[], n: number, more: { p: number; linear: boolean }) => number>> = {
  prev: (w) => w[0] as number,
  sma: (w) => average(w),
  ema: (w, n) => {
    const a = 2 / (n + 1);
    return w.slice(n).reduce((e, x) => a * x + (1 - a) * e, average(w.slice(0, n)));
  },
  rsi: (w, n) => {
    const d = w.slice(1).map((x, i) => x - (w[i] as number));
    const [up, down] = [
      smooth(
        d.map((x) => Math.max(x, 0)),
        n,
      ),
      smooth(
        d.map((x) => Math.max(-x, 0)),
        n,
      ),
    ];
    if (down === 0) return up > 0 ? 100 : 50;
    return 100 - 100 / (1 + up / down);
  },
  stdev: (w) => {
    const m = average(w);
    return Math.sqrt(total(w.map((x) => (x - m) ** 2)) / w.length);
  },
  highest: (w) => Math.max(...w),
  lowest: (w) => Math.min(...w),
  change: (w) => (w.at(-1) as number) - (w[0] as number),
  roc: (w) => ((w.at(-1) as number) - (w[0] as number)) / (w[0] as number),
  rolling_sum: (w) => total(w),
  percentile: (w, n, { p, linear }) => {
    const v = [...w].sort((a, b) => a - b);
    if (!linear) return v[Math.max(1, Math.ceil((p * n) / 100)) - 1] as number;
    const h = ((n - 1) * p) / 100;
    const low = v[Math.floor(h)] as number;
    return h >= n - 1 ? (v[n - 1] as number) : low + (h - Math.floor(h)) * ((v[Math.floor(h) + 1] as number) - low);
  },
  percentile_rank: (w) => w.filter((x) => x <= (w.at(-1) as number)).length / w.length,
};

const literal = (node: unknown): number => Number((node as { value: unknown }).value);

export class Slow {
  readonly #clause: string | undefined;
  readonly #group: readonly SlowListing[];

  constructor(group: readonly SlowListing[], clause: string | undefined) {
    this.#group = group;
    this.#clause = clause;
  }

  #period(node: Any, outer: string | undefined): string {
    return (node.timeframe as string | undefined) ?? outer ?? this.#clause ?? '';
  }

  /** Why the venue has no value of a series, regardless of its elements; null: the elements decide. */
  #absences(node: Any, at: SlowListing, outer?: string): Unknown[] {
    if (node.type === 'source' || node.type === 'field') {
      const column = at.columns[`${node.name} ${outer ?? this.#clause}`];
      return column !== undefined && 'status' in column ? [unknown(column.status, column.reason)] : [];
    }
    if (node.type === 'arith')
      return [...this.#absences(node.left as Any, at, outer), ...this.#absences(node.right as Any, at, outer)];
    if (node.type !== 'call') return [];
    const period = node.name === 'abs' ? outer : this.#period(node, outer);
    if (node.name === 'atr' || node.name === 'gaps') {
      const read = node.name === 'atr' ? ['high', 'low', 'close'] : ['candles'];
      return read.flatMap((name) => {
        const column = at.columns[`${name} ${period}`];
        return column !== undefined && 'status' in column ? [unknown(column.status, column.reason)] : [];
      });
    }
    return (node.args as Any[]).flatMap((arg) => this.#absences(arg, at, period));
  }

  #column(name: string, period: string, at: SlowListing): (i: number) => Element {
    const column = at.columns[`${name} ${period}`];
    return (i) => {
      const held = Array.isArray(column) ? (column[i] as number | string | undefined) : undefined;
      return typeof held === 'number' ? held : { why: held ?? 'insufficient_history' };
    };
  }

  #element(node: Any, i: number, at: SlowListing, outer?: string): Element {
    switch (node.type) {
      case 'number':
        return literal(node);
      case 'source':
      case 'field':
        return this.#column(node.name as string, outer ?? this.#clause ?? '', at)(i);
      case 'arith': {
        const [a, b] = [this.#element(node.left as Any, i, at, outer), this.#element(node.right as Any, i, at, outer)];
        const bad = worst([a, b]);
        return bad ?? finite(operate(node.op as string, a as number, b as number));
      }
      default:
        return this.#called(node, i, at, outer);
    }
  }

  #called(node: Any, i: number, at: SlowListing, outer?: string): Element {
    const [s, second, third, fourth] = node.args as (Any | undefined)[];
    const name = node.name as string;
    if (name === 'abs') {
      const x = this.#element(s as Any, i, at, outer);
      return typeof x === 'number' ? Math.abs(x) : x;
    }
    const period = this.#period(node, outer);
    if (name === 'atr') {
      const n = literal(s);
      const [h, l, c] = ['high', 'low', 'close'].map((member) =>
        Array.from({ length: 4 * n + 1 }, (_, k) => this.#column(member, period, at)(i + 4 * n - k)),
      ) as [Element[], Element[], Element[]];
      const bad = worst([...h, ...l, ...c]);
      if (bad !== null) return bad;
      const [high, low, close] = [h, l, c] as [number[], number[], number[]];
      const ranges = high
        .slice(1)
        .map((x, k) =>
          Math.max(
            x - (low[k + 1] as number),
            Math.abs(x - (close[k] as number)),
            Math.abs((low[k + 1] as number) - (close[k] as number)),
          ),
        );
      return finite(smooth(ranges, n));
    }
    const n = literal(second);
    const length = (WINDOW[name] ?? ((m: number) => m))(n);
    const elements = Array.from({ length }, (_, k) => this.#element(s as Any, i + length - 1 - k, at, period));
    const bad = worst(elements);
    const more = {
      p: third === undefined ? 0 : literal(third),
      linear: (fourth as { value?: string } | undefined)?.value === 'linear',
    };
    return bad ?? finite((OVER[name] as (typeof OVER)[string])(elements as number[], n, more));
  }

  #atom(node: Any, at: SlowListing): Worth {
    const absences = this.#absences(node, at);
    if (absences.length > 0) return findFirst(absences);
    const name = node.name as string;
    if (node.type === 'call' && (name === 'crossover' || name === 'crossunder')) {
      const period = this.#period(node, undefined);
      const [a, b] = node.args as [Any, Any];
      const four = [a, b].flatMap((side) => [this.#element(side, 0, at, period), this.#element(side, 1, at, period)]);
      const bad = worst(four);
      if (bad !== null) return unknown('missing', bad.why);
      const [a0, a1, b0, b1] = four as [number, number, number, number];
      return { is: 'truth', x: name === 'crossover' ? a0 > b0 && a1 <= b1 : a0 < b0 && a1 >= b1 };
    }
    if (node.type === 'call' && name === 'gaps') {
      const n = literal((node.args as Any[])[0]);
      const read = this.#column('candles', this.#period(node, undefined), at);
      const candles = Array.from({ length: n }, (_, i) => read(i));
      const before = worst(candles.filter((c) => typeof c !== 'number' && c.why !== 'gap'));
      return before === null
        ? number(candles.filter((c) => typeof c !== 'number').length)
        : unknown('missing', before.why);
    }
    const x = this.#element(node, 0, at);
    if (typeof x === 'number') return number(x);
    // A source that cannot be converted is there (L-07); what is computed of one is missing (DQL-33j).
    return unknown(node.type === 'source' && x.why === 'unit_unknown' ? 'present' : 'missing', x.why);
  }

  #field(name: string, at: SlowListing | null): Worth {
    const any = at ?? (this.#group[0] as SlowListing);
    if (name === 'instrument' || name === 'base') return { is: 'text', x: any[name] };
    if (name === 'venue' || name === 'quote') return { is: 'text', x: any[name] };
    if (name === 'tick_size') return number(any.tickSize);
    if (name === 'venues_listed') return number(this.#group.length);
    if (name === 'venues_answered')
      return number(this.#group.filter((l) => l.layers.mark?.status === 'present').length);
    return this.#member(LAYER_OF[name] ?? '', name, any);
  }

  #member(layerName: string, member: string, at: SlowListing): Worth {
    const layer = at.layers[layerName] as SlowLayer;
    const value = layer.values[member] ?? 'no_value';
    // A field that is never published comes before every state of its layer but `off` (L-07).
    const isNever = value === 'venue_capability' && layer.status !== 'off';
    if (layer.status !== 'present' && !isNever) return unknown(layer.status, layer.reason ?? '');
    if (typeof value === 'number') return number(value);
    return unknown(value === 'venue_capability' ? 'not_published' : 'missing', value);
  }

  #about(name: string, field: string, at: SlowListing): Worth {
    const layer = at.layers[LAYER_OF[field] ?? ''] as SlowLayer;
    if (name === 'status') return { is: 'text', x: layer.status };
    const isKnown = layer.status === 'present' || layer.status === 'stale';
    return isKnown ? number(layer.ageMs ?? 0) : unknown(layer.status, layer.reason ?? '');
  }

  /** The worth of an expression at a listing, or at instrument level. */
  worth(node: Any, at: SlowListing | null): Worth {
    const sub = (child: unknown): Worth => this.worth(child as Any, at);
    switch (node.type) {
      case 'number':
        return number(literal(node));
      case 'duration':
        return number(milliseconds(node.value as string));
      case 'code':
      case 'status':
        return { is: 'text', x: node.value as string };
      case 'field':
        return this.#field(node.name as string, at);
      case 'source':
        return this.#atom(node, at as SlowListing);
      case 'call': {
        const name = node.name as string;
        const [argument] = node.args as Any[];
        if (name === 'abs') {
          const x = sub(argument);
          return x.is === 'number' ? number(Math.abs(x.x)) : x.is === 'unknown' ? x : NOTHING;
        }
        if (name === 'age' || name === 'status') return this.#about(name, argument?.name as string, at as SlowListing);
        if (name.startsWith('depth_'))
          return this.#member('venue_depth', `${name}_${argument?.value}`, at as SlowListing);
        return this.#atom(node, at as SlowListing);
      }
      case 'arith': {
        const [a, b] = [sub(node.left), sub(node.right)];
        if (a.is === 'unknown' || b.is === 'unknown') return findFirst([a, b]);
        return a.is === 'number' && b.is === 'number' ? number(operate(node.op as string, a.x, b.x)) : NOTHING;
      }
      case 'cmp':
        return { is: 'truth', x: compared(node.op as string, sub(node.left), sub(node.right)) };
      case 'in':
        return { is: 'truth', x: foldAny((node.values as Any[]).map((v) => compared('=', sub(node.left), sub(v)))) };
      case 'and':
        return { is: 'truth', x: foldAll((node.args as Any[]).map((arg) => truth(sub(arg)))) };
      case 'or':
        return { is: 'truth', x: foldAny((node.args as Any[]).map((arg) => truth(sub(arg)))) };
      case 'any':
        return { is: 'truth', x: foldAny(this.#each(node)) };
      case 'all':
        return { is: 'truth', x: foldAll(this.#each(node)) };
      case 'count': {
        const each = this.#each(node);
        const t = each.filter((c) => c === true).length;
        return between(t, t + each.filter((c) => c === null).length);
      }
      default:
        return this.#aggregate(node);
    }
  }

  #each(node: Any): (boolean | null)[] {
    return this.#group.map((listing) => truth(this.worth(node.where as Any, listing)));
  }

  /** Elements that contribute, and those that may (DQL-21, DQL-33b). */
  parts(node: Any): { sure: { at: SlowListing; x: number }[]; open: { at: SlowListing; worth: Worth }[] } {
    const sure: { at: SlowListing; x: number }[] = [];
    const open: { at: SlowListing; worth: Worth }[] = [];
    for (const at of this.#group) {
      const holds = node.where === undefined ? true : truth(this.worth(node.where as Any, at));
      const worth = this.worth(node.expr as Any, at);
      const absent = worth.is === 'unknown' && (worth.status === 'not_published' || worth.status === 'off');
      if (holds === false || absent) continue;
      if (holds === true && worth.is === 'number') sure.push({ at, x: worth.x });
      else open.push({ at, worth });
    }
    return { sure, open };
  }

  /** Inputs that leave a value unknown or bounded, with none that outweighs them (L-10, DQL-33f). */
  causes(node: Any, at: SlowListing | null): Unknown[] {
    const worth = this.worth(node, at);
    if (worth.is === 'number' || worth.is === 'text' || (worth.is === 'truth' && worth.x !== null)) return [];
    const isRead = node.type === 'field' || node.type === 'source' || (node.type === 'call' && node.name !== 'abs');
    if (isRead) return worth.is === 'unknown' ? [worth] : [];
    if (node.type === 'any' || node.type === 'all' || node.type === 'count')
      return this.#group.flatMap((each) => this.causes(node.where as Any, each));
    if (node.type === 'agg') {
      const of = [node.where, node.expr].filter((side) => side !== undefined) as Any[];
      const open = this.parts(node).open.flatMap(({ at: each }) => of.flatMap((side) => this.causes(side, each)));
      return open.length === 0 && worth.is === 'unknown' ? [NOTHING] : open;
    }
    const children = [node.left, node.right, ...((node.args as Any[] | undefined) ?? [])] as (Any | undefined)[];
    const causes = children.flatMap((child) => (child === undefined ? [] : this.causes(child, at)));
    return causes.length === 0 && worth.is === 'unknown' ? [NOTHING] : causes;
  }

  #aggregate(node: Any): Worth {
    const { sure, open } = this.parts(node);
    const xs = sure.map(({ x }) => x);
    if (xs.length === 0 || (node.fn === 'sum' && open.length > 0)) return findFirst(open.map(({ worth }) => worth));
    if (node.fn === 'sum') return number(total(xs));
    const m = node.fn === 'max' ? Math.max(...xs) : Math.min(...xs);
    if (open.length === 0) return number(m);
    return node.fn === 'max' ? between(m, Number.POSITIVE_INFINITY) : between(Number.NEGATIVE_INFINITY, m);
  }
}

const between = (lo: number, hi: number): Worth => (lo === hi ? number(lo) : { is: 'between', lo, hi });
const truth = (worth: Worth): boolean | null => (worth.is === 'truth' ? worth.x : null);
const foldAny = (all: readonly (boolean | null)[]): boolean | null =>
  all.some((c) => c === true) ? true : all.some((c) => c === null) ? null : false;
const foldAll = (all: readonly (boolean | null)[]): boolean | null =>
  all.some((c) => c === false) ? false : all.some((c) => c === null) ? null : true;

const operate = (op: string, a: number, b: number): number =>
  op === '+' ? a + b : op === '-' ? a - b : op === '*' ? a * b : b === 0 ? Number.NaN : a / b;

const holds = (op: string, a: number | string, b: number | string): boolean =>
  op === '=' ? a === b : op === '<' ? a < b : op === '>' ? a > b : op === '<=' ? a <= b : a >= b;

/** DQL-17, written out as its table. */
const bounded = (op: string, lo: number, hi: number, k: number): boolean | null => {
  if (op === '>') return lo > k ? true : hi <= k ? false : null;
  if (op === '>=') return lo >= k ? true : hi < k ? false : null;
  if (op === '<') return hi < k ? true : lo >= k ? false : null;
  if (op === '<=') return hi <= k ? true : lo > k ? false : null;
  return k < lo || k > hi ? false : null;
};
const TURNED: Readonly<Record<string, string>> = { '>': '<', '<': '>', '>=': '<=', '<=': '>=', '=': '=' };

const compared = (op: string, a: Worth, b: Worth): boolean | null => {
  if (a.is === 'number' && b.is === 'number') return holds(op, a.x, b.x);
  if (a.is === 'text' && b.is === 'text') return holds(op, a.x, b.x);
  if (a.is === 'between' && b.is === 'number') return bounded(op, a.lo, a.hi, b.x);
  if (a.is === 'number' && b.is === 'between') return bounded(TURNED[op] ?? op, b.lo, b.hi, a.x);
  return null;
};

const MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const milliseconds = (text: string): number => Number(text.slice(0, -1)) * (MS[text.slice(-1)] ?? 0);
