// GET /v2/venues: which venues are served, how many of their listings, and whether they are live (V-01).
import Type from 'typebox';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { type JsonValue, sortByKey } from '../../schemas/json.ts';
import { ALL_LAYERS } from '../../schemas/layers/index.ts';
import { findPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import { InstantText, NullableInstant } from '../contract/parameters.ts';
import { findVersionAt, isListed, type LiveListing } from '../live/listing-book.ts';
import type { LiveMemory, LiveVenue } from '../live/memory.ts';
import { deriveVenueState } from '../live/venue-state.ts';
import answer from './examples/venues.json' with { type: 'json' };
import { defineOperation } from './operation.ts';

const Output = Type.Object({
  evaluated_at: InstantText,
  items: Type.Array(
    Type.Object({
      venue: Type.String(),
      name: Type.String(),
      kind: Type.String(),
      listings: Type.Integer(),
      listings_collected: Type.Integer(),
      since: NullableInstant,
      layers: Type.Record(Type.String(), Type.Enum(['on', 'off', 'not_published'])),
      state: Type.Enum(['live', 'degraded', 'down']),
      state_since: NullableInstant,
    }),
  ),
  items_note: Type.Optional(Type.String()),
});

const describeLayers = (venue: LiveVenue, at: Micros): JsonValue => {
  const capability = findVersionAt(venue.capabilities, at);
  return sortByKey(
    Object.fromEntries(ALL_LAYERS.map(({ recordName, name }) => [recordName, findPolicy(capability, name)])),
  );
};

const isCollected = ({ readings }: LiveListing): boolean => readings.size > 0;

const findFirstSeen = (listings: readonly LiveListing[]): Micros | null => {
  const seen = listings.flatMap(({ versions }) => versions.map((v) => v.first_seen_at));
  return seen.reduce<Micros | null>((least, at) => (least === null || at < least ? at : least), null);
};

const makeVenueRecord = (live: LiveMemory, venue: LiveVenue, at: Micros): JsonValue => {
  const known = [...venue.listings.values()];
  const listed = known.filter(({ versions }) => {
    const version = findVersionAt(versions, at);
    return version !== null && isListed(version, at);
  });
  // The first sight of a listing that readings came of: its first reading follows within its first seconds.
  const since = findFirstSeen(known.filter(isCollected));
  const { state, since: stateSince } = deriveVenueState(live, venue, at);
  return {
    venue: venue.venue,
    name: venue.capabilities.at(-1)?.name ?? venue.venue,
    kind: 'order_book',
    listings: listed.length,
    listings_collected: listed.filter(isCollected).length,
    since: formatInstantOrNull(since),
    layers: describeLayers(venue, at),
    state,
    state_since: formatInstantOrNull(stateSince),
  };
};

export const venues = defineOperation({
  name: 'venues',
  method: 'GET',
  path: '/v2/venues',
  key: 'open',
  class: 'reference',
  price: null,
  cacheS: 10,
  summary: 'Venues served, with their coverage and state.',
  tool: true,
  input: Type.Object({}, { additionalProperties: false }),
  output: Output,
  codes: ['DQL_LIMIT'],
  example: {
    question: 'Which venues are live, and what do they publish?',
    input: {},
    output: answer,
  },
  run: (_input, { live, evaluatedAt }) => ({
    body: {
      evaluated_at: formatInstant(evaluatedAt),
      items: [...live.venues()].map((venue) => makeVenueRecord(live, venue, evaluatedAt)),
    },
    numberFormat: 'json',
  }),
});
