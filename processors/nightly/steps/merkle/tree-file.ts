// Writes the kept hashes of a tree to one file, leaf by leaf in bounded memory: leaves, then every sixth level (schemas/merkle/tiles.ts).
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { HASH_BYTES, type Hash } from '../../../../schemas/merkle/hash.ts';
import { isKept, TILE_HEIGHT } from '../../../../schemas/merkle/tiles.ts';
import { createTree } from '../../../../schemas/merkle/tree.ts';

/** Hashes of a level buffered before a write: 128 KiB. */
const PIECE_HASHES = 4_096;

type LevelFile = {
  readonly path: string;
  readonly handle: FileHandle;
  readonly push: (hash: Hash) => void;
  /** Whether a piece is full. */
  readonly isFull: () => boolean;
  readonly flush: () => Promise<void>;
};

const openLevel = async (path: string): Promise<LevelFile> => {
  const handle = await open(path, 'w');
  const piece = Buffer.alloc(PIECE_HASHES * HASH_BYTES);
  let held = 0;
  return {
    ...{ path, handle },
    push: (hash) => {
      piece.set(hash, held);
      held += HASH_BYTES;
    },
    isFull: () => held >= piece.length,
    flush: async () => {
      if (held > 0) await handle.writeFile(piece.subarray(0, held));
      held = 0;
    },
  };
};

export type FinishedTree = { readonly path: string; readonly size: number; readonly root: Hash };
type TreeFile = {
  readonly append: (leaf: Hash) => void | Promise<void>;
  /** The file, durable on this machine's disk; null for a tree without leaves, which has no root (AN-09). */
  readonly finish: () => Promise<FinishedTree | null>;
  /** Must be called after any outcome. */
  readonly release: () => Promise<void>;
};

/** Maximum number of kept levels: 2^48 leaves have nine. */
const KEPT_LEVELS = 9;

/** Writes into `folder`, which exists and is empty. */
export const openTreeFile = async (folder: string): Promise<TreeFile> => {
  const levels = await Promise.all(
    Array.from({ length: KEPT_LEVELS }, (_, at) => openLevel(join(folder, `level-${String(at * TILE_HEIGHT)}`))),
  );
  const leaves = levels[0] as LevelFile;
  const tree = createTree((level, hash) => {
    if (isKept(level)) levels[level / TILE_HEIGHT]?.push(hash);
  });
  const flushFull = async (): Promise<void> => {
    for (const level of levels) if (level.isFull()) await level.flush();
  };
  return {
    append: (leaf) => {
      tree.append(leaf);
      leaves.push(leaf);
      if (leaves.isFull()) return flushFull();
    },
    finish: async () => {
      for (const level of levels) await level.flush();
      for (const { handle, path } of levels.slice(1)) {
        await handle.close();
        for await (const piece of createReadStream(path)) await leaves.handle.writeFile(piece as Uint8Array);
      }
      await leaves.handle.sync();
      await leaves.handle.close();
      const root = tree.root();
      return root === null ? null : { path: leaves.path, size: tree.size(), root };
    },
    release: async () => {
      for (const { handle } of levels) await handle.close();
    },
  };
};
