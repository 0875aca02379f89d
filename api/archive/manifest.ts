// The content of the archive, which the nightly step wrote to PostgreSQL: pages of the list, and single files (AR-01, AR-02).
import type { Pool } from 'pg';
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import { ARCHIVE_LAYERS, type ArchiveFile, type ArchiveManifest } from '../contract/archive.ts';

type Row = Omit<ArchiveFile, 'bytes' | 'writtenAt'> & { readonly bytes: string; readonly writtenMs: string };

const COLUMNS = `s.venue, s.venue_symbol as "venueSymbol", s.layer, to_char(s.day, 'YYYY-MM-DD') as day, s.instrument, s.tier,
  s.rows, s.schema_version as "schemaVersion", floor(extract(epoch from s.written_at) * 1000)::text as "writtenMs", s.final,
  coalesce(a.status = 'confirmed', false) as anchored, f.object_key as key, f.bytes, f.sha256`;
const SELECT = `select ${COLUMNS}
from archive_sets s
join archive_files f on f.day = s.day and f.venue = s.venue and f.venue_symbol = s.venue_symbol and f.layer = s.layer
  and f.replaced_at is null and f.format = $1
left join anchor_days a on a.day = s.day`;
const ORDER = 's.venue collate "C", s.venue_symbol collate "C", s.layer collate "C", s.day';
const IS_AFTER = `($4::text is null or (${ORDER}) > ($4::text, $5::text, $6::text, $7::date))`;
/** Of all listings. */
const LIST = `${SELECT}
where ($9::text is null or s.layer = $9) and ($2::date is null or s.day >= $2) and ($3::date is null or s.day <= $3) and ${IS_AFTER}
order by ${ORDER} limit $8`;
/**
 * Of some listings: each of its layers is looked up in the index, in their order, until the page is full. As one more condition of the list of all listings they would
 * be none that the index can be searched by.
 */
const LIST_OF = `with named as (
  select w.venue collate "C" as venue, w.symbol collate "C" as symbol, l.layer collate "C" as layer
  from unnest($10::text[], $11::text[]) as w (venue, symbol) cross join unnest($9::text[]) as l (layer)
  where $4::text is null or (w.venue collate "C", w.symbol collate "C", l.layer collate "C") >= ($4::text, $5::text, $6::text)
  order by 1, 2, 3)
select found.* from named n cross join lateral (
  ${SELECT}
  where s.venue collate "C" = n.venue and s.venue_symbol collate "C" = n.symbol and s.layer collate "C" = n.layer
    and ($2::date is null or s.day >= $2) and ($3::date is null or s.day <= $3)
    and ($4::text is null or n.venue <> $4 or n.symbol <> $5 or n.layer <> $6 or s.day > $7::date)
  order by s.day limit $8) found
order by n.venue, n.symbol, n.layer, found.day limit $8`;
const FIND = `${SELECT} where s.venue = $2 and s.venue_symbol = $3 and s.layer = $4 and s.day = $5`;

const toFile = ({ bytes, writtenMs, ...row }: Row): ArchiveFile => ({
  ...row,
  bytes: Number(bytes),
  writtenAt: Number(writtenMs) * 1_000,
});

export const openManifest = (pool: Pick<Pool, 'query'>): ArchiveManifest => ({
  list: async ({ listings, layer, from, to, after, limit }) => {
    const place = [after?.venue ?? null, after?.venueSymbol ?? null, after?.layer ?? null, after?.day ?? null];
    const values = ['parquet', from, to, ...place, limit];
    const { rows } =
      listings === null
        ? await pool.query<Row>(LIST, [...values, layer])
        : await pool.query<Row>(LIST_OF, [
            ...values,
            layer === null ? ARCHIVE_LAYERS : [layer],
            ...[listings.map(({ venue }) => venue), listings.map(({ venueSymbol }) => venueSymbol)],
          ]);
    return rows.map(toFile);
  },
  find: async ({ venue, venueSymbol, layer, day }, format) => {
    if (!isStorable(venue) || !isStorable(venueSymbol)) return null;
    const { rows } = await pool.query<Row>(FIND, [format, venue, venueSymbol, layer, day]);
    return rows[0] === undefined ? null : toFile(rows[0]);
  },
});
