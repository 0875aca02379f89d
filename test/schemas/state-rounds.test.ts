// State rounds of a partition: which one is complete, which one is chosen, and where it begins.
import t from 'tap';
import { RoundChoice } from '../../schemas/state-rounds.ts';
import type { StateEntry } from '../../schemas/topics.ts';

const entry = (round: number, marker: StateEntry['marker'] = null): StateEntry => ({
  round,
  kind: marker === null ? 'reading' : 'marker',
  symbol: null,
  reading: null,
  span: null,
  listing: null,
  capability: null,
  marker,
});

t.test('of the published state the newest round of which nothing is missing is held', (t) => {
  const newest = new RoundChoice();
  let at = 0;
  const publish = (round: number, { saved, entries }: { saved: number; entries: number }): void => {
    for (let n = 0; n < saved; n += 1) newest.add(entry(round), at++);
    newest.add(entry(round, { entries, watermark: 0, live_offset: round * 10 }), at++);
  };
  publish(1, { saved: 1, entries: 2 });
  t.equal(newest.chosen, null, 'retention has its first entry');
  publish(3, { saved: 2, entries: 2 });
  publish(4, { saved: 1, entries: 2 });
  publish(2, { saved: 2, entries: 2 });
  t.match(newest.chosen, { round: 3, liveOffset: 30 });
  t.equal(newest.chosen?.entries.length, 3, 'with its marker');
  t.end();
});

t.test('the first publication of a round counts: a stale owner repeats it from a later place', (t) => {
  const marker = (round: number, live_offset: number) => entry(round, { entries: 2, watermark: round, live_offset });
  const choice = new RoundChoice(1_000);
  const published = [
    ...[entry(10), entry(10), marker(10, 100)],
    ...[entry(20), entry(20), marker(20, 200)],
    // The owner continues to round 30 while the one that was paused sends 20 again.
    ...[entry(30), entry(20), entry(30), entry(20), marker(20, 999), marker(30, 300)],
    ...[entry(40), marker(40, 400)],
  ];
  for (const [at, one] of published.entries()) choice.add(one, at);
  t.match(choice.chosen, { watermark: 30, liveOffset: 300 }, 'whole all the same; the torn one is none');
  t.equal(choice.chosen?.entries.length, 3);
  const stale = new RoundChoice(1_000);
  const again = [...published.slice(0, 6), entry(20), entry(20), marker(20, 999)];
  for (const [at, one] of again.entries()) stale.add(one, at);
  t.equal(stale.chosen?.liveOffset, 200);
  t.equal(stale.begins, 6, 'where the round of the last marker begins');
  t.end();
});
