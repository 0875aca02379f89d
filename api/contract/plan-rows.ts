// What each plan covers and allows, as rows of a table: a name, then a cell for each plan. Documents and pages print it (AC-02).
import { PLANS, type PlanLimits } from './plans.ts';

const PLAN_LIST = Object.values(PLANS);
const LIMIT_NAMES = Object.keys(PLANS.free.limits) as (keyof PlanLimits)[];
/** Layers that not every plan has. */
export const SOLD_LAYERS = PLANS.pro_plus.layers.filter((layer) => !PLANS.free.layers.includes(layer));

const formatLimit = (figure: number | null): string => (figure === null ? 'all' : printFigure(figure));
const printFigure = (figure: number | string): string =>
  typeof figure === 'number' ? figure.toLocaleString('en-US') : figure;

export const PLAN_NAMES: readonly string[] = PLAN_LIST.map(({ name }) => name);

export const PLAN_ROWS: readonly (readonly string[])[] = [
  ['US dollars for 30 days', ...PLAN_LIST.map(({ price_usd }) => printFigure(price_usd))],
  ['venues', ...PLAN_LIST.map(({ venues }) => formatLimit(venues))],
  ['instruments', ...PLAN_LIST.map(({ instruments }) => formatLimit(instruments))],
  ['days of history', ...PLAN_LIST.map(({ history_days }) => formatLimit(history_days))],
  ['raw messages and rows', ...PLAN_LIST.map(({ raw }) => (raw ? 'yes' : 'no'))],
  ...SOLD_LAYERS.map((layer) => [
    `layer \`${layer}\``,
    ...PLAN_LIST.map(({ layers }) => (layers.includes(layer) ? 'yes' : 'no')),
  ]),
  ...LIMIT_NAMES.map((limit) => [`\`${limit}\``, ...PLAN_LIST.map((plan) => printFigure(plan.limits[limit]))]),
];
