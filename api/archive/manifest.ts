// The content of the archive, read from PostgreSQL as the nightly step wrote it: pages of the list, and one file of it (AR-01, AR-02).
import type { Pool } from 'pg';
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import type { ArchiveFile, ArchiveManifest } from '../contract/archive.ts';

type Row = Omit<ArchiveFile, 'bytes' | 'writtenAt'> & { readonly bytes: string; readonly writtenMs: string };

const SELECT = `select s.venue, s.venue_symbol as "venueSymbol", s.layer, to_char(s.day, 'YYYY-MM-DD') as day, s.instrument, s.tier,
  s.rows, s.schema_version as "schemaVersion", floor(extract(epoch from s.written_at) * 1000)::text as "writtenMs", s.final,
  coalesce(a.status = 'confirmed', false) as anchored, f.object_key as key, f.bytes, f.sha256
from archive_sets s
join archive_files f on f.day = s.day and f.venue = s.venue and f.venue_symbol = s.venue_symbol and f.layer = s.layer
  and f.replaced_at is null and f.format = $1
left join anchor_days a on a.day = s.day`;
const ORDER = 's.venue collate "C", s.venue_symbol collate "C", s.layer collate "C", s.day';
const LIST = `${SELECT}
where ($2::text[] is null or (s.venue, s.venue_symbol) in (select * from unnest($2::text[], $3::text[])))
  and ($4::text is null or s.layer = $4) and ($5::date is null or s.day >= $5) and ($6::date is null or s.day <= $6)
  and ($7::text is null or (${ORDER}) > ($7::text, $8::text, $9::text, $10::date))
order by ${ORDER} limit $11`;
const FIND = `${SELECT} where s.venue = $2 and s.venue_symbol = $3 and s.layer = $4 and s.day = $5`;

const toFile = ({ bytes, writtenMs, ...row }: Row): ArchiveFile => ({
  ...row,
  bytes: Number(bytes),
  writtenAt: Number(writtenMs) * 1_000,
});

export const openManifest = (pool: Pick<Pool, 'query'>): ArchiveManifest => ({
  list: async ({ listings, layer, from, to, after, limit }) => {
    const { rows } = await pool.query<Row>(LIST, [
      'parquet',
      listings?.map(({ venue }) => venue) ?? null,
      listings?.map(({ venueSymbol }) => venueSymbol) ?? null,
      ...[layer, from, to],
      ...[after?.venue ?? null, after?.venueSymbol ?? null, after?.layer ?? null, after?.day ?? null],
      limit,
    ]);
    return rows.map(toFile);
  },
  find: async ({ venue, venueSymbol, layer, day }, format) => {
    if (!isStorable(venue) || !isStorable(venueSymbol)) return null;
    const { rows } = await pool.query<Row>(FIND, [format, venue, venueSymbol, layer, day]);
    return rows[0] === undefined ? null : toFile(rows[0]);
  },
});
