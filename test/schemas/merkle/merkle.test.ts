// Trees, paths and tiles against the vectors of RFC 6962 and against the definition, written out slowly here.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { HASH_BYTES, type Hash, hashLeaf, hashNode, MerkleError } from '../../../schemas/merkle/hash.ts';
import { coverRange, listAuditNodes } from '../../../schemas/merkle/nodes.ts';
import { createTileReader, isKept, listKeptLevels } from '../../../schemas/merkle/tiles.ts';
import { createTree } from '../../../schemas/merkle/tree.ts';
import { computeRootOfPath, verifyInclusion } from '../../../schemas/merkle/verify.ts';

const vector = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../fixtures/merkle/${name}.json`, import.meta.url), 'utf8')) as T;
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const hex = (hash: Uint8Array | null): string | null => (hash === null ? null : Buffer.from(hash).toString('hex'));

/** MTH of RFC 6962 section 2.1, by its recursive definition. */
const slowRoot = (leaves: readonly Hash[]): Hash => {
  if (leaves.length === 1) return leaves[0] as Hash;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return hashNode(slowRoot(leaves.slice(0, k)), slowRoot(leaves.slice(k)));
};
/** PATH of RFC 6962 section 2.1.1, by its recursive definition. */
const slowPath = (index: number, leaves: readonly Hash[]): Hash[] => {
  if (leaves.length === 1) return [];
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return index < k
    ? [...slowPath(index, leaves.slice(0, k)), slowRoot(leaves.slice(k))]
    : [...slowPath(index - k, leaves.slice(k)), slowRoot(leaves.slice(0, k))];
};
const numbered = (n: number): Hash[] => Array.from({ length: n }, (_, i) => hashLeaf(Buffer.from(String(i))));

/** The file of a tree as storage keeps it, and its root. */
const grow = (leaves: readonly Hash[]): { file: Buffer; root: Hash | null } => {
  const kept = new Map<number, Hash[]>([[0, []]]);
  const tree = createTree((level, hash) => {
    if (isKept(level)) kept.set(level, [...(kept.get(level) ?? []), hash]);
  });
  for (const leaf of leaves) {
    kept.get(0)?.push(leaf);
    tree.append(leaf);
  }
  const levels = [...kept].sort(([a], [b]) => a - b);
  return { file: Buffer.concat(levels.flatMap(([, hashes]) => hashes)), root: tree.root() };
};
const createReader = (file: Buffer, size: number, onRead: (count: number) => void = () => undefined) =>
  createTileReader(size, async (first, count) => {
    onRead(count);
    return file.subarray(first * HASH_BYTES, (first + count) * HASH_BYTES);
  });

type ReferenceTree = { leaf_inputs: string[]; roots: string[] };
type Paths = { paths: { tree_size: number; leaf_index: number; leaf_hash: string; root: string; path: string[] }[] };
type Larger = { trees: { n: number; root: string; paths: Record<string, string[]> }[] };
type Probe = { desc: string; leaf_index: string; tree_size: string; root: string; leaf_hash: string; proof: string[] };
type Probes = { probes: (Probe & { want_error: boolean })[] };

t.test('roots of the certificate-transparency reference tree', (t) => {
  const { leaf_inputs, roots } = vector<ReferenceTree>('reference-tree');
  const tree = createTree();
  t.equal(tree.root(), null, 'a tree without leaves has no root (AN-09)');
  leaf_inputs.forEach((input, i) => {
    tree.append(hashLeaf(bytes(input)));
    t.equal(hex(tree.root()), roots[i + 1], `root over ${i + 1}`);
    t.equal(tree.size(), i + 1);
  });
  t.end();
});

t.test('every audit path of trees of 1 to 8 leaves', async (t) => {
  const { leaf_inputs } = vector<ReferenceTree>('reference-tree');
  const leaves = leaf_inputs.map((input) => hashLeaf(bytes(input)));
  for (const { tree_size, leaf_index, leaf_hash, root, path } of vector<Paths>('audit-paths-1-to-8').paths) {
    const { file } = grow(leaves.slice(0, tree_size));
    const found = await createReader(file, tree_size).path(leaf_index);
    t.same(found.map(hex), path, `leaf ${leaf_index} of ${tree_size}`);
    const inclusion = { leaf: bytes(leaf_hash), index: leaf_index, size: tree_size, path: path.map(bytes) };
    t.doesNotThrow(() => verifyInclusion(inclusion, bytes(root)));
  }
});

t.test('larger trees, whose paths cross tiles', async (t) => {
  for (const { n, root, paths } of vector<Larger>('larger-trees').trees) {
    const grown = grow(numbered(n));
    t.equal(hex(grown.root), root, `root over ${n}`);
    for (const [index, path] of Object.entries(paths)) {
      const found = await createReader(grown.file, n).path(Number(index));
      t.same(found.map(hex), path, `leaf ${index} of ${n}`);
    }
  }
});

t.test('every published probe: valid ones hold, all others are refused', (t) => {
  for (const probe of vector<Probes>('inclusion-probes').probes) {
    const check = (): void =>
      verifyInclusion(
        {
          leaf: bytes(probe.leaf_hash),
          index: BigInt(probe.leaf_index),
          size: BigInt(probe.tree_size),
          path: probe.proof.map(bytes),
        },
        bytes(probe.root),
      );
    // One probe has an empty root and an empty leaf: only the length check refuses it.
    if (probe.want_error || probe.leaf_hash.length !== 64) t.throws(check, MerkleError, probe.desc);
    else t.doesNotThrow(check, probe.desc);
  }
  t.end();
});

t.test('trees of any size equal the definition, and each changed proof is refused', async (t) => {
  const place = fc.integer({ min: 1, max: 700 }).chain((size) => fc.tuple(fc.constant(size), fc.nat(size - 1)));
  const changes = fc.record({
    byte: fc.nat(HASH_BYTES - 1),
    bit: fc.nat(7),
    step: fc.nat(),
    by: fc.constantFrom(-1, 1),
  });
  await fc.assert(
    fc.asyncProperty(place, changes, async ([size, index], { byte, bit, step, by }) => {
      const leaves = numbered(size);
      const { file, root } = grow(leaves);
      const path = await createReader(file, size).path(index);
      t.match(root, slowRoot(leaves));
      t.same(path.map(hex), slowPath(index, leaves).map(hex));
      const inclusion = { leaf: leaves[index] as Hash, index, size, path };
      verifyInclusion(inclusion, root as Hash);
      const flipped = (hash: Uint8Array): Buffer => {
        const copy = Buffer.from(hash);
        copy[byte] = (copy[byte] as number) ^ (1 << bit);
        return copy;
      };
      const wrong = [
        { ...inclusion, leaf: flipped(inclusion.leaf) },
        { ...inclusion, index: index + by },
        { ...inclusion, path: [...path, leaves[0] as Hash] },
        ...(path.length === 0
          ? []
          : [
              { ...inclusion, path: path.slice(1) },
              { ...inclusion, path: path.slice(0, -1) },
            ]),
        ...(path.length === 0
          ? []
          : [{ ...inclusion, path: path.map((h, i) => (i === step % path.length ? flipped(h) : h)) }]),
      ];
      for (const changed of wrong) t.throws(() => verifyInclusion(changed, root as Hash), MerkleError);
      t.throws(() => verifyInclusion(inclusion, flipped(root as Hash)), MerkleError);
    }),
    { numRuns: 60 },
  );
});

t.test('a proof reads a few tiles, whatever the size of the tree', async (t) => {
  const size = 2 ** 18 - 3;
  const { file, root } = grow(numbered(size));
  t.equal(file.length, listKeptLevels(size).reduce((sum, { count }) => sum + count, 0) * HASH_BYTES);
  for (const index of [0, 1, 131_071, 131_072, size - 1]) {
    let hashes = 0;
    const reader = createReader(file, size, (count) => {
      hashes += count;
    });
    const path = await reader.path(index);
    t.match(computeRootOfPath({ leaf: await reader.leaf(index), index, size, path }), root);
    t.ok(hashes <= 64 * 2 * listKeptLevels(size).length, `${hashes} hashes read`);
  }
});

t.test('a file that is too short is refused, not proved from', async (t) => {
  const { file } = grow(numbered(100));
  await t.rejects(createReader(file.subarray(0, -1), 100).path(80), MerkleError);
  await t.rejects(createReader(Buffer.alloc(0), 100).path(80), MerkleError);
});

t.test('paths and covers of places that are none', (t) => {
  t.throws(() => listAuditNodes(5, 5), RangeError);
  t.throws(() => listAuditNodes(-1, 5), RangeError);
  t.throws(() => listAuditNodes(0.5, 5), RangeError);
  t.same(listAuditNodes(0, 1), []);
  t.same(coverRange(4, 7), [
    { level: 1, index: 2 },
    { level: 0, index: 6 },
  ]);
  t.same(hashLeaf('"é\u{1F602}"'), hashLeaf(Buffer.from('"é\u{1F602}"')), 'a text is its bytes in UTF-8');
  for (const [left, right] of [
    [31, 32],
    [32, 31],
  ] as const)
    t.throws(() => hashNode(Buffer.alloc(left), Buffer.alloc(right)), MerkleError);
  t.end();
});
