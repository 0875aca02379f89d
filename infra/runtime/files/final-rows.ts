// Reads the rows of a closed day from the listing's final file, which is their only copy after retention (AR-08).
import { pipeline, type Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import type { AnchoredCell, AnchoredTable } from '../../../schemas/anchored.ts';
import { parseInstant } from '../../../schemas/instants.ts';
import type { LeafRow } from '../questdb/leaf-rows.ts';
import type { ObjectStore } from './object-store.ts';

/** The file is not what was written. */
export class DamagedFile extends Error {
  override readonly name = 'DamagedFile';
}

const toRow = ({ columns }: AnchoredTable, line: string): LeafRow => {
  const members = JSON.parse(line) as Readonly<Record<string, AnchoredCell>>;
  const recordedAt = members['recorded_at'];
  return {
    cells: columns.map(({ name }) => members[name] ?? null),
    recordedAt: typeof recordedAt === 'string' ? parseInstant(recordedAt) : null,
  };
};

async function* readRows(table: AnchoredTable, file: Readable): AsyncGenerator<readonly LeafRow[]> {
  // Any failure ends the reading of the text.
  const text = pipeline(file, createZstdDecompress(), () => undefined).setEncoding('utf8');
  let rest = '';
  for await (const piece of text) {
    const lines = `${rest}${piece as string}`.split('\n');
    rest = lines.pop() ?? '';
    yield lines.map((line) => toRow(table, line));
  }
  if (rest !== '') throw new SyntaxError('the last line has no end');
}

const isDamage = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  /^(ZSTD|ERR_ZSTD|ERR_BUFFER|Z_)/.test(String((error as { code?: unknown }).code ?? ''));

/** The rows in leaf order, batch by batch. Rejects with DamagedFile for bytes that are no such file, else with the store's own error. */
export async function* readFinalRows(
  table: AnchoredTable,
  { store, key }: { readonly store: ObjectStore; readonly key: string },
): AsyncGenerator<readonly LeafRow[]> {
  try {
    yield* readRows(table, await store.read(key));
  } catch (error) {
    if (isDamage(error)) throw new DamagedFile(`${key} cannot be read`, { cause: error });
    throw error;
  }
}
