// What a rule is found to be, over the memory copy: its state, and the reason of one that is unknown (AG-02, AG-04, H-16l).
import type { Pool } from 'pg';
import t from 'tap';
import { evaluateNow, type Outcome } from '../../../api/rules/evaluation.ts';
import { Questions, Selections } from '../../../api/rules/questions.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import { capability, Feed, listing, listingValues, markReading, NOW } from '../../support/apps/live-fixture.ts';

const MINUTE = 60_000_000;
const CODES = ['A', 'B', 'C', 'D'];
/** Of the four: A is 60000, B is 100 and older than its bound, C was never received, D is not published. */
const QUERIES: readonly (readonly [query: string, state: Outcome['state'], reason: Outcome['reason']])[] = [
  ['any(venues where mark > 1)', 'true', null],
  ['any(venues where mark < 1) where base = A', 'false', null],
  ['any(venues where mark < 1) where base in (A, B)', 'unknown', 'stale_input'],
  ['any(venues where mark < 1) where base in (A, C)', 'unknown', 'missing_input'],
  ['any(venues where mark < 1) where base in (B, C)', 'unknown', 'missing_input'],
  ['any(venues where mark < 1) where base in (A, D)', 'unknown', 'not_published'],
  ['any(venues where mark < 1)', 'unknown', 'not_published'],
  ['any(venues where mark > 1) where base in (A, B, C, D)', 'true', null],
  ['max(venues, mark) > 1 or base = C where base in (B, C)', 'true', null],
  ['any(venues where mark / 0 > 1) where base = A', 'unknown', 'missing_input'],
];

const makeMarket = (): Feed => {
  const feed = new Feed(['binance', 'okx']);
  feed.venue('binance');
  feed.venue('okx', capability('okx', { mark: { policy: 'not_published' } }));
  for (const base of CODES) {
    const values = listingValues({ instrument: `${base}-PERP`, venue_symbol: base, base });
    feed.list(listing(base === 'D' ? 'okx' : 'binance', values));
  }
  feed.read('binance', 'A', markReading('60000'));
  feed.read('binance', 'B', markReading('100', { received_at: NOW - MINUTE, recorded_at: NOW - MINUTE }));
  return feed;
};

t.test('the reason of a rule is the first of all inputs that left it open, whichever instrument has it', async (t) => {
  const { memory: live } = makeMarket();
  const [questions, selections] = [new Questions(live), new Selections(live)];
  for (const [query, state, reason] of QUERIES) {
    const question = questions.of({ query, units: 'published', freshness: null });
    const selected = selections.at(NOW, question, { venues: null, instruments: null });
    const found = await evaluateNow(question, selected, { live, history: null, at: NOW });
    t.match(found, { state, reason }, query);
  }
});

t.test('twenty codes of each kind are named, and all are counted', async (t) => {
  const feed = new Feed(['binance']);
  feed.venue('binance');
  for (let i = 0; i < 41; i++) {
    const base = `C${String(i).padStart(2, '0')}`;
    feed.list(listing('binance', listingValues({ instrument: `${base}-PERP`, venue_symbol: base, base })));
    if (i < 21) feed.read('binance', base, markReading('2'));
  }
  const { memory: live } = feed;
  const query = 'any(venues where mark > 1)';
  const question = new Questions(live).of({ query, units: 'published', freshness: null });
  const selected = new Selections(live).at(NOW, question, { venues: null, instruments: null });
  const found = await evaluateNow(question, selected, { live, history: null, at: NOW });
  const codes = [...Array(41).keys()].map((i) => `C${String(i).padStart(2, '0')}-PERP`);
  t.same([found.matched, found.matchedTotal], [codes.slice(0, 20), 21]);
  t.same([found.unknown, found.unknownTotal], [codes.slice(21), 20]);
});

t.test('what was found of more rules than one statement takes is written of each', async (t) => {
  const sent: string[][] = [];
  const query = async (_: string, [rows = '']: readonly string[]) => {
    sent.push((JSON.parse(rows) as { rule_id: string }[]).map(({ rule_id }) => rule_id));
    return { rowCount: sent.at(-1)?.length };
  };
  const outcome = { state: 'true', reason: null, matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 } as const;
  const ids = Array.from({ length: 4_001 }, (_, i) => `rule_${i}`);
  const found = ids.map((ruleId) => ({ rule: { ruleId, version: 1 }, at: NOW, outcome }));
  t.equal(await recordEvaluations({ query } as unknown as Pick<Pool, 'query'>, found), 4_001);
  t.same([sent.length, sent.flat()], [3, ids]);
});
