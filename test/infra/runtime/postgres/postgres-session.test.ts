// Sessions of PostgreSQL: their days are those of UTC, and whether they may write is known (OP-01).
import t from 'tap';
import { canWrite, openPostgres } from '../../../../infra/runtime/postgres/postgres.ts';
import { useEngines } from '../../../support/engines/engines.ts';

/** A server takes the zone of its machine when its data are made. */
const ZONE = 'America/New_York';

t.test('days are those of UTC on a server of any zone, and options of the address hold', async (t) => {
  const address = new URL(await (await useEngines(t, ['postgres'])).database());
  const name = decodeURIComponent(address.pathname.slice(1));
  const admin = openPostgres(address.href, { max: 1 });
  t.teardown(() => admin.end());
  await admin.query(`alter database "${name}" set timezone = '${ZONE}'`);
  address.searchParams.set('options', '-c geqo=off -c TimeZone=Asia/Tokyo');
  const pool = openPostgres(address.href, { max: 1 });
  t.teardown(() => pool.end());
  const { rows } = await pool.query<Record<string, string>>(
    `select current_setting('timezone') as zone, current_setting('geqo') as geqo,
      (date '2026-03-08' + interval '1 day')::timestamptz = timestamptz '2026-03-09T00:00Z' as "isDay",
      timestamptz '2026-03-01T12:00Z' + interval '30 days' = timestamptz '2026-03-31T12:00Z' as "isMonth"`,
  );
  t.same(rows, [{ zone: 'UTC', geqo: 'off', isDay: true, isMonth: true }]);
});

t.test('an instant is of its day of UTC in a process of any zone', async (t) => {
  const pool = openPostgres(await (await useEngines(t, ['postgres'])).database(), { max: 1 });
  const { TZ = 'UTC' } = process.env;
  t.teardown(() => {
    process.env['TZ'] = TZ;
    return pool.end();
  });
  for (const zone of [ZONE, 'Pacific/Kiritimati', 'UTC']) {
    process.env['TZ'] = zone;
    for (const text of ['2028-02-29T00:00:00.000Z', '2027-12-31T23:59:59.999Z']) {
      const at = new Date(text);
      const sql = 'select $1::date::text as day, $2::timestamptz = $3::timestamptz as same';
      const { rows } = await pool.query(sql, [at, at, text]);
      t.same(rows, [{ day: text.slice(0, 10), same: true }], `${zone} ${text}`);
    }
  }
});

t.test('a database that is read only, as a standby is, can be read and is not ready', async (t) => {
  const pool = openPostgres(await (await useEngines(t, ['postgres'])).database(), { max: 1 });
  t.teardown(() => pool.end());
  t.equal(await canWrite(pool), true);
  await pool.query('set default_transaction_read_only = on');
  t.equal(await canWrite(pool), false);
});
