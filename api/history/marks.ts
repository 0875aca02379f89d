// The listing's own mark at a past instant, with which quantities are converted (N-07).
import { findStatusAt } from '../../schemas/freshness.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion } from '../../schemas/topics.ts';
import { findVersionAt, type LiveListing } from '../live/listing-book.ts';
import { findHeldAt } from '../live/listing-view.ts';
import type { Mark } from '../live/members.ts';
import type { Losses } from './gather.ts';
import { findNewestAt, type ReadingRow } from './series.ts';

/** The known marks of a listing within the period of an answer. */
export type Marks = {
  readonly listing: Pick<LiveListing, 'venue' | 'venueSymbol' | 'versions'>;
  readonly capabilities: readonly CapabilityVersion[];
  readonly losses: Losses;
  /** Ascending by window. */
  readonly rows: readonly ReadingRow[];
  readonly boundMs: number;
};

/** The mark at an instant, when it is present there under the bound in force. */
export const findMarkAt = ({ listing, capabilities, losses, rows, boundMs }: Marks, at: Micros): Mark | null => {
  const { versions } = listing;
  const reading = findHeldAt(findNewestAt(rows, at)?.reading ?? null, { capabilities, versions, at });
  const digits = reading?.values.mark;
  if (reading === null || digits === undefined) return null;
  const { status } = findStatusAt({
    reading,
    policy: findListingPolicy(findVersionAt(capabilities, at), 'mark', findVersionAt(versions, at)),
    lostAt: losses(listing, reading, at),
    boundMs,
    at,
    stateLag: false,
  });
  return status === 'present' ? { digits, receivedAt: reading.received_at } : null;
};
