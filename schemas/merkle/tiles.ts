// Positions of a finished tree's kept hashes, so that a proof reads kilobytes: the leaves, and every sixth level above them.
import { HASH_BYTES, type Hash, hashNode, MerkleError } from './hash.ts';
import { listAuditNodes, type Node } from './nodes.ts';
import { foldRight } from './tree.ts';

/** Distance of kept levels: a tile is 64 hashes, 2 KiB, and the kept levels above the leaves are 1.6 % of the file. */
export const TILE_HEIGHT = 6;
const TILE_HASHES = 2 ** TILE_HEIGHT;

/** Whether the complete subtrees of a level are kept. */
export const isKept = (level: number): boolean => level % TILE_HEIGHT === 0;

/** Kept levels of a tree, ascending, with the number of hashes and the position of the first, in hashes from the file's start. */
type KeptLevel = { readonly level: number; readonly first: number; readonly count: number };

/** The layout of a tree's file: level after level, leaves first. */
export const listKeptLevels = (size: number): KeptLevel[] => {
  const levels: KeptLevel[] = [];
  let first = 0;
  for (let level = 0; 2 ** level <= size; level += TILE_HEIGHT) {
    const count = Math.floor(size / 2 ** level);
    levels.push({ level, first, count });
    first += count;
  }
  return levels;
};

/** Reads `count` hashes from the `first` of the file: `32 * count` bytes. */
type HashReader = (first: number, count: number) => Promise<Uint8Array>;

type TileReader = {
  /** The audit path of leaf `index`, from the leaf upwards. */
  readonly path: (index: number) => Promise<Hash[]>;
  readonly leaf: (index: number) => Promise<Hash>;
};

/** Reads proofs from a tree's file. A reader reads each tile once: create one for each proof. */
export const createTileReader = (size: number, read: HashReader): TileReader => {
  const levels = listKeptLevels(size);
  const tiles = new Map<string, Promise<Hash[]>>();

  const readTile = async ({ level, first, count }: KeptLevel, tile: number): Promise<Hash[]> => {
    const begin = tile * TILE_HASHES;
    const held = Math.min(TILE_HASHES, count - begin);
    const bytes = Buffer.from(await read(first + begin, held));
    if (bytes.length !== held * HASH_BYTES)
      throw new MerkleError(`a tile of level ${level} has ${bytes.length} bytes, not ${held * HASH_BYTES}`);
    return Array.from({ length: held }, (_, at) => bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES));
  };
  const findTile = (kept: KeptLevel, tile: number): Promise<Hash[]> => {
    const key = `${kept.level}/${tile}`;
    const known = tiles.get(key) ?? readTile(kept, tile);
    tiles.set(key, known);
    return known;
  };
  /** A subtree is not higher than a tile, so its kept hashes are in one. */
  const readNode = async ({ level, index }: Node): Promise<Hash> => {
    const kept = levels[Math.floor(level / TILE_HEIGHT)];
    if (kept === undefined) throw new MerkleError(`level ${level} is above a tree of ${size} leaves`);
    const width = 2 ** (level - kept.level);
    const begin = index * width;
    const hashes = await findTile(kept, Math.floor(begin / TILE_HASHES));
    return foldComplete(hashes.slice(begin % TILE_HASHES, (begin % TILE_HASHES) + width), width);
  };
  const readCover = async (cover: readonly Node[]): Promise<Hash> => {
    const folded = foldRight(await Promise.all(cover.map(readNode)));
    if (folded === null) throw new MerkleError('an element of a path covers no leaf');
    return folded;
  };
  return {
    path: async (index) => Promise.all(listAuditNodes(index, size).map(readCover)),
    leaf: async (index) => readNode({ level: 0, index }),
  };
};

/** Hash over `width` adjacent hashes of one level, a power of two. */
const foldComplete = (hashes: readonly Hash[], width: number): Hash => {
  if (hashes.length !== width) throw new MerkleError(`a tile lacks ${width - hashes.length} hashes`);
  let row = hashes;
  while (row.length > 1)
    row = Array.from({ length: row.length / 2 }, (_, at) => hashNode(row[2 * at] as Hash, row[2 * at + 1] as Hash));
  return row[0] as Hash;
};
