// A tree built leaf by leaf in O(log n) memory (RFC 6962 section 2.1), and the fold of its right edge.
import { type Hash, hashNode } from './hash.ts';

type TreeBuilder = {
  /** Adds the next leaf by its hash. */
  readonly append: (leaf: Hash) => void;
  readonly size: () => number;
  /** Root over the leaves so far; null without leaves: SHA-256 of nothing would look like a root (AN-09). */
  readonly root: () => Hash | null;
};

/** Called once for each complete subtree above the leaves, after its last leaf; indexes of a level ascend. */
type NodeListener = (level: number, hash: Hash) => void;

export const createTree = (onNode: NodeListener = () => undefined): TreeBuilder => {
  /** `complete[level]` waits for its right sibling. */
  const complete: (Hash | undefined)[] = [];
  let size = 0;
  const append = (leaf: Hash): void => {
    let level = 0;
    let hash = leaf;
    for (let left = complete[level]; left !== undefined; left = complete[level]) {
      hash = hashNode(left, hash);
      complete[level] = undefined;
      level += 1;
      onNode(level, hash);
    }
    complete[level] = hash;
    size += 1;
  };
  const root = (): Hash | null => foldRight(complete.filter((hash) => hash !== undefined).reverse());
  return { append, size: () => size, root };
};

/** Hash over adjacent complete subtrees, largest first; null for none. */
export const foldRight = (hashes: readonly Hash[]): Hash | null => {
  let folded: Hash | null = null;
  for (const hash of [...hashes].reverse()) folded = folded === null ? hash : hashNode(hash, folded);
  return folded;
};
