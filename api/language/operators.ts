// The one table of operators, for parser and printer: how tightly each binds (DQL-06).

export const COMPARISONS = ['=', '<', '>', '<=', '>='] as const;
export type Comparison = (typeof COMPARISONS)[number];
export const ARITHMETIC = ['+', '-', '*', '/'] as const;
export type Arithmetic = (typeof ARITHMETIC)[number];

/** Loosest first. Comparisons do not chain; the arithmetic ones associate to the left. */
export const BINDING = {
  or: 1,
  and: 2,
  in: 3,
  '=': 3,
  '<': 3,
  '>': 3,
  '<=': 3,
  '>=': 3,
  '+': 4,
  '-': 4,
  '*': 5,
  '/': 5,
} as const satisfies Readonly<Record<Comparison | Arithmetic | 'or' | 'and' | 'in', number>>;

export const TIGHTEST = 6;

export const findComparison = (text: string): Comparison | undefined => COMPARISONS.find((op) => op === text);
export const findArithmetic = (text: string): Arithmetic | undefined => ARITHMETIC.find((op) => op === text);

/** Binary64; NaN for a division by zero. */
export const applyOperator = (op: Arithmetic, a: number, b: number): number => {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return b === 0 ? Number.NaN : a / b;
    default: {
      const never: never = op;
      return never;
    }
  }
};
