// Verification of an audit path (RFC 9162 section 2.1.3.2).
import { HASH_BYTES, type Hash, hashNode, MerkleError } from './hash.ts';

type Inclusion = {
  readonly leaf: Uint8Array;
  /** Index of the leaf, `0 <= index < size`. */
  readonly index: bigint | number;
  readonly size: bigint | number;
  /** From the leaf upwards. */
  readonly path: readonly Uint8Array[];
};

const requireHash = (hash: Uint8Array, name: string): void => {
  if (hash.length !== HASH_BYTES) throw new MerkleError(`${name} has ${hash.length} bytes, not 32`);
};

/** The root computed from a leaf and its path. Throws MerkleError when they cannot belong to a tree of this size. */
export const computeRootOfPath = ({ leaf, index, size, path }: Inclusion): Hash => {
  requireHash(leaf, 'the leaf');
  path.forEach((hash, at) => {
    requireHash(hash, `path[${at}]`);
  });
  let place = BigInt(index);
  let last = BigInt(size) - 1n;
  if (place < 0n || place > last) throw new MerkleError(`leaf ${index} is not in a tree of ${size} leaves`);
  let hash: Hash = Buffer.from(leaf);
  for (const sibling of path) {
    if (last === 0n) throw new MerkleError('the path is longer than the tree is high');
    if (place % 2n === 1n || place === last) {
      hash = hashNode(sibling, hash);
      while (place % 2n === 0n && place !== 0n) {
        place /= 2n;
        last /= 2n;
      }
    } else {
      hash = hashNode(hash, sibling);
    }
    place /= 2n;
    last /= 2n;
  }
  if (last !== 0n) throw new MerkleError('the path is shorter than the tree is high');
  return hash;
};

/** Throws MerkleError unless the leaf is at its index in the tree with this root. */
export const verifyInclusion = (inclusion: Inclusion, root: Uint8Array): void => {
  requireHash(root, 'the root');
  const found = computeRootOfPath(inclusion);
  if (!found.equals(root))
    throw new MerkleError(`the path leads to ${found.toString('hex')}, not to ${Buffer.from(root).toString('hex')}`);
};
