// Assembles the rules of one process: states for callers, evaluation of its share, and the notifications of PostgreSQL that both need.
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { Registry } from '../../infra/runtime/process/metrics.ts';
import { startDeliveries } from './deliveries.ts';
import { type AgentRules, openAgentRules } from './desk.ts';
import { startEvaluator } from './evaluator.ts';
import type { FreshDeps } from './fresh.ts';
import { createImpatientStore } from './impatient-store.ts';
import { createRuleMetrics } from './metrics.ts';
import { openMoves, type RuleMoves } from './moves.ts';

/** The PostgreSQL channel for changed rules. */
export const RULES_CHANNEL = 'rules';
/** The PostgreSQL channel for moves. */
export const MOVES_CHANNEL = 'rule_moves';

type RulesDeps = FreshDeps & {
  readonly registry: Registry;
  /** Webhooks may lead to this machine: simulated runs only. */
  readonly allowsLoopback: boolean;
  readonly log: Logger;
};

export type Rules = {
  readonly desk: AgentRules;
  readonly moves: RuleMoves;
  readonly noteMove: (transitionId: string) => void;
  /** A rule was changed by any process; a missed change is read within a minute. */
  readonly noteChange: (ruleId: string) => void;
  /** Notices may have been missed: rules are read again, and streams receive the states again. */
  readonly noteAll: () => void;
  readonly stop: () => Promise<void>;
};

/** Needs no database to start. */
export const startRules = ({ registry, allowsLoopback, history, ...given }: RulesDeps): Rules => {
  const count = createRuleMetrics(registry);
  const deps = { ...given, history: history === null ? null : createImpatientStore(history) };
  const evaluator = startEvaluator({ ...deps, count });
  const { pool, log } = deps;
  const deliveries = startDeliveries({ pool, calls: { allowsLoopback, nowMs: Date.now }, count, log });
  const moves = openMoves(pool, log);
  return {
    desk: openAgentRules(deps),
    noteChange: evaluator.noteChange,
    noteAll: () => {
      evaluator.noteAll();
      moves.noteAll();
    },
    moves,
    noteMove: moves.note,
    async stop() {
      await deliveries.stop();
      await evaluator.stop();
    },
  };
};
