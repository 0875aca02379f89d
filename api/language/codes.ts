// Codes as queries write them: any letter case, catalogue spelling back, and the error for an unknown code (S-03, S-04, E-08).
import { type ErrorCode, findNearest, MOST_SUGGESTED } from '../../schemas/errors.ts';
import { clip } from '../contract/sent-text.ts';
import type { SelectionKey } from './selection.ts';

export type CodeKey = Exclude<SelectionKey, 'symbol'>;
/** Catalogue spelling by the folded one. */
export type Codes = Readonly<Record<CodeKey, ReadonlyMap<string, string>>>;

/** Letter case does not matter in codes (S-03). */
export const foldCase = (key: CodeKey, text: string): string =>
  key === 'venue' ? text.toLowerCase() : text.toUpperCase();

const UNKNOWN: Readonly<Record<CodeKey, { readonly code: ErrorCode; readonly what: string }>> = {
  instrument: { code: 'DQL_UNKNOWN_INSTRUMENT', what: 'an instrument' },
  base: { code: 'DQL_UNKNOWN_ASSET', what: 'a base asset' },
  venue: { code: 'DQL_UNKNOWN_VENUE', what: 'a venue' },
  quote: { code: 'DQL_UNKNOWN_CURRENCY', what: 'a quote currency' },
};
const NAMED_IN_MESSAGE = 10;

type UnknownCode = { readonly code: ErrorCode; readonly message: string; readonly hint: string };

const sorted = new WeakMap<ReadonlyMap<string, string>, readonly string[]>();

/** Catalogue spellings, ascending; sorted once, for they change only with the catalogue. */
export const listSpellings = (codes: ReadonlyMap<string, string>): readonly string[] => {
  const held = sorted.get(codes) ?? [...codes.values()].sort();
  sorted.set(codes, held);
  return held;
};

/** The base of a venue's symbol such as `BTCUSDT` or `ETH-USD`: a known base, then a known quote. */
const findBaseOfSymbol = (folded: string, { base, quote }: Codes): string | undefined => {
  for (const currency of quote.keys()) {
    const at = folded.indexOf(currency, 1);
    const found = at < 0 ? undefined : base.get(folded.slice(0, at).replace(/[-_/:]$/, ''));
    if (found !== undefined) return found;
  }
  return undefined;
};

const makeSuggestion = (
  key: CodeKey,
  folded: string,
  { near, codes }: { near: readonly string[]; codes: Codes },
): string => {
  const asInstrument = codes.instrument.get(`${folded}-PERP`);
  if (key === 'instrument' && asInstrument !== undefined) return `Write ${asInstrument}.`;
  const asBase = codes.base.get(folded.replace(/-PERP$/, ''));
  if (key === 'base' && asBase !== undefined) return `Write ${asBase}.`;
  const ofSymbol = key === 'instrument' || key === 'base' ? findBaseOfSymbol(folded, codes) : undefined;
  if (ofSymbol !== undefined) {
    const code = key === 'base' ? ofSymbol : `${ofSymbol}-PERP`;
    return `Write ${code}; the symbol of one venue is written as in symbol = "BTCUSDT".`;
  }
  return near.length > 0
    ? `Did you mean ${near.slice(0, MOST_SUGGESTED).join(', ')}?`
    : 'GET /v2/instruments lists every code.';
};

/** The code in catalogue spelling; undefined when it is not known (S-03). */
export const findSpelledCode = (key: CodeKey, text: string, codes: Codes): string | undefined =>
  codes[key].get(foldCase(key, text));

export const UNKNOWN_CODES: Readonly<Record<CodeKey, ErrorCode>> = {
  instrument: UNKNOWN.instrument.code,
  base: UNKNOWN.base.code,
  venue: UNKNOWN.venue.code,
  quote: UNKNOWN.quote.code,
};

/** The error for an unknown code: up to ten known ones, nearest first, and how many there are (S-04, E-08). */
export const makeUnknownCode = (key: CodeKey, text: string, codes: Codes): UnknownCode => {
  const shown = clip(text);
  const folded = foldCase(key, shown);
  const known = listSpellings(codes[key]);
  const near = findNearest(folded, known, NAMED_IN_MESSAGE);
  const listed = [...near];
  for (const code of known) {
    if (listed.length >= NAMED_IN_MESSAGE) break;
    if (!near.includes(code)) listed.push(code);
  }
  const all = known.length === 0 ? 'none is known yet' : `known are ${listed.join(', ')} (${known.length} in all)`;
  const { code, what } = UNKNOWN[key];
  return { code, message: `"${shown}" is not ${what}: ${all}.`, hint: makeSuggestion(key, folded, { near, codes }) };
};
