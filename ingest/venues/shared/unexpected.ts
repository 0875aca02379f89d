// Counts, by kind, what a venue sends that its file does not know: the first live minutes show what no recording contains.
//
// Mappers return records only, and are synchronous: they note what they skip, and `watchUnexpected` reads the notes after the call.
import { type Unexpected, VenueError, VenueRefusal } from '../contract/listings.ts';
import type { MappedVenue } from '../contract/mapping.ts';

type Report = (kind: Unexpected) => void;

let report: Report | null = null;

/** Notes what a mapper skips. Without a watch nothing is counted. */
export const noteUnexpected = (kind: Unexpected): void => report?.(kind);

/** The result for a channel that is not read. */
export const noteUnread = (): readonly [] => {
  noteUnexpected('unread_channel');
  return [];
};

/** The venue with its mapping watched: `count` is called for each skipped part, unreadable message and listing with an unknown status. */
export const watchUnexpected = <V extends MappedVenue>(venue: V, count: Report): V => {
  const watch = <T>(run: () => T): T => {
    const outer = report;
    report = count;
    try {
      return run();
    } catch (error) {
      const kind = findKind(error);
      if (kind !== null) count(kind);
      throw error;
    } finally {
      report = outer;
    }
  };
  return {
    ...venue,
    map: (state, message, context) => watch(() => venue.map(state, message, context)),
    mapReference: (state, message) =>
      watch(() => {
        const answer = venue.mapReference(state, message);
        for (const { kind } of answer?.unreadable ?? []) count(kind);
        for (const { values } of answer?.listings ?? []) if (values.status === 'unknown') count('unknown_status');
        return answer;
      }),
  };
};

const findKind = (error: unknown): Unexpected | null => {
  if (error instanceof VenueRefusal) return 'refusal';
  return error instanceof VenueError ? error.kind : null;
};
