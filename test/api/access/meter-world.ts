// A model of the limits of one key: two processes, their store, and everything that may happen between them, with what AC-03 promises of it.
import { setImmediate as takeTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { computeAhead, type Limits } from '../../../api/access/held-permits.ts';
import { Meter } from '../../../api/access/meter.ts';
import type { Ask, Grant, PermitExchange, Permits } from '../../../api/access/permits.ts';

export const DAY_MS = 86_400_000;
/** A quarter of a minute before a midnight. */
const BEGIN_MS = Date.UTC(2026, 0, 15) - 15_000;
export const NODES = 2;
const KEY = 'key';
export const LIMITS: readonly Limits[] = [
  { requests_per_second: 2, burst: 4, requests_per_day: 12, concurrent_requests: null },
  { requests_per_second: 40, burst: 80, requests_per_day: 90, concurrent_requests: null },
];

const node = fc.nat(NODES - 1);
export const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('ask' as const), node, count: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('finish' as const),
      status: fc.constantFrom(200, 200, 404, 503, 401, 304),
      count: fc.integer({ min: 1, max: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('put back' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('settle' as const), node, idleMs: fc.constantFrom(0, 500) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('both' as const),
      node,
      count: fc.integer({ min: 1, max: 12 }),
      late: fc.constantFrom('question' as const, 'confirmation' as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 30, 250, 1_000, 2_500, 14_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('store' as const),
      mode: fc.constantFrom('up' as const, 'up' as const, 'away' as const, 'loses' as const),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
/** The store as AC-03 has it: one bucket, days that only go on, and reports that count once. */
class Store {
  mode: 'up' | 'away' | 'loses' = 'up';
  /** What waits on its way: questions before the store has them, or its answers to reports. */
  late: { readonly question?: Promise<void>; readonly confirmation?: Promise<void> } = {};
  nowMs = BEGIN_MS;
  readonly used = new Map<string, number>();
  readonly granted = new Map<string, number>();
  #tokens = Number.NaN;
  #filledMs = BEGIN_MS;
  #day = '';
  readonly #reported = new Map<number, number>();

  /** As one process sees it. */
  permitsOf(of: number): Permits {
    return {
      exchange: async (asks) => {
        await this.late.question;
        return this.#answer(() => asks.map((ask) => this.#take(ask)));
      },
      report: async (sent) => {
        const answer = await this.#answer(() => this.#report(of, sent));
        await this.late.confirmation;
        return answer;
      },
    };
  }

  get level(): number {
    return this.#tokens;
  }

  async #answer<T>(work: () => T): Promise<T> {
    if (this.mode === 'away') throw new Error('connection refused');
    const answer = work();
    if (this.mode === 'loses') throw new Error('connection reset by peer');
    return answer;
  }

  #report(of: number, { number, asks }: PermitExchange): Grant[] {
    const isNew = number > (this.#reported.get(of) ?? 0);
    if (isNew) this.#reported.set(of, number);
    return asks.map((ask) => this.#take(isNew ? ask : { ...ask, returned: 0, dayChange: 0, used: {} }));
  }

  #take(ask: Ask): Grant {
    if (Number.isNaN(this.#tokens)) this.#tokens = ask.burst;
    if (ask.day > this.#day) this.#day = ask.day;
    const isToday = ask.day === this.#day;
    const granted = (this.granted.get(this.#day) ?? 0) + (isToday ? ask.dayChange : 0);
    const filled = this.#tokens + ask.returned + ((this.nowMs - this.#filledMs) / 1_000) * ask.rate;
    this.#filledMs = this.nowMs;
    this.#tokens = Math.max(-ask.burst, Math.min(ask.burst, filled));
    const wanted = Math.max(ask.waiting, Math.min(ask.ahead, Math.floor(this.#tokens / 4)));
    const permits = Math.max(0, Math.min(wanted, Math.floor(this.#tokens), ask.dayLimit - granted));
    this.#tokens -= permits;
    this.granted.set(this.#day, granted + permits);
    for (const [of, count] of Object.entries(ask.used)) this.used.set(of, (this.used.get(of) ?? 0) + count);
    return { permits, tokens: this.#tokens, granted: granted + permits };
  }
}

type Open = { readonly node: number; readonly day: number };

export class World {
  readonly store = new Store();
  readonly limits: Limits;
  readonly #meters = Array.from({ length: NODES }, (_, i) => new Meter(this.store.permitsOf(i)));
  #open: Open[] = [];
  /** Instants of admissions. */
  readonly #admitted: number[] = [];
  /** Counted requests by the day of their admission. */
  readonly #countedOf = new Map<number, number>();
  #counted = 0;
  /** What each process has given back to the day and not reported. */
  readonly #returned = Array.from({ length: NODES }, () => 0);
  /** What was given back of a day while its process had earlier ones open: it is taken for one of those, and no room of the day. */
  readonly #lostOf = new Map<number, number>();
  /** When each process last refused: it does not ask again before there may be a permit. */
  readonly #refusedMs = Array.from({ length: NODES }, () => Number.NEGATIVE_INFINITY);
  /** Refusals although there was room. */
  readonly faults: string[] = [];

  constructor(limits: Limits) {
    this.limits = limits;
  }

  get #day(): number {
    return Math.floor(this.store.nowMs / DAY_MS);
  }

  async perform(each: Step, isSafe: boolean): Promise<void> {
    switch (each.kind) {
      case 'ask':
        await this.ask(each.node, each.count);
        return;
      case 'finish':
        for (let i = 0; i < each.count; i++) this.#finish(each.status);
        return;
      case 'put back': {
        const open = this.#open.pop();
        if (open === undefined) return;
        this.#meter(open.node).putBack(KEY);
        this.#giveBack(open);
        // The newest of those that are open is the newest of all.
        this.#admitted.pop();
        return;
      }
      case 'settle':
        await this.#settle(each.node, each.idleMs);
        return;
      case 'both':
        await this.askWhileSettling(each.node, each.count, each.late);
        return;
      case 'pass':
        this.store.nowMs += each.ms;
        return;
      case 'store':
        if (!isSafe) this.store.mode = each.mode;
        return;
      default:
        each satisfies never;
    }
  }

  #meter(of: number): Meter {
    return this.#meters[of] as Meter;
  }

  async #settle(of: number, idleMs: number): Promise<void> {
    await this.#meter(of)
      .settle(this.store.nowMs, { idleMs })
      .then(
        () => this.#returned.fill(0, of, of + 1),
        () => undefined,
      );
  }

  /** Requests while a report is on its way: it overtakes their question, or the store has it and its answer is late. */
  async askWhileSettling(of: number, count: number, late: 'question' | 'confirmation'): Promise<number> {
    const arrival = Promise.withResolvers<void>();
    this.store.late = { [late]: arrival.promise };
    // The question states what was known when it was asked.
    const early = late === 'question' ? this.ask(of, count) : null;
    const settled = this.#settle(of, 0);
    await takeTurn();
    const asked = early ?? this.ask(of, count);
    await takeTurn();
    this.store.late = {};
    arrival.resolve();
    await settled;
    return asked;
  }

  /** So many requests at once; how many pass. */
  async ask(of: number, count: number): Promise<number> {
    const { nowMs } = this.store;
    const answers = await Promise.all(
      Array.from({ length: count }, () => this.#meter(of).admit(KEY, this.limits, nowMs)),
    );
    const passed = answers.filter((refusal) => refusal === null).length;
    const refusal = answers.find((answer) => answer !== null);
    if (refusal) this.#judgeRefusal(of, refusal.limit, passed);
    for (let i = 0; i < passed; i++) {
      this.#open.push({ node: of, day: this.#day });
      this.#admitted.push(nowMs);
    }
    return passed;
  }

  #giveBack({ node: of, day }: Open): void {
    this.#returned[of] = (this.#returned[of] ?? 0) + 1;
    if (this.#open.some((other) => other.node === of && other.day < day))
      this.#lostOf.set(day, (this.#lostOf.get(day) ?? 0) + 1);
  }

  /** A day is full by what was counted, is open, or is held or was given back where this process cannot know of it. */
  #judgeRefusal(of: number, limit: string, passed: number): void {
    const { nowMs } = this.store;
    const { requests_per_second: rate, requests_per_day: day } = this.limits;
    const isKnown = nowMs - (this.#refusedMs[of] ?? 0) < Math.max(1_000, 2_000 / rate);
    if (isKnown) return;
    this.#refusedMs[of] = nowMs;
    if (limit === 'requests_per_second') {
      if (this.store.level >= 1) this.faults.push(`refused for the second at a level of ${this.store.level}`);
      return;
    }
    const elsewhere = this.#returned.reduce((sum, count, i) => (i === of ? sum : sum + count), 0);
    const open = this.#open.filter((each) => each.day === this.#day).length;
    const known = (this.#countedOf.get(this.#day) ?? 0) + open + passed;
    const lost = this.#lostOf.get(this.#day) ?? 0;
    if (known + elsewhere + lost + NODES * computeAhead(this.limits) < day)
      this.faults.push(`refused for the day at ${known} of ${day}`);
  }

  #finish(status: number): void {
    const open = this.#open.shift();
    if (open === undefined) return;
    this.#meter(open.node).finish(KEY, 'snapshots', status);
    if (status >= 500 || status === 401 || status === 304) return this.#giveBack(open);
    this.#counted += 1;
    this.#countedOf.set(open.day, (this.#countedOf.get(open.day) ?? 0) + 1);
  }

  /** What is open or counted of a day is within it; admissions are within the bucket, from any of them on. */
  *findExcess(): Generator<string> {
    const { requests_per_second: rate, burst, requests_per_day: day } = this.limits;
    for (const [of, counted] of this.#countedOf) {
      const open = this.#open.filter((each) => each.day === of).length;
      if (counted + open > day) yield `${counted} counted and ${open} open of ${day}`;
    }
    const held = NODES * computeAhead(this.limits);
    const last = this.#admitted.at(-1) ?? 0;
    for (const [i, from] of this.#admitted.entries()) {
      const most = burst + held + ((last - from) / 1_000) * rate;
      if (this.#admitted.length - i > most + 1e-6) yield `${this.#admitted.length - i} passed, ${most} may`;
    }
  }

  /** Everything is over, reported, and the store answers. */
  async settle(): Promise<void> {
    while (this.#open.length > 0) this.#finish(200);
    this.store.mode = 'up';
    for (let i = 0; i < 2; i++) {
      // Longer than a process leaves a store alone that failed.
      this.store.nowMs += 2_001;
      for (const meter of this.#meters) await meter.settle(this.store.nowMs, { idleMs: 0 });
    }
  }

  get faultOfCounts(): string | null {
    const stored = this.store.used.get('snapshots') ?? 0;
    return stored === this.#counted ? null : `${stored} stored of ${this.#counted} counted`;
  }
}
