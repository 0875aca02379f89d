// What a venue sends that its file does not know, counted by kind: the first live minutes judge what no recording holds.
//
// Mappers give records only, and are synchronous: what they pass over is noted beside the call, and `watchUnexpected` reads the notes after it.
import { type Unexpected, VenueError, VenueRefusal } from '../contract/listings.ts';
import type { MappedVenue } from '../contract/mapping.ts';

type Report = (kind: Unexpected) => void;

let report: Report | null = null;

/** Notes what a mapper passes over. Without a watch nobody counts. */
export const note = (kind: Unexpected): void => report?.(kind);

/** What a message of a channel that is not read gives. */
export const unread = (): readonly [] => {
  note('unread_channel');
  return [];
};

/** The venue with its mapping watched: `count` is called once for each thing passed over, unreadable message and listing of unknown status. */
export const watchUnexpected = <V extends MappedVenue>(venue: V, count: Report): V => {
  const watch = <T>(run: () => T): T => {
    const outer = report;
    report = count;
    try {
      return run();
    } catch (error) {
      const kind = kindOf(error);
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
        for (const { values } of answer?.listings ?? []) if (values.status === 'unknown') count('unknown_status');
        return answer;
      }),
  };
};

const kindOf = (error: unknown): Unexpected | null => {
  if (error instanceof VenueRefusal) return 'refusal';
  return error instanceof VenueError ? error.kind : null;
};
