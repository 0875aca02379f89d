// Whether a reading is valid at an instant: status, reason, ages (L-07, F-01 to F-05). Pure; the same for live, history, stream and DQL.
import type { GapCause } from './gap-causes.ts';
import type { Micros } from './records.ts';
import type { Reading } from './topics.ts';

/** A venue lags when its watermark is more than this before the evaluation instant (L-07 `state_lag`). */
export const STATE_LAG: Micros = 5_000_000;

export type Policy = 'on' | 'off' | 'not_published';
export type Status = 'present' | 'stale' | 'missing' | 'not_published' | 'off';
export type Reason =
  | 'connection_lost'
  | 'state_lag'
  | 'horizon_unknown'
  | 'horizon_passed'
  | 'freshness_bound'
  | 'no_value'
  | 'gap'
  | 'venue_capability'
  | 'policy_off';

/** The reason of a layer that is not collected (L-07). */
export const REASON_OF_POLICY: Readonly<Record<Exclude<Policy, 'on'>, Reason>> = {
  off: 'policy_off',
  not_published: 'venue_capability',
};

/** The members of a reading that determine its validity. */
export type Held = Pick<Reading, 'valid' | 'gap_cause' | 'venue_ts' | 'received_at' | 'horizon_source' | 'valid_until'>;

export type StatusQuestion = {
  readonly reading: Held | null;
  readonly policy: Policy;
  /** When the reading's connection was lost; null while it is alive. */
  readonly lostAt: Micros | null;
  /** Effective freshness bound in milliseconds (F-03). */
  readonly boundMs: number;
  /** T. */
  readonly at: Micros;
  /** The venue's watermark is more than 5 s behind T; live answers only. */
  readonly stateLag: boolean;
};

export type StatusAnswer = {
  readonly status: Status;
  readonly reason: Reason | null;
  readonly gap_cause: GapCause | null;
  readonly age_ms: number | null;
  readonly venue_age_ms: number | null;
  readonly valid_until: Micros | null;
};

const computeAgeMs = (at: Micros, since: Micros | null): number | null =>
  since === null ? null : Math.floor((at - since) / 1000);

const toBareAnswer = (status: Status, reason: Reason): StatusAnswer => ({
  status,
  reason,
  gap_cause: null,
  age_ms: null,
  venue_age_ms: null,
  valid_until: null,
});

/** First reason in L-07's order why a valid reading is stale; null while it is not. */
const findStaleReason = (reading: Held, question: StatusQuestion, validUntil: Micros | null): Reason | null => {
  const { at, lostAt, stateLag, boundMs } = question;
  if (reading.horizon_source === 'connection' && lostAt !== null && lostAt <= at) return 'connection_lost';
  if (stateLag) return 'state_lag';
  // A horizon source without its instant counts as unknown too.
  const isUnknown = reading.horizon_source !== 'connection' && validUntil === null;
  if (reading.horizon_source === null || isUnknown) return 'horizon_unknown';
  if (validUntil !== null && validUntil < at) return 'horizon_passed';
  return (computeAgeMs(at, reading.received_at) ?? 0) > boundMs ? 'freshness_bound' : null;
};

/** Status of a layer at T (L-07). Ages are rounded down; `valid_until` of a connection horizon is the loss, if any. */
export const findStatusAt = (question: StatusQuestion): StatusAnswer => {
  const { reading, policy, at, lostAt } = question;
  if (policy !== 'on') return toBareAnswer(policy, REASON_OF_POLICY[policy]);
  if (reading === null) return toBareAnswer('missing', 'no_value');
  const lost = lostAt !== null && lostAt <= at ? lostAt : null;
  const validUntil = reading.horizon_source === 'connection' ? lost : reading.valid_until;
  const ages = {
    age_ms: computeAgeMs(at, reading.received_at),
    venue_age_ms: computeAgeMs(at, reading.venue_ts),
    valid_until: validUntil,
  };
  if (!reading.valid) return { status: 'missing', reason: 'gap', gap_cause: reading.gap_cause ?? 'unknown', ...ages };
  const reason = findStaleReason(reading, question, validUntil);
  return { status: reason === null ? 'present' : 'stale', reason, gap_cause: null, ...ages };
};

/**
 * The instant after which a reading is stale, fixed at storage (F-01). It counts from the venue's stamp, or from
 * receipt without a stamp or when the venue's clock is ahead (F-02). Null for connection horizons and unknown ones.
 */
export const computeValidUntil = (stored: {
  readonly venue_ts: Micros | null;
  readonly received_at: Micros;
  readonly horizon_ms: number | null;
  readonly horizon_source: string | null;
}): Micros | null => {
  if (stored.horizon_source === null || stored.horizon_source === 'connection' || stored.horizon_ms === null)
    return null;
  const from = stored.venue_ts === null ? stored.received_at : Math.min(stored.venue_ts, stored.received_at);
  return from + stored.horizon_ms * 1000;
};
