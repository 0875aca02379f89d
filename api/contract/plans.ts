// Plans and their limits, read from the one file that states them (AC-02).
import { ALL_LAYERS } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import table from './plans.json' with { type: 'json' };

/** Each covers what those before it cover. */
export const PLAN_CODES = ['free', 'mini', 'standard', 'pro', 'pro_plus'] as const;
export type PlanCode = (typeof PLAN_CODES)[number];

export type PlanLimits = {
  readonly requests_per_second: number;
  readonly burst: number;
  readonly requests_per_day: number;
  readonly concurrent_requests: number;
  readonly dql_per_day: number;
  readonly screen_limit: number;
  readonly snapshots_listings: number;
  readonly history_listings: number;
  readonly candles_listings: number;
  readonly books_listings: number;
  readonly book_depth: number;
  readonly streams: number;
  readonly stream_listings: number;
  readonly agent_rules: number;
  readonly agent_interval_min: string;
  readonly agent_evaluations_per_day: number;
  readonly archive_files_per_day: number;
  readonly keys: number;
};

export type Plan = {
  readonly code: PlanCode;
  readonly name: string;
  /** For a 30-day key. */
  readonly price_usd: number;
  /** How many venues and instruments the plan covers; null narrows none. */
  readonly venues: number | null;
  readonly instruments: number | null;
  readonly history_days: number | null;
  readonly layers: readonly string[];
  /** Raw history and `include_raw`. */
  readonly raw: boolean;
  readonly limits: PlanLimits;
};

/** Those of Pro, then those that no other plan has: a new layer is one of them until `plans.json` names it. */
const EVERY_LAYER = [...new Set([...table.pro.layers, ...ALL_LAYERS.map(({ name }) => name)])];

export const PLANS: Readonly<Record<PlanCode, Plan>> = {
  free: { code: 'free', ...table.free },
  mini: { code: 'mini', ...table.mini },
  standard: { code: 'standard', ...table.standard },
  pro: { code: 'pro', ...table.pro },
  pro_plus: { code: 'pro_plus', ...table.pro_plus, layers: EVERY_LAYER },
};

/** The earliest instant of a plan moves with the clock: one that the service has named stays valid for this time (H-09, AR-05). */
export const EARLIEST_HOLDS: Micros = 60_000_000;

export const isPlanCode = (text: string): text is PlanCode => PLAN_CODES.some((code) => code === text);

export const isNarrowing = (plan: Plan): boolean => plan.venues !== null || plan.instruments !== null;

/** Whether all that a plan covers is covered by the other one. */
export const isCovered = (code: PlanCode, by: PlanCode): boolean => PLAN_CODES.indexOf(code) <= PLAN_CODES.indexOf(by);

/** The plan of a code; Free for none and for an unknown one. */
export const findPlan = (code: string | null): Plan => PLANS[code !== null && isPlanCode(code) ? code : 'free'];
