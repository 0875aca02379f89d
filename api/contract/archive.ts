// Files of the archive as callers see them: names, formats, tiers with their prices, the contents of the manifest (AR-01 to AR-04).
import { ANCHORED_TABLES } from '../../schemas/anchored.ts';
import { ALL_LAYERS } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';

export const ARCHIVE_FORMATS = ['parquet', 'csv', 'jsonl'] as const;
export type ArchiveFormat = (typeof ARCHIVE_FORMATS)[number];
type Tier = 'core' | 'top100' | 'other';

/** Price of a file in atomic USDC; `other` is not sold by the call. */
export const TIER_PRICES: Readonly<Record<Tier, number | null>> = { core: 100_000, top100: 50_000, other: null };

/** The message while its manifest or a file does not answer. */
export const ARCHIVE_AWAY = 'The archive cannot be read now.';

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

/** Names of archived layers by each of the names that L-01 gives them. */
const LAYER_NAMES: ReadonlyMap<string, string> = new Map(
  ALL_LAYERS.filter(({ anchored }) => anchored !== null).flatMap(({ recordName, name, table, aliases }) =>
    [recordName, name, table, ...aliases].map((known): [string, string] => [known, recordName]),
  ),
);
export const ARCHIVE_LAYERS: readonly string[] = ANCHORED_TABLES.map(({ layer }) => layer).sort();

/** Every name and alias of an archived layer. */
export const ARCHIVE_LAYER_NAMES: readonly string[] = [...LAYER_NAMES.keys()].sort();

/** The archive's name of a layer; undefined when it has none. */
export const toArchiveLayer = (name: string): string | undefined => LAYER_NAMES.get(name);
