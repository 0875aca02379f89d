// The object form of a selection: `{"base": ["BTC", "ETH"], "quote": "USDT"}` (S-02). Its shape is already checked.
import Type, { type Static } from 'typebox';
import { type Code, IN_LIST, SELECTION_KEYS, type Selection } from './selection.ts';

const makeCodes = (what: string) =>
  Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: IN_LIST })], { description: what }),
  );

const SelectionObject = Type.Object(
  {
    instrument: makeCodes('Instrument codes, such as BTC-PERP.'),
    base: makeCodes('Codes of base assets.'),
    venue: makeCodes('Venue codes.'),
    quote: makeCodes('Codes of quote currencies.'),
    symbol: makeCodes('Symbols at the venue, byte for byte.'),
  },
  { additionalProperties: false, minProperties: 1 },
);

export const SelectionText = Type.String({
  description: 'Selection of listings as text, such as `base in (BTC, ETH) and quote = USDT`. Default: all listings.',
  examples: ['base = BTC and quote = USDT'],
});

/** `where` of a body: either form. */
export const Where = Type.Union([SelectionText, SelectionObject]);

/** Reads the object form; `path` is the JSON pointer of the object. */
export const toSelection = (object: Static<typeof SelectionObject>, path: string): Selection => {
  const selection: { -readonly [K in keyof Selection]: Selection[K] } = {};
  for (const key of SELECTION_KEYS) {
    const value = object[key];
    if (value === undefined) continue;
    selection[key] =
      typeof value === 'string'
        ? [{ text: value, origin: { path: `${path}/${key}` } }]
        : value.map((text, i): Code => ({ text, origin: { path: `${path}/${key}/${i}` } }));
  }
  return selection;
};
