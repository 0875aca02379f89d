// What goes along with a deleted row is found by an index: without one each row that is deleted means reading the whole table that refers to it.
import t from 'tap';
import { freshPool } from '../../support/engines/fresh-database.ts';

t.setTimeout(900_000);

/** References that delete along, without an index that begins with their columns. */
const UNINDEXED = `
  select c.conrelid::regclass::text || ' (' || string_agg(a.attname, ', ') || ')' as reference
  from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
  where c.contype = 'f' and c.confdeltype <> 'a' and not exists (
    select from pg_index i where i.indrelid = c.conrelid
      and (i.indkey::int2[])[0 : cardinality(c.conkey) - 1] operator(pg_catalog.@>) c.conkey
      -- A condition that a reference fulfils, since it is not null.
      and coalesce(pg_get_expr(i.indpred, i.indrelid) = '(' || a.attname || ' IS NOT NULL)', true))
  group by c.oid, c.conrelid order by 1`;

t.test('rows that a deletion takes along are indexed', async (t) => {
  const pool = await freshPool(t);
  t.same((await pool.query(UNINDEXED)).rows, []);
});
