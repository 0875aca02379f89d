// A venue checked over the simulator: every stated layer comes at its cadence; reports unreadable messages, a silent layer and missing answers.
import t from 'tap';
import { startSimulator } from '../../../infra/dev/simulator/simulator.ts';
import { checkVenue, reportCheck } from '../../../infra/tools/check-venues.ts';
import type { VenueCheck } from '../../../infra/tools/venue-check.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);
const venue = venues.get('binance') as Venue;
const simulator = await startSimulator({ port: 0, venues: ['binance'], seed: 7, listings: 3, rate: 60 });
t.teardown(() => simulator.stop());
const endpoints = (simulator.endpoints as Record<string, Record<string, string>>)['binance'] ?? {};

/** Collects until what is looked for has been seen. */
const checkUntil = async (
  holds: (check: VenueCheck) => boolean,
  over: Record<string, string> = {},
): Promise<VenueCheck> => {
  const stop = new AbortController();
  let seen: VenueCheck | null = null;
  const done = checkVenue({
    venue,
    endpoints: { ...endpoints, ...over },
    seconds: 300,
    signal: stop.signal,
    onStart: (check) => {
      seen = check;
    },
  });
  await waitFor('the check has seen enough', () => seen !== null && holds(seen));
  stop.abort();
  return done;
};
const doesCome = (layer: string) => (check: VenueCheck) => (check.layers.get(layer)?.gapsMs.length ?? 0) > 2;
const STATED = ['ticker', 'mark', 'funding', 'oi', 'book', 'stats'];

t.test('every stated layer comes, at the cadence stated, and everything is read', async (t) => {
  const check = await checkUntil((seen) => STATED.every((layer) => doesCome(layer)(seen)));
  const { lines, isGood } = reportCheck(venue, check, 60);
  t.ok(isGood, lines.join('\n'));
  t.match(lines[0], /^Binance \(binance\), 60 s: connections \d+, listings 3, /);
  for (const layer of STATED)
    t.ok(
      lines.some((line) => line.startsWith(layer) && !line.includes('NOTHING')),
      layer,
    );
  t.ok(lines.includes('dead letters: none'));
  t.ok(
    lines.some((line) => /^clock: the (?:fastest message was received|venue's is ahead of ours by) \d+ ms/.test(line)),
  );
  t.equal(check.wholeBooks, 3);
});

t.test('what cannot be read is a dead letter with its reason and its bytes', async (t) => {
  const reading = checkUntil((seen) => seen.deadLetters.size > 0 && doesCome('mark')(seen));
  const again = setInterval(
    () => simulator.inject({ kind: 'malformed', venue: 'binance', stream: 'markPrice', count: 1 }),
    200,
  );
  t.teardown(() => clearInterval(again));
  const { lines, isGood } = reportCheck(venue, await reading, 60);
  clearInterval(again);
  t.notOk(isGood);
  t.match(lines.join('\n'), /dead letters: \d+\n {2}\d+ VENUE_BAD_FRAME: not JSON.*\n {4}\{"e":"markPriceUpdate"/);
});

t.test('a venue that does not answer: nothing came, and why', async (t) => {
  const away = Object.entries(endpoints).map(([name, url]) => [name, `${new URL(url).protocol}//127.0.0.1:1`]);
  const check = await checkVenue({ venue, endpoints: Object.fromEntries(away), seconds: 1 });
  const { lines, isGood } = reportCheck(venue, check, 1);
  t.notOk(isGood);
  t.match(lines.join('\n'), /mark .*NOTHING RECEIVED/);
  t.ok(
    lines.some((line) => line.startsWith('no listings were received: ')),
    lines.join('\n'),
  );
});
