// Binary search in sorted items.

/**
 * Counts the items that meet a condition, among `count` items in which those that meet it come before all others. The result is also the index of the
 * first item that does not meet it, and one more than the index of the last item that does.
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
