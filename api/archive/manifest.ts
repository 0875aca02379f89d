// What the archive holds, read from PostgreSQL as the nightly step wrote it: pages of the list, and one file of it (AR-01, AR-02).
import type { Pool } from 'pg';
import { ANCHORED_TABLES } from '../../schemas/anchored.ts';
import type { Micros } from '../../schemas/records.ts';

export const ARCHIVE_FORMATS = ['parquet', 'csv', 'jsonl'] as const;
export type ArchiveFormat = (typeof ARCHIVE_FORMATS)[number];
export type Tier = 'core' | 'top100' | 'other';

/** Price of a file in atomic USDC; `other` is not sold by the call. */
export const TIER_PRICES: Readonly<Record<Tier, number | null>> = { core: 100_000, top100: 50_000, other: null };

export type SetName = {
  readonly venue: string;
  readonly venueSymbol: string;
  readonly layer: string;
  readonly day: string;
};
/** A set of files of the same rows; bytes, hash and key are those of one format. */
export type ArchiveFile = SetName & {
  readonly instrument: string;
  readonly tier: Tier;
  readonly rows: number;
  readonly schemaVersion: number;
  readonly writtenAt: Micros;
  readonly final: boolean;
  readonly anchored: boolean;
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
};
export type ListQuestion = {
  /** Only these listings; null: all. */
  readonly listings: readonly Pick<SetName, 'venue' | 'venueSymbol'>[] | null;
  readonly layer: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly after: SetName | null;
  readonly limit: number;
};
export type ArchiveManifest = {
  /** Ascending by venue, symbol, layer, day; at most `limit`. */
  readonly list: (question: ListQuestion) => Promise<readonly ArchiveFile[]>;
  readonly find: (name: SetName, format: ArchiveFormat) => Promise<ArchiveFile | null>;
};

/** Names of the archive's layers, each with what else it is called (L-01). */
const ALIASES: Readonly<Record<string, string>> = { venue_depth: 'book_bands', candle: 'candles', trade: 'trades' };
const LAYER_NAMES: ReadonlyMap<string, string> = new Map([
  ...ANCHORED_TABLES.flatMap(({ layer, table }): [string, string][] => [
    [layer, layer],
    [table, layer],
  ]),
  ...Object.entries(ALIASES),
]);
export const ARCHIVE_LAYERS: readonly string[] = ANCHORED_TABLES.map(({ layer }) => layer).sort();

/** The archive's name of a layer; undefined when it has none. */
export const archiveLayer = (name: string): string | undefined => LAYER_NAMES.get(name);

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
    const { rows } = await pool.query<Row>(FIND, [format, venue, venueSymbol, layer, day]);
    return rows[0] === undefined ? null : toFile(rows[0]);
  },
});
