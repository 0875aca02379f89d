// Leaf and node hashes of an RFC 6962 tree over SHA-256. This folder imports nothing but node:crypto.
import { hash } from 'node:crypto';

/** A SHA-256 digest. Always 32 bytes. */
export type Hash = Buffer;

export const HASH_BYTES = 32;

/** Not a tree, a path or a hash: the message states the difference. */
export class MerkleError extends Error {
  override readonly name = 'MerkleError';
}

const NODE_BYTES = 1 + 2 * HASH_BYTES;

/** A digest as text costs a third of a separate buffer, even with a copy into one. */
const digest = (data: string | Uint8Array): Hash => Buffer.from(hash('sha256', data, 'binary'), 'latin1');

/** SHA-256(0x00 || data): the prefix distinguishes a leaf from a node (RFC 6962 section 2.1). A text is hashed as UTF-8. */
export const hashLeaf = (data: string | Uint8Array): Hash => {
  if (typeof data === 'string') return digest(`\0${data}`);
  const prefixed = Buffer.allocUnsafe(data.length + 1);
  prefixed[0] = 0;
  prefixed.set(data, 1);
  return digest(prefixed);
};

/** The preimage of the node being hashed: a hash is computed before the next one begins. */
const node = Buffer.alloc(NODE_BYTES, 1);

/** SHA-256(0x01 || left || right). Throws MerkleError unless both are 32 bytes. */
export const hashNode = (left: Uint8Array, right: Uint8Array): Hash => {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES)
    throw new MerkleError(`a node has two hashes of 32 bytes, not ${left.length} and ${right.length}`);
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return digest(node);
};
