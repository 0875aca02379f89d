// The content of a cell at an instant: a figure with its age, or the reason for its absence. A figure that may no longer be current is never shown (L-07).
import type { Reading } from './reading.ts';
import { describeReason, formatReason } from './reason-words.ts';

export type Cell =
  | { readonly kind: 'figure'; readonly digits: string; readonly unit: string; readonly ageMs: number }
  /** Stale or missing: hatched, without a number. */
  | { readonly kind: 'withheld'; readonly label: string; readonly words: string; readonly ageMs: number | null }
  /** Never there: not published, not collected. */
  | { readonly kind: 'absent'; readonly label: string; readonly words: string }
  /** The stream has not sent a reading yet. */
  | { readonly kind: 'waiting' };

export type CellTime = {
  /** By the service's clock. */
  readonly nowMs: number;
  /** Freshness bound of the layer, as `hello` states it. */
  readonly boundMs: number;
  /** When the page lost the stream; null: it receives the stream. */
  readonly lostSinceMs: number | null;
};

/** The stream reports the change within a second (ST-07); only when it does not, the page withholds the figure by itself. */
const GRACE_MS = 2_000;

const toMs = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

/** Milliseconds since we received it; null when nothing was received. */
export const computeAge = (reading: Reading, nowMs: number): number | null => {
  const at = toMs(reading.received_at);
  return at === null ? null : Math.max(0, nowMs - at);
};

type Why = { readonly reason: string; readonly cause?: string | undefined };

const makeWithheld = (reading: Reading, nowMs: number, { reason, cause }: Why): Cell => ({
  kind: 'withheld',
  label: formatReason(reason, cause),
  words: describeReason(reason, cause),
  ageMs: computeAge(reading, nowMs),
});

/** The reason that the page can derive by itself if the stream does not report it; null while the figure may be shown. */
const findOwnReason = (reading: Reading, { nowMs, boundMs, lostSinceMs }: CellTime): string | null => {
  if (lostSinceMs !== null) return 'stream_lost';
  const until = toMs(reading.valid_until);
  if (until !== null && nowMs > until + GRACE_MS) return 'horizon_passed';
  return (computeAge(reading, nowMs) ?? 0) > boundMs + GRACE_MS ? 'freshness_bound' : null;
};

export const toCell = (reading: Reading | undefined, member: string, time: CellTime): Cell => {
  if (reading === undefined) return { kind: 'waiting' };
  const { status, reason = status, gap_cause: cause } = reading;
  if (status === 'not_published' || status === 'off')
    return { kind: 'absent', label: formatReason(status), words: describeReason(reason) };
  if (status !== 'present') return makeWithheld(reading, time.nowMs, { reason, cause });
  const own = findOwnReason(reading, time);
  if (own !== null) return makeWithheld(reading, time.nowMs, { reason: own });
  const digits = reading.values[member];
  if (digits === undefined || digits === null)
    return makeWithheld(reading, time.nowMs, { reason: reading.null_reasons?.[member] ?? 'no_value' });
  return { kind: 'figure', digits, unit: reading.units?.[member] ?? '', ageMs: computeAge(reading, time.nowMs) ?? 0 };
};
