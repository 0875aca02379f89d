// What the key of an archive file contains: its hash, its media type, the name under which it is saved.

export type ObjectName = { readonly sha256: string; readonly type: string; readonly disposition: string };

const KEY = /^(\d{4}-\d\d-\d\d)\/([a-z_]+)\/([^/]+)\/([0-9a-f]{64})\.(parquet|csv\.zst|jsonl\.zst)$/;
const TYPES: Readonly<Record<string, string>> = { parquet: 'application/vnd.apache.parquet' };

/** `attachment` with the day, layer and listing as file name (RFC 6266); symbols may have any character. */
const toDisposition = (name: string): string => {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, '_');
  const exact = encodeURIComponent(name).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
};

/** Null for a key that is no archive file: leaves and tiles lie in the same store. */
export const readObjectName = (key: string): ObjectName | null => {
  const [, day, layer, listing, sha256, ending] = KEY.exec(key) ?? [];
  if (listing === undefined || sha256 === undefined || ending === undefined) return null;
  const name = `${decodeURIComponent(listing).replace(':', '-')}-${layer}-${day}.${ending}`;
  return { sha256, type: TYPES[ending] ?? 'application/zstd', disposition: toDisposition(name) };
};
