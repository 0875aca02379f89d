// A message is mapped alike whether its shape is known or not (D-638), also with a fraction, a long number or a word in any member's place.
import t from 'tap';
import { VenueError } from '../../../ingest/venues/contract/listings.ts';
import { type Mapped, type MapState, UnreadablePart } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { formatElement } from '../../../ingest/venues/shared/element-text.ts';
import { watchUnexpected } from '../../../ingest/venues/shared/unexpected.ts';
import { formatMapper } from '../../../processors/task/state-json.ts';
import { isRaw, replaceEach } from '../../support/mutations.ts';
import { readRecording, recordingsIn, toVenueMessage } from '../../support/venues/recordings.ts';

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

const VALUES = ['1.5', '-0.5', '1700000000.5', '0.0', '9007199254740993', '"1.5"', 'true'].map(rawJSON);
const MOST_MESSAGES = 12;
/** Of a shape: as many as its reader needs to know it. */
const TIMES = 3;

const tell = (mapped: readonly Mapped[]): string =>
  JSON.stringify(
    mapped.map(({ element, ...rest }) => [rest, formatElement(element)]),
    (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  );

type Mapper = (payload: Buffer, message: ReturnType<typeof toVenueMessage>) => string;

/** What a message gives: records or error, what was counted, and what is kept. */
const createMapper = (venue: Venue): Mapper => {
  const counted: string[] = [];
  const watched = watchUnexpected(venue, (kind) => void counted.push(kind));
  const state: MapState = {};
  const map = (message: ReturnType<typeof toVenueMessage>): string => {
    try {
      return tell(watched.map(state, message, { listings: new Map() }));
    } catch (error) {
      if (!(error instanceof VenueError)) throw error;
      const what = error.kind === 'unreadable' ? '' : error.message;
      return [error.code, error.kind, what, error instanceof UnreadablePart ? tell(error.mapped) : ''].join(' ');
    }
  };
  return (payload, message) => [map({ ...message, payload }), counted.splice(0).join(), formatMapper(state)].join('\n');
};

/** Messages of different members. */
const listMessages = (id: string): readonly ReturnType<typeof toVenueMessage>[] => {
  const chosen = new Map<string, ReturnType<typeof toVenueMessage>>();
  for (const recorded of recordingsIn(id).flatMap(readRecording)) {
    const names = recorded.raw.match(/"[^"]*":/g)?.join('') ?? '';
    const isShort = recorded.raw.length < 1_000 && /^[[{]/.test(recorded.raw);
    if (recorded.dir === 'in' && isShort && !chosen.has(names)) chosen.set(names, toVenueMessage(recorded));
  }
  return [...chosen.values()].slice(0, MOST_MESSAGES);
};

for (const venue of venues.values()) {
  t.test(venue.id, (t) => {
    const [known, unknown] = [createMapper(venue), createMapper(venue)];
    const compare = (payload: Buffer, message: ReturnType<typeof toVenueMessage>): void => {
      const got = known(payload, message);
      // No shape begins with a space.
      const wanted = unknown(Buffer.concat([Buffer.from(' '), payload]), message);
      if (got !== wanted) t.equal(got, wanted, payload.toString());
    };
    const messages = listMessages(venue.id);
    for (const message of messages) {
      const payload = Buffer.from(message.payload);
      for (let time = 0; time < TIMES; time++) compare(payload, message);
      for (const value of VALUES.filter(isRaw))
        for (const changed of replaceEach(payload, value)) {
          compare(changed, message);
          compare(changed, message);
        }
    }
    t.ok(messages.length > 0, `${messages.length} messages`);
    t.end();
  });
}
