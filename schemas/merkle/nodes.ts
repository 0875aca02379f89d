// Index arithmetic of an RFC 6962 tree, independent of hashes and storage. Indexes and sizes are integers below 2^53.

/** The complete subtree over leaves `[index * 2^level, (index + 1) * 2^level)`. */
export type Node = { readonly level: number; readonly index: number };

/** The largest power of two below `size`, for `size >= 2`: the split point of a tree. */
const splitPoint = (size: number): number => {
  let k = 1;
  while (k * 2 < size) k *= 2;
  return k;
};

/** The complete subtrees that cover leaves `[begin, end)`, left to right. `begin` is a multiple of the largest one's width. */
export const coverRange = (begin: number, end: number): Node[] => {
  const nodes: Node[] = [];
  for (let at = begin; at < end; ) {
    let level = 0;
    let width = 1;
    while (at % (width * 2) === 0 && at + width * 2 <= end) {
      width *= 2;
      level += 1;
    }
    nodes.push({ level, index: at / width });
    at += width;
  }
  return nodes;
};

/**
 * The audit path of leaf `index` in a tree of `size` leaves (RFC 6962 section 2.1.1), from the leaf upwards.
 * Each element is the list of complete subtrees whose fold is that hash: one, or several at the right edge.
 * Throws RangeError unless `0 <= index < size`.
 */
export const listAuditNodes = (index: number, size: number): Node[][] => {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size)
    throw new RangeError(`leaf ${index} is not in a tree of ${size} leaves`);
  const path: Node[][] = [];
  let begin = 0;
  let end = size;
  while (end - begin > 1) {
    const middle = begin + splitPoint(end - begin);
    if (index < middle) {
      path.push(coverRange(middle, end));
      end = middle;
    } else {
      path.push(coverRange(begin, middle));
      begin = middle;
    }
  }
  return path.reverse();
};
