// Leases of rules on a real PostgreSQL: shared by the processes that live, whatever the clock of the database does (AG-03).
import t from 'tap';
import { openLeases, SHARDS } from '../../../api/rules/leases.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { waitFor } from '../../support/wait.ts';

const LEASE_MS = 400;

t.test(
  'the rules of a process that ended go to the others after a lease, also where the clock was set back',
  async (t) => {
    const pool = await freshPool(t);
    const [dead, alive] = [openLeases(pool, LEASE_MS), openLeases(pool, LEASE_MS)];
    t.equal((await dead.renew()).size, SHARDS);
    await pool.query("update rule_nodes set seen_at = seen_at + interval '1 hour'");
    await pool.query("update rule_shards set lease_until = lease_until + interval '1 hour'");
    t.equal((await alive.renew()).size, 0, 'it may be alive');
    await waitFor('all shards', async () => (await alive.renew()).size === SHARDS, { boundMs: 30_000 });
  },
);

t.test('any number of processes share the rules evenly, and each rule is of exactly one of them', async (t) => {
  const pool = await freshPool(t);
  const nodes: ReturnType<typeof openLeases>[] = [];
  const renewAll = async (): Promise<number[][]> => {
    const held: number[][] = [];
    for (const node of nodes) held.push([...(await node.renew())]);
    return held;
  };
  const check = async (): Promise<void> => {
    // In the first round those that have too many give them up, in the second the others take them.
    await renewAll();
    const held = await renewAll();
    t.same(
      held.flat().sort((a, b) => a - b),
      Array.from({ length: SHARDS }, (_, shard) => shard),
      `${nodes.length} processes`,
    );
    t.ok(Math.max(...held.map(({ length }) => length)) <= Math.ceil(SHARDS / nodes.length));
  };
  while (nodes.length < 5) {
    nodes.push(openLeases(pool));
    await check();
  }
  while (nodes.length > 1) {
    await nodes.shift()?.release();
    await check();
  }
});
