// The table of layers and the names of topics: what clients, tables and consumers hold on to.
import t from 'tap';
import { BANDS } from '../../schemas/layers/book-bands.ts';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import { nameTopics } from '../../schemas/topics.ts';

/** L-02, copied from its table; bands are spelt out below. */
const MEMBERS = {
  ticker: { last: 'quote' },
  mark: { mark: 'quote', index: 'quote', basis: 'fraction' },
  funding: { funding: 'fraction', funding_8h: 'fraction', funding_interval: 'ms' },
  oi: { oi: 'quantity' },
  book: { bid: 'quote', ask: 'quote', mid: 'quote', bid_size: 'quantity', ask_size: 'quantity', spread: 'fraction' },
  stats: { volume_24h: 'quantity', turnover_24h: 'quote', change_24h: 'fraction' },
} as const;

t.test('every reading layer has its members and units (L-02)', (t) => {
  const { venue_depth, ...others } = LAYERS;
  t.same(Object.fromEntries(Object.values(others).map(({ name, members }) => [name, members])), MEMBERS);
  t.equal(venue_depth.members.mid, 'quote');
  for (const band of BANDS) {
    for (const side of ['bid', 'ask']) {
      t.equal(venue_depth.members[`depth_${side}_${band}`], 'quantity');
      t.equal(venue_depth.members[`depth_${side}_value_${band}`], 'quote');
      t.equal(venue_depth.members[`levels_${side}_${band}`], 'count');
    }
  }
  t.equal(Object.keys(venue_depth.members).length, 1 + 6 * BANDS.length, 'and nothing else');
  t.end();
});

t.test('derived members are members (L-02, N-05 rule 2)', (t) => {
  t.same(Object.keys(LAYERS), READING_LAYERS);
  t.same(
    Object.values(LAYERS).flatMap(({ derived }) => derived),
    ['basis', 'funding_8h', 'mid', 'spread'],
  );
  for (const { name, members, derived } of Object.values(LAYERS)) {
    for (const member of derived) t.ok(member in members, `${name}.${member}`);
  }
  t.end();
});

t.test('freshness bounds are those of F-03, windows 10 s or 60 s', (t) => {
  const bounds = Object.values(LAYERS).map(({ name, freshnessMs, windowMs }) => [name, freshnessMs, windowMs]);
  t.same(bounds, [
    ['ticker', 30_000, 10_000],
    ['mark', 30_000, 10_000],
    ['funding', 300_000, 60_000],
    ['oi', 30_000, 10_000],
    ['book', 30_000, 10_000],
    ['stats', 120_000, 60_000],
    ['venue_depth', 30_000, 10_000],
  ]);
  t.end();
});

t.test('each surface has its name and its aliases, and no name means two layers (L-01)', (t) => {
  const named = Object.values(LAYERS).map(({ name, recordName, aliases, table }) => [name, recordName, aliases, table]);
  t.same(named, [
    ['ticker', 'ticker', [], 'ticker'],
    ['mark', 'mark', [], 'mark'],
    ['funding', 'funding', [], 'funding'],
    ['oi', 'oi', ['open_interest'], 'open_interest'],
    ['book', 'book', [], 'book'],
    ['stats', 'stats', [], 'stats'],
    ['venue_depth', 'book_bands', ['book_bands'], 'book_bands'],
  ]);
  const accepted = Object.values(LAYERS).flatMap(({ name, aliases }) => [name, ...aliases]);
  t.equal(new Set(accepted).size, accepted.length);
  t.end();
});

t.test('a namespace precedes every topic, so that a replay never writes to the live ones', (t) => {
  const names = ({ raw, live, state, rows, checkpoints, md, ...single }: ReturnType<typeof nameTopics>): string[] => [
    ...[raw, live, state, rows, checkpoints].map((topic) => topic('okx')),
    md('mark'),
    ...Object.values(single),
  ];
  const live = names(nameTopics());
  t.same(live, [
    'raw.okx',
    'live.okx',
    'state.okx',
    'rows.okx',
    'checkpoints.okx',
    'md.mark',
    'listings',
    'capabilities',
    'watermark',
    'dead-letters',
  ]);
  t.same(
    names(nameTopics('replay.')),
    live.map((name) => `replay.${name}`),
  );
  t.end();
});
