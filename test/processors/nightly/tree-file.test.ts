// The kept hashes of a partition in one file: whole whatever its size, with a proof of any leaf out of it (AN-05, AN-09).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openTreeFile } from '../../../processors/nightly/steps/merkle/tree-file.ts';
import { type Hash, hashLeaf, hashNode } from '../../../schemas/merkle/hash.ts';
import { createTileReader, listKeptLevels } from '../../../schemas/merkle/tiles.ts';
import { verifyInclusion } from '../../../schemas/merkle/verify.ts';

/** The root as RFC 6962 defines it (section 2.1). */
const rootOf = (leaves: readonly Hash[]): Hash => {
  if (leaves.length === 1) return leaves[0] as Hash;
  const half = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1);
  return hashNode(rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half)));
};

const writeTree = async (leaves: readonly Hash[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'tree-'));
  const tree = await openTreeFile(folder);
  try {
    for (const leaf of leaves) await tree.append(leaf);
    const finished = await tree.finish();
    return finished && { ...finished, bytes: readFileSync(finished.path) };
  } finally {
    await tree.release();
    rmSync(folder, { recursive: true });
  }
};

t.test('a file holds the leaves and every sixth level, and any leaf is proven out of it', async (t) => {
  // Around the width of a tile, of two, and of what is written at once.
  for (const size of [1, 64, 65, 4_095, 4_096, 4_097, 8_257]) {
    const leaves = Array.from({ length: size }, (_, at) => hashLeaf(String(at)));
    const written = await writeTree(leaves);
    if (written === null) throw new Error('a tree with leaves has a file');
    const { root, bytes } = written;
    t.equal(written.size, size);
    t.ok(root.equals(rootOf(leaves)), `root of ${size}`);
    t.ok(bytes.subarray(0, 32 * size).equals(Buffer.concat(leaves)), 'the leaves come first');
    t.equal(bytes.length, 32 * listKeptLevels(size).reduce((sum, { count }) => sum + count, 0));
    for (let index = 0; index < size; index += 1 + (index % 7) * 131) {
      const reader = createTileReader(size, async (first, count) => bytes.subarray(32 * first, 32 * (first + count)));
      verifyInclusion({ index, size, leaf: leaves[index] as Hash, path: await reader.path(index) }, root);
    }
  }
});

t.test('a tree without leaves has no file and no root', async (t) => {
  t.equal(await writeTree([]), null);
});
