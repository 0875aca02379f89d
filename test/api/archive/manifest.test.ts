// The list of the archive over a real PostgreSQL: what is asked for, in its order and page by page, without reading what is not (AR-01).
import type { Pool, PoolClient } from 'pg';
import t from 'tap';
import { openManifest } from '../../../api/archive/manifest.ts';
import { ARCHIVE_LAYERS, type ArchiveFile, type ListQuestion, type SetName } from '../../../api/contract/archive.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';

t.setTimeout(900_000);

const DAYS = 60;
const VENUES = ['aster', 'binance', 'okx'];
/** By bytes the second is the first one: capitals come before small letters. */
const SYMBOLS = ['AAVEUSDT', 'kBONKUSDT', 'ZECUSDT', 'BTC-USDT', 'BTCUSDT'];
const FILL_DAYS = `insert into archive_days (day, tiers) select date '2026-01-01' + n, '{}' from generate_series(0, $1::integer - 1) n`;
const FILL_SETS = `insert into archive_sets (day, venue, venue_symbol, layer, instrument, tier, rows, schema_version)
  select day, venue, symbol, layer, symbol || '-PERP', 'other', 1, 1
  from archive_days, unnest($1::text[]) venue, unnest($2::text[]) symbol, unnest($3::text[]) layer`;
const FILL_FILES = `insert into archive_files (object_key, day, venue, venue_symbol, layer, format, bytes, sha256)
  select concat_ws('/', day, venue, venue_symbol, layer), day, venue, venue_symbol, layer, 'parquet', 1, repeat('a', 64) from archive_sets`;

const fill = async (pool: Pool): Promise<void> => {
  await pool.query(FILL_DAYS, [DAYS]);
  await pool.query(FILL_SETS, [VENUES, SYMBOLS, ARCHIVE_LAYERS]);
  await pool.query(FILL_FILES);
  await pool.query('vacuum analyze archive_sets');
  await pool.query('vacuum analyze archive_files');
};

const EVERYTHING: ListQuestion = { listings: null, layer: null, from: null, to: null, after: null, limit: 100_000 };
const toPlace = ({ venue, venueSymbol, layer, day }: SetName): string => [venue, venueSymbol, layer, day].join(' ');
const name = (venue: string, venueSymbol: string) => ({ venue, venueSymbol });

/** All of a question, in pages of `limit`. */
const turnPages = async (list: (question: ListQuestion) => Promise<readonly ArchiveFile[]>, question: ListQuestion) => {
  const found: string[] = [];
  for (let after: SetName | null = null; ; ) {
    const page: readonly ArchiveFile[] = await list({ ...question, after });
    found.push(...page.map(toPlace));
    after = page.at(-1) ?? null;
    if (after === null || page.length < question.limit) return found;
  }
};

const QUESTIONS: readonly Partial<ListQuestion>[] = [
  { listings: [name('okx', 'BTCUSDT')] },
  { listings: [name('okx', 'ZECUSDT'), name('okx', 'kBONKUSDT'), name('binance', 'BTC-USDT')], limit: 97 },
  { listings: [name('okx', 'kBONKUSDT'), name('aster', 'BTCUSDT')], layer: 'mark', limit: 7 },
  { listings: [name('binance', 'AAVEUSDT')], from: '2026-01-30', to: '2026-02-02', limit: 5 },
  { listings: [name('binance', 'AAVEUSDT'), name('none', 'AAVEUSDT')], from: '2026-02-27', limit: 4 },
  { listings: [name('binance', 'AAVEUSDT')], to: '2025-12-31' },
  { listings: [name('binance', 'NONE')] },
  { listings: [] },
  { layer: 'funding', from: '2026-02-10', to: '2026-02-11', limit: 3 },
  { limit: 2_000 },
];

t.test('pages of some listings hold what the whole list has of them, in its order', async (t) => {
  const pool = await freshPool(t);
  await fill(pool);
  const { list } = openManifest(pool);
  const all = await list(EVERYTHING);
  t.equal(all.length, DAYS * VENUES.length * SYMBOLS.length * ARCHIVE_LAYERS.length);
  const inBytes = all.map(toPlace).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.same(all.map(toPlace), inBytes);
  for (const asked of QUESTIONS) {
    const question = { ...EVERYTHING, ...asked };
    const { listings, layer, from, to } = question;
    const meant = all.filter(
      (file) =>
        (listings?.some((one) => one.venue === file.venue && one.venueSymbol === file.venueSymbol) ?? true) &&
        (layer === null || file.layer === layer) &&
        (from === null || file.day >= from) &&
        (to === null || file.day <= to),
    );
    t.same(await turnPages(list, question), meant.map(toPlace), JSON.stringify(asked));
  }
});

/** Rows that this connection has read so far. */
const countRead = async (client: PoolClient): Promise<number> => {
  const sql = `select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables where relname like 'archive_%'`;
  return (await client.query<{ read: number }>(sql)).rows[0]?.read ?? 0;
};

t.test('a page reads its own rows, whichever listing, layer and days it is about', async (t) => {
  const pool = await freshPool(t);
  await fill(pool);
  const client = await pool.connect();
  // Counts of a transaction are there until it ends.
  await client.query('begin');
  const questions: readonly Partial<ListQuestion>[] = [
    { listings: [name('okx', 'kBONKUSDT')] },
    { listings: [name('okx', 'NONE'), name('zero', 'NONE')] },
    { listings: [name('okx', 'kBONKUSDT')], layer: 'stats', from: '2026-02-01', to: '2026-02-20' },
    { listings: VENUES.flatMap((venue) => SYMBOLS.map((symbol) => name(venue, symbol))), layer: 'oi' },
    { after: { ...name('okx', 'ZECUSDT'), layer: 'stats', day: '2026-02-01' } },
  ];
  for (const asked of questions) {
    const before = await countRead(client);
    await openManifest(client).list({ ...EVERYTHING, ...asked, limit: 21 });
    const read = (await countRead(client)) - before;
    t.ok(read <= 100, `${read} rows were read: ${JSON.stringify(asked).slice(0, 200)}`);
  }
  await client.query('rollback');
  client.release();
});
