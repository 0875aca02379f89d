// One row of a history answer, evaluated at its own instant (H-05, H-07, H-16b).
import { findStatusAt, type Policy, type StatusAnswer } from '../../schemas/freshness.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { ListingVersion } from '../../schemas/topics.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import { findMarkFor, type Mark, makeInstants, makeMembers } from '../live/members.ts';
import type { Row } from './row-groups.ts';
import type { StoredReading } from './stored-row.ts';

/** What a row is made of. */
export type RowFacts = {
  readonly at: Micros;
  readonly reading: StoredReading | null;
  /** Why there is no reading; null: none was ever received. */
  readonly gapCause: GapCause | null;
  readonly late: boolean;
  /** In force at `at`; null: nothing was known of the venue yet. */
  readonly policy: Policy | null;
  readonly lostAt: Micros | null;
  readonly boundMs: number;
  /** Rows before it are `not_retained`: before `not_listed` (H-16f), after `off` and `not_published` (L-07). */
  readonly retentionFrom: Micros;
  readonly units: UnitsMode;
  readonly allowStale: boolean;
  /** In force when the reading was recorded (H-16k). */
  readonly version: ListingVersion;
  /** The listing's mark at `at` when it is present. */
  readonly mark: () => Mark | null;
};

type Judged = Omit<StatusAnswer, 'reason'> & { readonly reason: string | null };

const judgeMissing = (reason: string, gapCause: GapCause | null): Judged => ({
  status: 'missing',
  reason,
  gap_cause: gapCause,
  age_ms: null,
  venue_age_ms: null,
  valid_until: null,
});

const judge = (facts: RowFacts): Judged => {
  const { at, reading, gapCause, policy, lostAt, boundMs, retentionFrom } = facts;
  if (at < retentionFrom && (policy === null || policy === 'on')) return judgeMissing('not_retained', null);
  if (reading === null && policy === 'on' && gapCause !== null) return judgeMissing('gap', gapCause);
  return findStatusAt({ reading, policy: policy ?? 'off', lostAt, boundMs, at, stateLag: false });
};

const DROPPED: ReadonlySet<string> = new Set(['missing', 'off', 'not_published']);

/** The row, or null when it has no reading to show and gaps are not wanted (H-07). */
export const makeRowObject = (facts: RowFacts, { includeGaps }: { readonly includeGaps: boolean }): Row | null => {
  const judged = judge(facts);
  if (!includeGaps && DROPPED.has(judged.status)) return null;
  const isSilent = judged.reason === 'not_retained' || judged.status === 'off' || judged.status === 'not_published';
  const reading = isSilent ? null : facts.reading;
  const isPresent = judged.status === 'present';
  const isShown = isPresent || (judged.status === 'stale' && facts.allowStale);
  const members =
    reading !== null && isShown ? makeMembers(reading, facts, findMarkFor(reading, facts, facts.mark)) : null;
  return {
    at: formatInstant(facts.at),
    // Not `makeStatusHead`: members that are spread behind another one take 5 to 11 % of the time of a row.
    status: judged.status,
    reason: judged.reason ?? undefined,
    gap_cause: judged.gap_cause ?? undefined,
    venue_ts: formatInstantOrNull(reading?.venue_ts ?? null),
    received_at: formatInstantOrNull(reading?.received_at ?? null),
    age_ms: judged.age_ms,
    venue_age_ms: judged.venue_age_ms,
    valid_until: formatInstantOrNull(judged.valid_until),
    horizon_source: reading?.horizon_source ?? null,
    anchor: reading?.anchor ?? null,
    values: isPresent ? (members?.values ?? {}) : {},
    instants: members !== null && reading !== null ? makeInstants(reading) : undefined,
    conversion: members?.conversion,
    withheld:
      members !== null && !isPresent ? { values: members.values, null_reasons: members.nullReasons } : undefined,
    null_reasons: isPresent ? members?.nullReasons : undefined,
    late: facts.late ? true : undefined,
  };
};
