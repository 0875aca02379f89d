// JSON that passes through without losing digits: a number that a double would print differently is written again as it was read.

/** Of newer engines than the library of types knows. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

type Context = { readonly source?: string };

const keepDigits = (_key: string, value: unknown, { source }: Context): unknown =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value;

/** As `JSON.parse`; `JSON.stringify` of the result has the digits of the text. */
export const parseKeepingDigits = (text: string): unknown =>
  JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown);
