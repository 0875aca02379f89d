// Binary search in sorted items.

/**
 * The number of items at the beginning that meet a condition, among `count` items of which all that meet it stand before all others. So it is the index of the first
 * item that does not meet it, and one more than the index of the last that does.
 */
export const countLeading = (count: number, isLeading: (index: number) => boolean): number => {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isLeading(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};
