// Streams of rules whose database is away for a while: each still receives the states, and moves that went by meanwhile are not lost (ST-03).
import type { Pool } from 'pg';
import t from 'tap';
import { openMoves } from '../../../api/rules/moves.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { waitFor } from '../../support/wait.ts';

const RULE = { rule_id: 'rule_1', account_id: 'acc_a', name: 'rule', reason: null, since: '1', version: 1 };
const MOVE = { ...RULE, transition_id: '7', at: '2', from_state: 'true', to_state: 'false' };

type Part = 'api_keys' | 'rule_states' | 'rule_transitions';

/** A database whose rule is `true`, and `false` once a move was noted; statements about the parts in `away` fail. */
const fakeDatabase = () => {
  const away = new Set<Part>();
  const rule = { state: 'true' };
  const answer = (part: Part): readonly object[] => {
    if (part === 'api_keys') return [{ key_id: 'key_a', account_id: 'acc_a' }];
    return part === 'rule_states' ? [{ ...RULE, state: rule.state }] : [MOVE];
  };
  const query = async (text: string) => {
    const part = /api_keys|rule_states|rule_transitions/.exec(text)?.[0] as Part;
    if (away.has(part)) throw new Error('the database is away');
    return { rows: answer(part) };
  };
  return { pool: { query } as unknown as Pool, away, rule };
};

const setUp = () => {
  const database = fakeDatabase();
  const moves = openMoves(database.pool, createLog('test', 'silent'));
  const received: string[] = [];
  const follow = () =>
    moves.follow('key_a', (data) => {
      const { change, state } = JSON.parse(data) as { change: string; state: string };
      received.push(`${change} ${state}`);
    });
  return { ...database, moves, received, follow };
};

for (const part of ['api_keys', 'rule_states'] as const)
  t.test(`a stream that opens while ${part} cannot be read receives the states later, then moves`, async (t) => {
    const { away, moves, received, follow } = setUp();
    away.add(part);
    const stop = follow();
    await new Promise((resolve) => setTimeout(resolve, 20));
    t.same(received, []);
    away.clear();
    await waitFor('the states', () => received.length >= 1, { boundMs: 20_000 });
    moves.note('7');
    await waitFor('the move', () => received.length >= 2, { boundMs: 20_000 });
    t.same(received, ['snapshot true', 'move false']);
    stop();
    moves.note('8');
    moves.noteAll();
    await new Promise((resolve) => setTimeout(resolve, 20));
    t.equal(received.length, 2, 'nothing is sent to a stream that ended');
  });

t.test('a move that could not be read, or whose notice was missed, is replaced by the states', async (t) => {
  const { away, rule, moves, received, follow } = setUp();
  const stop = follow();
  t.teardown(stop);
  await waitFor('the states at the start', () => received.length >= 1, { boundMs: 20_000 });
  away.add('rule_transitions');
  rule.state = 'false';
  moves.note('7');
  await waitFor('the states after a failed read', () => received.length >= 2, { boundMs: 20_000 });
  rule.state = 'true';
  moves.noteAll();
  await waitFor('the states after missed notices', () => received.length >= 3, { boundMs: 20_000 });
  t.same(received, ['snapshot true', 'snapshot false', 'snapshot true']);
});
