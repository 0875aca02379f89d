// Random lives of rules and webhooks over a real PostgreSQL: rules are made, changed, paused, evaluated by two processes and removed, receivers fail and
// are gone, senders die. Each move is the one that AG-06 has, and reaches every webhook that there was at it, never for a rule that was removed.
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { Sending } from '../../../api/rules/deliveries.ts';
import type { Outcome } from '../../../api/rules/evaluation.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import type { Rule, RuleDraft, RuleState } from '../../../api/rules/rule.ts';
import { changeRule, createRule, removeRule } from '../../../api/rules/store.ts';
import { addWebhook, enableWebhook, listWebhooks, removeWebhook } from '../../../api/rules/webhooks.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { isSignedWebhook } from '../../support/services/signed-webhook.ts';
import { startReceiver } from '../../support/services/webhook-receiver.ts';

t.setTimeout(0);
// More by hand: RULE_STEPS=5000 RULE_SEED=3 npm test -- rules/moves-model.
const STEPS = Number(process.env.RULE_STEPS ?? 220);
const SEED = Number(process.env.RULE_SEED ?? 1);
const OWNER = { accountId: 'acc_a', actor: 'test' };
const QUERIES = ['any(venues where mark > 1)', 'any(venues where mark > 2)'];
const STATES: readonly RuleState[] = ['true', 'false', 'unknown'];
/** The clock of everything that is stored, this much further. */
const LATER = `update rule_deliveries set next_at = next_at - $1::interval, made_at = made_at - $1::interval, ended_at = ended_at - $1::interval`;

type Move = { readonly from: RuleState; readonly to: RuleState; readonly at: number | null };
/** A rule as AG-06 has it. */
type Modelled = { rule: Rule; state: RuleState; after: number; readonly moves: Move[]; isRemoved: boolean };
type Hook = { readonly id: string; readonly secret: string; readonly path: string; isRemoved: boolean; isOn: boolean };
/** A message that a webhook is to get. */
type Due = { readonly hook: Hook; readonly of: Modelled; readonly move: Move };
type Message = { id: string; rule_id: string; at: string; previous_state: RuleState; state: RuleState };

const toOutcome = (state: RuleState): Outcome => ({
  ...{ state, reason: state === 'unknown' ? 'stale_input' : null, matched: [], matchedTotal: 0 },
  ...{ unknown: [], unknownTotal: 0 },
});

class World {
  readonly rules: Modelled[] = [];
  readonly hooks: Hook[] = [];
  readonly due: Due[] = [];
  readonly faults: string[] = [];
  readonly #pool: Pool;
  readonly #random: () => number;
  readonly #url: string;
  #at = (Date.now() + 60_000) * 1_000;
  #made = 0;

  constructor(pool: Pool, random: () => number, url: string) {
    this.#pool = pool;
    this.#random = random;
    this.#url = url;
  }

  #choose<T>(all: readonly T[]): T | undefined {
    return all[Math.floor(this.#random() * all.length)];
  }

  get #live(): readonly Modelled[] {
    return this.rules.filter(({ isRemoved }) => !isRemoved);
  }

  get liveHooks(): readonly Hook[] {
    return this.hooks.filter(({ isRemoved }) => !isRemoved);
  }

  readonly #steps: readonly (readonly [number, () => Promise<void>])[] = [
    [20, () => this.#evaluate()],
    [3, () => this.#make()],
    [6, () => this.#change()],
    [1, () => this.#remove()],
    [2, () => this.#addHook()],
    [1, () => this.#removeHook()],
    [2, () => this.#enableHook()],
    [10, () => this.deliver()],
    [2, () => this.#dieSending()],
    [
      4,
      () =>
        this.pass(
          this.#choose(['31 seconds', '10 minutes', '2 hours', '31 seconds', '10 minutes', '2 hours', '25 hours']) ??
            '',
        ),
    ],
  ];

  async step(): Promise<void> {
    let at = this.#random() * this.#steps.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, work] of this.#steps) {
      at -= weight;
      if (at < 0) return work();
    }
  }

  #note(of: Modelled, to: RuleState, at: number | null): void {
    if (of.state === to) return;
    const move = { from: of.state, to, at };
    of.state = to;
    of.moves.push(move);
    for (const hook of this.liveHooks) if (hook.isOn) this.due.push({ hook, of, move });
  }

  /** Two processes find the same of an instant, which may be an old one, or of a rule that was changed meanwhile. */
  async #evaluate(): Promise<void> {
    const evaluated = this.#live.filter(() => this.#random() < 0.6);
    this.#at += 1_000_000;
    const rows = evaluated.map((of) => {
      const state = this.#choose(STATES) ?? 'unknown';
      const version = of.rule.version - (this.#random() < 0.1 ? 1 : 0);
      const at = this.#at - (this.#random() < 0.1 ? 3_000_000 : 0);
      return { of, state, rule: { ruleId: of.rule.ruleId, version }, at, outcome: toOutcome(state) };
    });
    await Promise.all([recordEvaluations(this.#pool, rows), recordEvaluations(this.#pool, rows)]);
    for (const { of, state, rule, at } of rows) {
      if (rule.version !== of.rule.version || at <= of.after) continue;
      of.after = at;
      this.#note(of, state, at);
    }
  }

  async #make(): Promise<void> {
    if (this.#live.length >= 12) return;
    const draft: RuleDraft = {
      ...{ name: `rule ${this.rules.length}`, query: QUERIES[0] ?? '', intervalS: 60, units: 'published' },
      ...{ freshness: null, enabled: this.#random() < 0.9, shared: false },
    };
    const rule = await createRule(this.#pool, draft, OWNER);
    this.rules.push({ rule, state: 'unknown', after: Date.now() * 1_000, moves: [], isRemoved: false });
  }

  async #change(): Promise<void> {
    const of = this.#choose(this.#live);
    if (of === undefined) return;
    const before = of.rule;
    const draft: Partial<RuleDraft> = this.#choose([
      { name: `${before.name}+`.slice(0, 50) },
      { enabled: !before.enabled },
      { query: this.#choose(QUERIES) ?? '' },
      { units: 'base' as const, enabled: true },
      { freshness: this.#choose([null, '4s', { mark: '4s' }]) ?? null },
    ]) as Partial<RuleDraft>;
    of.rule = await changeRule(this.#pool, { ruleId: before.ruleId, draft }, OWNER);
    const { enabled, query, units, freshness } = of.rule;
    const isOther =
      query !== before.query ||
      units !== before.units ||
      JSON.stringify(freshness) !== JSON.stringify(before.freshness);
    if ((!enabled && before.enabled) || (enabled && (!before.enabled || isOther))) this.#note(of, 'unknown', null);
  }

  async #remove(): Promise<void> {
    const of = this.#choose(this.#live);
    if (of === undefined) return;
    await removeRule(this.#pool, of.rule.ruleId, OWNER);
    of.isRemoved = true;
  }

  async #addHook(): Promise<void> {
    if (this.liveHooks.length >= 5) return;
    const path = `/hook/${this.#made++}`;
    const wanted = { accountId: OWNER.accountId, url: `${this.#url}${path}`, allowsLoopback: true };
    const { webhookId: id, secret } = await addWebhook(this.#pool, wanted);
    this.hooks.push({ id, secret, path, isRemoved: false, isOn: true });
  }

  async #removeHook(): Promise<void> {
    const hook = this.#choose(this.liveHooks);
    if (hook === undefined) return;
    await removeWebhook(this.#pool, hook.id, OWNER.accountId);
    hook.isRemoved = true;
  }

  async #enableHook(): Promise<void> {
    const hook = this.#choose(this.liveHooks.filter(({ isOn }) => !isOn));
    if (hook === undefined) return;
    await enableWebhook(this.#pool, hook.id, OWNER.accountId);
    hook.isOn = true;
  }

  #openSending(pool: Pick<Pool, 'query'>): Sending {
    const deps = { pool, count: createRuleMetrics(new Registry()), log: createLog('test', 'silent') };
    return new Sending({ ...deps, calls: { allowsLoopback: true, nowMs: Date.now } }, () => undefined);
  }

  /** Two processes send what is due. */
  async deliver(): Promise<void> {
    const both = [this.#openSending(this.#pool), this.#openSending(this.#pool)];
    await Promise.all(both.map((sending) => sending.begin()));
    await Promise.all(both.map((sending) => sending.allEnd()));
    // What a receiver answers may disable its webhook.
    const listed = new Map((await listWebhooks(this.#pool, OWNER.accountId)).map((hook) => [hook.webhook_id, hook]));
    for (const hook of this.liveHooks) hook.isOn = listed.get(hook.id)?.disabled_at === null;
  }

  /** A process that dies with its messages on their way: what became of them it notes no more. */
  async #dieSending(): Promise<void> {
    let queries = 0;
    const query = (...args: Parameters<Pool['query']>) =>
      queries++ === 0 ? this.#pool.query(...args) : Promise.reject(new Error('the process is dead'));
    const sending = this.#openSending({ query: query as unknown as Pool['query'] });
    await sending.begin();
    await sending.allEnd();
  }

  async pass(time: string): Promise<void> {
    await this.#pool.query(LATER, [time]);
  }

  isRemoved(ruleId: string): boolean {
    return this.rules.find(({ rule }) => rule.ruleId === ruleId)?.isRemoved ?? true;
  }
}

type Stored = { from_state: string; to_state: string };
/** The moves of a rule are those of the model, in the order of their instants. */
const compareMoves = async (t: Pick<typeof import('tap').t, 'same'>, pool: Pool, { rules }: World): Promise<void> => {
  for (const { rule, moves, isRemoved } of rules) {
    const { rows } = await pool.query<Stored>(
      'select from_state, to_state from rule_transitions where rule_id = $1 order by at, transition_id',
      [rule.ruleId],
    );
    const wanted = isRemoved ? [] : moves.map(({ from, to }) => `${from} > ${to}`);
    t.same(
      rows.map(({ from_state, to_state }) => `${from_state} > ${to_state}`),
      wanted,
      rule.name,
    );
  }
};

t.test(`each move is made once and delivered, RULE_STEPS=${STEPS} RULE_SEED=${SEED}`, async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const random = createRandom(SEED).next;
  let isWell = false;
  const { received, url } = await startReceiver(t, (reply) => {
    const status = isWell || random() < 0.6 ? 200 : random() < 0.9 ? 500 : 410;
    taken.push(status === 200);
    reply.writeHead(status).end();
  });
  const taken: boolean[] = [];
  const world = new World(pool, random, new URL(url).origin);
  const bodies = new Map<string, string>();
  const got = new Set<string>();
  let looked = 0;
  const look = (): void => {
    for (; looked < received.length; looked++) {
      const { headers, body, path } = received[looked] as (typeof received)[number];
      const hook = world.hooks.find((each) => each.path === path);
      const { id, rule_id, previous_state, state } = JSON.parse(body) as Message;
      t.ok(
        hook !== undefined && !hook.isRemoved && !world.isRemoved(rule_id),
        'sent to a webhook that there is, of a rule that there is',
      );
      const signature = String(headers['x-service-signature']);
      const signed = { secret: hook?.secret ?? '', body, seconds: Date.now() / 1_000, withinS: 60 };
      t.ok(isSignedWebhook(signature, signed), 'signed with its secret');
      t.equal(bodies.get(id) ?? body, body, 'the same body at every attempt');
      bodies.set(id, body);
      if (taken[looked]) got.add(`${path} ${rule_id} ${previous_state} > ${state} ${id}`);
    }
  };
  for (let i = 0; i < STEPS; i++) {
    await world.step();
    look();
  }
  await compareMoves(t, pool, world);
  isWell = true;
  for (const hook of world.liveHooks) if (!hook.isOn) await enableWebhook(pool, hook.id, OWNER.accountId);
  for (;;) {
    await pool.query("update rule_deliveries set next_at = now() - interval '1 second' where state = 'waiting'");
    const { rows } = await pool.query("select 1 from rule_deliveries where state = 'waiting'");
    if (rows.length === 0) break;
    await world.deliver();
    look();
  }
  const { rows: dead } = await pool.query<{ url: string; transition_id: string }>(
    "select w.url, d.transition_id from rule_deliveries d join rule_webhooks w using (webhook_id) where d.state = 'dead'",
  );
  const isGot = new Set([...got].map((one) => `${one.split(' ')[0]} ${one.split(' ').at(-1)}`));
  // One that arrived from a process that died, and was refused at every later attempt, is given up all the same.
  const givenUp = dead.filter(
    ({ url: to, transition_id }) => !isGot.has(`${new URL(to).pathname} move_${transition_id}`),
  );
  // Of each webhook and rule that there still is: as many messages of a kind as moves of it, but for those that were given up.
  const count = (all: readonly string[]): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
    return counts;
  };
  const wanted = count(
    world.due
      .filter(({ hook, of }) => !hook.isRemoved && !of.isRemoved)
      .map(({ hook, of, move }) => `${hook.path} ${of.rule.ruleId} ${move.from} > ${move.to}`),
  );
  const found = count([...got].map((one) => one.slice(0, one.lastIndexOf(' '))));
  let missed = 0;
  for (const [kind, times] of wanted) {
    const has = found.get(kind) ?? 0;
    t.ok(has <= times, `${kind}: ${has} of ${times}`);
    missed += times - has;
  }
  t.equal(missed, givenUp.length, 'what is missing was given up');
});
