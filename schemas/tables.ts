// Names in QuestDB shared by writers and readers: tables of a namespace, columns of members, listings, floors of retention (design section 7).
import { READINGS } from './layers/index.ts';

/** Prefix of a namespace's tables: `''` is live, `replay.` gives `replay_`. Tables of a replay never expire. */
export const toTablePrefix = (namespace: string): string => namespace.replace(/[^A-Za-z0-9]/g, '_');

export const toTableName = (namespace: string, table: string): string => `${toTablePrefix(namespace)}${table}`;

const RENAMED: Readonly<Record<string, string>> = Object.fromEntries(
  READINGS.flatMap(({ members }) =>
    Object.entries(members).flatMap(([name, { column }]) => (column === undefined ? [] : [[name, column]])),
  ),
);

/** Column of a member of `values`: its own name, except where that is an SQL keyword. */
export const toColumnName = (member: string): string => RENAMED[member] ?? member;

/** The value of column `listing`. */
export const formatListingId = (venue: string, symbol: string): string => `${venue}:${symbol}`;

/** The parts of such a value. No code of a venue has a colon; symbols may. */
export const parseListingId = (id: string): { readonly venue: string; readonly symbol: string } => {
  const colon = id.indexOf(':');
  return { venue: id.slice(0, colon), symbol: id.slice(colon + 1) };
};

/** Floors of answers (`retention_from`), in days. */
export const RETENTION_DAYS = { readings: 400, candles: 400, events: 90, connections: 400 } as const;
