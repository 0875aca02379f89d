// Sums without avoidable loss of precision: Neumaier's compensated summation, in the given order (N-05 rule 3).

/** Sum of `values[from]` to `values[to - 1]`. */
export const computeSum = (values: ArrayLike<number>, from = 0, to = values.length): number => {
  let [sum, lost] = [0, 0];
  for (let i = from; i < to; i++) {
    const value = values[i] as number;
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
};

/** Mean of `n` values that begin with `values[from]`. */
export const computeMean = (values: ArrayLike<number>, from: number, n: number): number =>
  computeSum(values, from, from + n) / n;
