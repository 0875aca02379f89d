// How a run ends: exit codes, and errors as one sentence with what to do.
import { ApiError } from '../typescript/src/index.ts';

export const EXIT = { ok: 0, usage: 1, refused: 3, key: 4, limit: 5, unavailable: 6, interrupted: 130 } as const;

/** The command line is invalid. */
export class UsageError extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** A run that ends with a code and prints nothing more. */
export class Ended extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

export const toExitCode = (error: unknown): number => {
  if (error instanceof Ended) return error.code;
  if (error instanceof UsageError) return EXIT.usage;
  if (!(error instanceof ApiError)) return EXIT.usage;
  if (error.status === 429) return EXIT.limit;
  if ([401, 402, 403].includes(error.status)) return EXIT.key;
  if (error.status === 0 || error.status >= 500) return EXIT.unavailable;
  return EXIT.refused;
};

type Position = { readonly line: number; readonly column: number; readonly length: number };

/** Where lines end in positions (DQL-01). */
const LINE_END = /\r\n|\n|\r/;

/** The line of a text that has the fault, and a mark under it. */
const underlineText = (text: string, { line, column, length }: Position): readonly string[] => {
  const shown = text.split(LINE_END)[line - 1] ?? '';
  // Columns count code points, as [...text] does.
  const marks = Math.max(1, Math.min(length, [...shown].length - column + 1));
  return [`  ${shown}`, `  ${' '.repeat(column - 1)}${'^'.repeat(marks)}`];
};

/** Texts that were sent, by the JSON pointer of their member. */
export type SentTexts = Readonly<Record<string, string | undefined>>;

/** Every fault with its place and hint, then the receipt. */
export const listErrorLines = (error: unknown, texts: SentTexts): readonly string[] => {
  if (error instanceof UsageError) return [error.message, error.hint];
  if (!(error instanceof ApiError)) return [error instanceof Error ? error.message : String(error)];
  const faults = error.errors.flatMap(({ code, message, hint, path, position }) => {
    const text = texts[path ?? ''] ?? Object.values(texts).find((one) => one !== undefined);
    return [
      `${code}: ${message}`,
      ...(position !== undefined && text !== undefined ? underlineText(text, position) : []),
      ...(hint === undefined ? [] : [`  ${hint}`]),
    ];
  });
  const again =
    error.retryAfter === null
      ? []
      : [`  Again in ${Math.ceil(error.retryAfter)} s${error.limit === null ? '' : ` (${error.limit})`}.`];
  return [...faults, ...again, ...(error.receipt === null ? [] : [`  receipt ${error.receipt}`])];
};
