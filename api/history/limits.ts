// The limits of a history answer: it must be within the plan, not finer than stored history, and not larger than an answer may be (H-04, H-08, H-09).
import { formatDuration } from '../../schemas/durations.ts';
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant, MICROS_PER_SECOND } from '../../schemas/instants.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { ENDPOINT_LIMITS } from '../contract/endpoint-limits.ts';
import type { Plan } from '../contract/plans.ts';
import { countRows } from './answer.ts';
import { type RequestedTimes, toWindowMicros } from './gather.ts';
import { findReachRefusals } from './past.ts';
import { findFirstInstant, type Input } from './request.ts';

const ROWS_PER_LAYER = ENDPOINT_LIMITS.history_rows_per_layer;
const RAW_ROWS = ENDPOINT_LIMITS.history_raw_rows;

/** A request, the times that it reads, and the plan of its key. */
type PlannedRequest = { readonly input: Input; readonly asked: RequestedTimes; readonly plan: Plan };

/** Raw rows, and how far back the plan reaches. */
export const findPlanRefusals = ({ input, asked, plan }: PlannedRequest, evaluatedAt: Micros): ApiError[] => {
  const refusals: ApiError[] = [];
  if (input.raw === true && !plan.raw) {
    const message = `The plan ${plan.name} has no raw history.`;
    refusals.push({ code: 'PLAN_LIMIT', message, hint: 'Send an interval, or use Standard or above.', path: '/raw' });
  }
  const path = asked.mode !== 'at' ? '/from' : input.at === undefined ? '/as_of' : '/at/0';
  refusals.push(...findReachRefusals(findFirstInstant(asked), plan, { evaluatedAt, path }));
  return refusals;
};

/** Periods shorter than the sampling window of a layer. */
export const findCadenceLimits = (asked: RequestedTimes, layers: readonly ReadingLayer[]): ApiError[] => {
  if (asked.mode !== 'interval') return [];
  const slower = layers.filter((layer) => toWindowMicros(layer) > asked.length);
  if (slower.length === 0) return [];
  const named = slower.map((layer) => `${layer} (${formatDuration(LAYERS[layer].windowMs)})`).join(', ');
  const message = `The interval ${formatDuration(asked.length / 1_000)} is below the history cadence of ${named}.`;
  return [{ code: 'DQL_LIMIT', message, hint: 'Send a longer interval, or name other layers.', path: '/interval' }];
};

/** Rows of a listing and layer. */
export const findRowLimits = (asked: RequestedTimes): ApiError[] => {
  if (asked.mode === 'raw') return [];
  const rows = countRows(asked, 'ticker');
  if (rows <= ROWS_PER_LAYER) return [];
  const message = `A listing and layer would have ${rows} rows, the limit is ${ROWS_PER_LAYER}.`;
  if (asked.mode === 'at')
    return [{ code: 'DQL_LIMIT', message, hint: `Send ${ROWS_PER_LAYER} instants.`, path: '/at' }];
  const reach = formatInstant(asked.from + ROWS_PER_LAYER * asked.length);
  const hint = `The largest window that fits is ${(ROWS_PER_LAYER * asked.length) / MICROS_PER_SECOND}s: send to ${reach}.`;
  return [{ code: 'DQL_LIMIT', message, hint, path: '/to' }];
};

/** Bytes of a raw row, more than nearly all of them have: a hint names a window whose answer also fits by its bytes. */
const RAW_ROW_BYTES = 400;
const MOST_HINTED_ROWS = Math.min(RAW_ROWS, Math.floor(ENDPOINT_LIMITS.response_bytes / RAW_ROW_BYTES));

/** Rows of a raw answer are known ahead: a stored row, or its absence, for every window. */
export const findRawLimits = (asked: RequestedTimes, layers: readonly ReadingLayer[], listings: number): ApiError[] => {
  if (asked.mode !== 'raw') return [];
  const rows = layers.reduce((sum, layer) => sum + countRows(asked, layer) * listings, 0);
  if (rows <= RAW_ROWS) return [];
  const longest = Math.max(...layers.map(toWindowMicros));
  const perLongest =
    layers.reduce((sum, layer) => sum + countRows({ ...asked, from: 0, to: longest }, layer), 0) * listings;
  // One window of each layer may be cut by `from`.
  const fits = Math.max(1, Math.floor((MOST_HINTED_ROWS - layers.length * listings) / perLongest)) * longest;
  const message = `The answer would have ${rows} rows, the limit is ${RAW_ROWS}.`;
  const hint = `One answer reaches to ${formatInstant(asked.from + fits)} (${fits / MICROS_PER_SECOND}s): continue from there.`;
  return [{ code: 'DQL_LIMIT', message, hint, path: '/to' }];
};
