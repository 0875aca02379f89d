// The listing's own mark at a past instant, which conversions of quantities are made with (N-07).
import { statusAt } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion } from '../../schemas/topics.ts';
import { versionAt } from '../live/listing-book.ts';
import { findPolicy } from '../live/listing-view.ts';
import type { Mark } from '../live/members.ts';
import type { Losses } from './gather.ts';
import { newestAt, type ReadingRow } from './series.ts';

/** What is known of a listing's marks over an answer. */
export type Marks = {
  readonly venue: string;
  readonly capabilities: readonly CapabilityVersion[];
  readonly losses: Losses;
  /** Ascending by window. */
  readonly rows: readonly ReadingRow[];
  readonly boundMs: number;
};

/** The mark at an instant, when it is present there under the bound in force. */
export const markAt = ({ venue, capabilities, losses, rows, boundMs }: Marks, at: Micros): Mark | null => {
  const row = newestAt(rows, at);
  const digits = row?.reading.values.mark;
  if (row === null || digits === undefined) return null;
  const { status } = statusAt({
    reading: row.reading,
    policy: findPolicy(versionAt(capabilities, at), 'mark'),
    lostAt: losses(venue, row.reading, at),
    boundMs,
    at,
    stateLag: false,
  });
  return status === 'present' ? { digits, receivedAt: row.reading.received_at } : null;
};
