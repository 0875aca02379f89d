// A request that the venue refuses, on a socket or by REST: a refusal to the mapper, which is counted and loses nothing; the collector takes the frame for an error.
import t from 'tap';
import { VenueRefusal } from '../../../ingest/venues/contract/listings.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';

const NO_LISTINGS = { listings: new Map() };

const catchFault = (run: () => unknown): readonly unknown[] => {
  try {
    run();
    return [];
  } catch (error) {
    return [error];
  }
};

for (const venue of venues.values()) {
  const { frames, answers = [], listings = [] } = factsAbout(venue).refusals;

  t.test(`${venue.id}: a refusal is one to the collector and to the mapper`, (t) => {
    t.not(frames.length, 0, 'the facts have one');
    for (const text of frames) {
      t.equal(venue.classify(text), 'error', text);
      const message = { kind: 'frame' as const, received_at: 1, request: null, payload: Buffer.from(text) };
      t.throws(() => venue.map({}, message, NO_LISTINGS), VenueRefusal, text);
    }
    t.end();
  });

  t.test(`${venue.id}: a refused request of listings is a refusal, and nothing else`, (t) => {
    for (const [request, text] of listings) {
      const message = { kind: 'response' as const, received_at: 1, request, payload: Buffer.from(text) };
      const faults = [
        ...catchFault(() => venue.mapReference({}, message)),
        ...catchFault(() => venue.map({}, message, NO_LISTINGS)),
      ];
      t.not(faults.length, 0, request);
      for (const fault of faults) t.ok(fault instanceof VenueRefusal, `${request}: ${String(fault)}`);
    }
    t.end();
  });

  t.test(`${venue.id}: an answer that refuses is a refusal`, (t) => {
    for (const [request, text] of answers) {
      const message = { kind: 'response' as const, received_at: 1, request, payload: Buffer.from(text) };
      t.throws(() => venue.map({}, message, NO_LISTINGS), VenueRefusal, `${request} ${text}`);
    }
    t.end();
  });
}
