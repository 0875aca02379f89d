// What a catch clause receives, which may be any value: as text, or as an Error.

/** The message of an Error; any other value as text. */
export const describeError = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** The value itself when it is an Error; else an Error with the value's text as its message. */
export const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
