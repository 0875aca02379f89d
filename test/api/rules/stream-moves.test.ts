// Transitions of rules on the stream: only on request, only of the key's account, each once (ST-03).
import t from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { openMoves } from '../../../api/rules/moves.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import { createRule } from '../../../api/rules/store.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);

type Event = { readonly event: string; readonly data: Readonly<Record<string, unknown>> };

const parseEvents = (text: string): Event[] =>
  [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event = '', data = '']) => ({
    event,
    data: JSON.parse(data) as Event['data'],
  }));

t.test('the states of the account at the start, then every move; nothing of others, nothing unasked', async (t) => {
  const pool = await freshPool(t);
  const moves = openMoves(pool, createLog('test', 'silent'));
  const { app } = await testApp(market(), { keys: openKeyStore(pool), moves });
  t.teardown(() => app.close());
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const createOwnKey = async (accountId: string) =>
    (await createKey(pool, { plan: 'pro', name: 'test', accountId, expiresAt: null }, 'test')).key;
  const [mine, theirs] = [await createOwnKey('acc_a'), await createOwnKey('acc_b')];
  const draft = { query: 'any(venues where mark > 1)', intervalS: 10, units: 'published', freshness: null } as const;
  const make = (name: string, accountId: string) =>
    createRule(pool, { ...draft, name, enabled: true, shared: true }, { accountId, actor: 'test' });
  const [own, other] = [await make('own', 'acc_a'), await make('other', 'acc_b')];

  const open = async (key: string, query: string) => {
    const leaving = new AbortController();
    t.teardown(() => leaving.abort());
    const headers = { authorization: `Bearer ${key}` };
    const url = `${base}/v2/stream?layers=mark&where=base%20%3D%20BTC${query}`;
    const answer = await fetch(url, { headers, signal: leaving.signal });
    const held = { text: '' };
    void (async () => {
      for await (const chunk of answer.body ?? []) held.text += Buffer.from(chunk as Uint8Array).toString();
    })().catch(() => undefined);
    return () => parseEvents(held.text);
  };
  const asked = await open(mine, '&rules=true');
  const others = await open(theirs, '&rules=true');
  const unasked = await open(mine, '');
  const listRules = (events: () => Event[]) =>
    events()
      .filter(({ event }) => event === 'rule')
      .map(({ data }) => data);
  for (const events of [asked, others]) await waitFor('the states at the start', () => listRules(events).length >= 1);
  await waitFor('the other stream is complete', () => unasked().some(({ event }) => event === 'ready'));
  t.match(listRules(asked), [
    { rule_id: own.ruleId, name: 'own', change: 'snapshot', state: 'unknown', reason: 'never_evaluated' },
  ]);

  const outcome = {
    state: 'true',
    reason: null,
    matched: ['BTC-PERP'],
    matchedTotal: 1,
    unknown: [],
    unknownTotal: 0,
  } as const;
  const at = Date.now() * 1_000 + 60_000_000;
  await recordEvaluations(pool, [
    { rule: own, at, outcome },
    { rule: other, at, outcome },
  ]);
  const { rows } = await pool.query<{ transition_id: string }>('select transition_id from rule_transitions');
  for (const row of rows) moves.note(row.transition_id);
  for (const events of [asked, others]) await waitFor('the move', () => listRules(events).length >= 2);
  t.match(listRules(asked)[1], {
    ...{ rule_id: own.ruleId, change: 'move', previous_state: 'unknown', state: 'true', reason: null },
    ...{ matched: ['BTC-PERP'], matched_total: 1 },
  });
  t.match(
    listRules(others).map(({ rule_id: id }) => id),
    [other.ruleId, other.ruleId],
  );
  t.same(listRules(unasked), [], 'a stream without them is unchanged');
});
