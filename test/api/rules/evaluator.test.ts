// Evaluators over one database, killed at random, against a slow evaluation of the log: every move is there, at its instant, once (AG-03, AG-06).
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import type { LiveMemory } from '../../../api/live/memory.ts';
import { type Evaluator, startEvaluator } from '../../../api/rules/evaluator.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import type { Micros } from '../../../schemas/records.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { waitFor } from '../../support/wait.ts';
import { emptyMemory, feedLog, type LogEntry, makeLog, SECOND } from './rule-log.ts';
import { compareMoves, isCaughtUp, listInstants, makeRules } from './rule-moves.ts';

const SEED = Number(process.env['RULES_SEED'] ?? Date.now() % 1_000_000);
const RULES = Number(process.env['RULES_COUNT'] ?? 30);
const SECONDS = Number(process.env['RULES_SECONDS'] ?? 60);
const LEASE_MS = 400;

/** The pool of a process that may die: from then on nothing it sends arrives, or what arrives is not answered. */
const mortal = (pool: Pool, random: () => number) => {
  let isDead = false;
  const query = async (...sent: unknown[]) => {
    if (isDead) throw new Error('killed');
    const done = await (pool.query as (...args: unknown[]) => Promise<unknown>)(...sent);
    if (isDead) throw new Error('killed');
    return done;
  };
  /** Dies at one of its next statements: before it, or before its answer. */
  const kill = async (): Promise<void> => {
    if (random() < 0.5) isDead = true;
    else await pool.query('select 1').then(() => (isDead = true));
  };
  return { pool: { query } as unknown as Pool, kill };
};

type Node = {
  readonly memory: LiveMemory;
  readonly evaluator: Evaluator;
  readonly kill: () => Promise<void>;
  now: Micros;
};

const startNode = (pool: Pool, random: () => number, now: Micros): Node => {
  const memory = emptyMemory();
  const life = mortal(pool, random);
  const node = { memory, kill: life.kill, now, evaluator: null as unknown as Evaluator };
  node.evaluator = startEvaluator({
    pool: life.pool,
    live: memory,
    history: null,
    choose: () => ({ venues: null, instruments: null }),
    nowMicros: () => node.now,
    count: createRuleMetrics(new Registry()),
    log: createLog('test', 'silent'),
    leaseMs: LEASE_MS,
  });
  return node;
};

t.setTimeout(900_000);

t.test(`rules of random queries while evaluators die (RULES_SEED=${SEED})`, async (t) => {
  const random = createRandom(SEED).next;
  const pool = await freshPool(t);
  const rules = await makeRules(pool, RULES, random);
  const from = (Math.floor(Date.now() / 1_000) + 1) * SECOND;
  const made = await pool.query<{ rule_id: string; after: string }>('select rule_id, after from rule_states');
  const madeAt = new Map(made.rows.map((row) => [row.rule_id, Number(row.after)]));
  const log = makeLog(random, from, SECONDS);
  const upTo = (second: number): readonly LogEntry[] => log.filter(({ at }) => at <= from + second * SECOND);
  const nodes = [startNode(pool, random, from), startNode(pool, random, from)];
  const retired: Node[] = [];
  for (let second = 1; second <= SECONDS; second++) {
    const now = from + second * SECOND;
    const entries = log.filter(({ at }) => at <= now && (second === 1 || at > now - SECOND));
    for (const node of nodes) {
      feedLog(node.memory, entries, random);
      node.now = now;
    }
    if (second % 7 === 0) {
      // One dies; another begins from the log, as a started process does.
      const i = Math.floor(random() * nodes.length);
      await nodes[i]?.kill();
      retired.push(nodes[i] as Node);
      nodes[i] = startNode(pool, random, now);
      feedLog((nodes[i] as Node).memory, upTo(second), random);
    }
    if (random() < 0.3 || second === SECONDS)
      await waitFor(`the instants up to second ${second}`, () => isCaughtUp(pool, rules, from, now));
  }
  for (const node of [...nodes, ...retired]) await node.evaluator.stop();

  const seen = await compareMoves(t, pool, {
    ...{ rules, log },
    listInstants: (rule) => listInstants(rule, madeAt.get(rule.ruleId) ?? 0, from + SECONDS * SECOND),
  });
  t.ok(seen.size >= 5, `moves between states: ${[...seen].join(', ')}`);
});
