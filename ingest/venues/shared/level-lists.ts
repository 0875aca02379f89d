// Reads the levels of a book from the message's text, where they are most of it: by one scan, without JSON.parse allocating an array and two
// strings for each. Anything but the plain form (an exponent, a sign, a space, a price of zero) is left to JSON.parse and its readers.
import type { Digits, Level } from '../../../schemas/records.ts';
import { PLACE, PLACE_TEXT, toJsonOfList } from './element-text.ts';

/** The form of a venue's book levels. */
type LevelForm = {
  /** Members that hold a list of levels each. */
  readonly names: readonly string[];
  /** Members of a level that is an object: price, size, other figures. A level that is a list starts with price and size. */
  readonly keys?: readonly string[];
  /** The member contains both sides: a list of two lists. */
  readonly isPaired?: true;
  /** A level is a list that starts with one of these words; after the last of them its size is zero. */
  readonly words?: readonly string[];
};

/** Levels read from the text; in JSON they are the venue's own text. */
class CutList {
  readonly levels: readonly Level[];
  /** The levels are objects; all of them are, or none is. */
  readonly isNamed: boolean;
  readonly #text: string;
  constructor(levels: readonly Level[], text: string) {
    this.levels = levels;
    this.isNamed = text.charCodeAt(1) === OPEN_OBJECT;
    this.#text = text;
  }
  toJSON(): unknown {
    return toJsonOfList(this.#text);
  }
}

export class LevelList extends CutList {}
/** Levels that start with a word. */
export class ChangeList extends CutList {}

type Lists = CutList | readonly CutList[];
type Member = { readonly name: string; readonly label: string };
/** A member whose lists were cut out of the text, and where they were. */
type Cut = { readonly name: string; readonly from: number; readonly to: number; readonly lists: Lists };

/** A message without its levels (a place for each list), and the members that have them. */
export type CutMessage = { readonly rest: string; readonly cuts: readonly CutMember[] };
/** A search in one or two members is faster than a map, which would have to be created for each message. */
export type CutMember = { readonly name: string; readonly lists: unknown };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Longer figures are left to the general reader. */
const LONGEST_FIGURE = 60;

/** A shorter message has few levels: a scan is not faster than the parse. */
const SHORTEST_CUT = 250;

/** Position in the text after the last read. */
let end = 0;

/** The figure at `from`, in quotes or bare, under N-05 rule 1; null unless its form is `12`, `0.5` or `12.50`. */
const scanFigure = (text: string, from: number): Digits | null => {
  const isQuoted = text.charCodeAt(from) === QUOTE;
  const first = isQuoted ? from + 1 : from;
  let at = first;
  let point = -1;
  let last = -1;
  for (; ; at++) {
    const code = text.charCodeAt(at);
    if (code > ZERO && code <= NINE) last = at;
    else if (code === POINT && point < 0) point = at;
    else if (code !== ZERO) break;
  }
  const wholeEnd = point < 0 ? at : point;
  if (wholeEnd === first || point === at - 1 || at - first > LONGEST_FIGURE) return null;
  if (wholeEnd > first + 1 && text.charCodeAt(first) === ZERO) return null;
  if (isQuoted && text.charCodeAt(at) !== QUOTE) return null;
  end = isQuoted ? at + 1 : at;
  return text.slice(first, point < 0 ? at : Math.max(point, last + 1));
};

/** Index of the label at `at`, most likely the one at its own place; -1 for none. */
const findLabel = (
  text: string,
  at: number,
  { labels, place }: { labels: readonly string[]; place: number },
): number => {
  const own = labels[place];
  return own !== undefined && text.startsWith(own, at)
    ? place
    : labels.findIndex((label) => text.startsWith(label, at));
};

/** The texts a level starts with: the labels of its members, or its words, in the order of the form. */
type Starts = { readonly labels: readonly string[] | null; readonly words: readonly string[] | null };

/** The level at `from`; null when it has not the plain form. */
const scanLevel = (text: string, from: number, { labels, words }: Starts): Level | null => {
  const open = text.charCodeAt(from);
  const isObject = open === OPEN_OBJECT && labels !== null;
  if (!isObject && open !== OPEN_LIST) return null;
  const close = isObject ? CLOSE_OBJECT : CLOSE_LIST;
  const word = words === null ? null : findWord(text, from + 1, words);
  if (word === undefined) return null;
  let price: Digits | null = null;
  let size: Digits | null = null;
  let at = from + 1 + (word?.length ?? 0);
  /** A bit for each member. */
  let seen = 0;
  for (let place = 0; ; place++) {
    const member = isObject ? findLabel(text, at, { labels, place }) : place;
    if (member < 0 || (isObject && (seen & (1 << member)) !== 0)) return null;
    seen |= 1 << member;
    const figure = scanFigure(text, isObject ? at + (labels[member] as string).length : at);
    if (figure === null) return null;
    if (member === 0) price = figure;
    else if (member === 1) size = figure;
    at = end + 1;
    const code = text.charCodeAt(end);
    if (code === close) break;
    if (code !== COMMA) return null;
  }
  end = at;
  if (price === null || size === null || price === '0') return null;
  return [price, word !== null && word === words?.at(-1) ? '0' : size];
};

const findWord = (text: string, at: number, words: readonly string[]): string | undefined => {
  for (const word of words) if (text.startsWith(word, at)) return word;
  return undefined;
};

const scanList = (text: string, from: number, starts: Starts): CutList | null => {
  if (text.charCodeAt(from) !== OPEN_LIST) return null;
  const levels: Level[] = [];
  let at = from + 1;
  if (text.charCodeAt(at) === CLOSE_LIST) at += 1;
  else {
    for (;;) {
      const level = text.charCodeAt(at) === text.charCodeAt(from + 1) ? scanLevel(text, at, starts) : null;
      if (level === null) return null;
      levels.push(level);
      at = end + 1;
      const code = text.charCodeAt(end);
      if (code === CLOSE_LIST) break;
      if (code !== COMMA) return null;
    }
  }
  end = at;
  const List = starts.words === null ? LevelList : ChangeList;
  return new List(levels, text.slice(from, at));
};

const scanPair = (text: string, from: number, starts: Starts): readonly CutList[] | null => {
  const first = text.charCodeAt(from) === OPEN_LIST ? scanList(text, from + 1, starts) : null;
  if (first === null || text.charCodeAt(end) !== COMMA) return null;
  const second = scanList(text, end + 1, starts);
  if (second === null || text.charCodeAt(end) !== CLOSE_LIST) return null;
  end += 1;
  return [first, second];
};

/** Cuts the lists out of a message's text; null without lists, or when one has not the plain form. */
export const createCutter = ({ names, keys, isPaired, words }: LevelForm): ((text: string) => CutMessage | null) => {
  const members = names.map((name) => ({ name, label: `"${name}":` }));
  const starts: Starts = {
    labels: keys?.map((key) => `"${key}":`) ?? null,
    words: words?.map((word) => `"${word}",`) ?? null,
  };
  const scan = isPaired ? scanPair : scanList;
  return (text) => {
    if (text.length < SHORTEST_CUT) return null;
    const cuts: Cut[] = [];
    // A bracket is looked for, not the names: a search for one character is the only fast one.
    let from = text.indexOf('[');
    while (from >= 0) {
      const member = text.charCodeAt(from - 1) === COLON ? findMember(text, from, members) : undefined;
      if (member === undefined) {
        from = text.indexOf('[', from + 1);
        continue;
      }
      const { name, label } = member;
      // A list is known by its member's name.
      if (cuts.some((cut) => cut.name === name)) return null;
      const before = text.charCodeAt(from - label.length - 1);
      if (before !== COMMA && before !== OPEN_OBJECT) return null;
      const lists = scan(text, from, starts);
      if (lists === null) return null;
      cuts.push({ name, from, to: end, lists });
      from = text.indexOf('[', end);
    }
    return cuts.length === 0 ? null : cutLists(text, cuts);
  };
};

/** The member whose label ends at `at`. */
const findMember = (text: string, at: number, members: readonly Member[]): Member | undefined => {
  for (const member of members) if (text.startsWith(member.label, at - member.label.length)) return member;
  return undefined;
};

const cutLists = (text: string, cuts: readonly Cut[]): CutMessage => {
  let rest = '';
  let from = 0;
  for (const cut of cuts) {
    rest += text.slice(from, cut.from) + PLACE_TEXT;
    from = cut.to;
  }
  return { rest: rest + text.slice(from), cuts };
};

/** The lists of a member; undefined if no lists of it were cut out. */
export const findLists = (cuts: readonly CutMember[], name: string): unknown => {
  for (const cut of cuts) if (cut.name === name) return cut.lists;
  return undefined;
};

/**
 * Inserts the lists where they were cut out; returns how many found their place. Of a member that exists twice the last counts, as in
 * JSON.parse: it finds its place, or none does.
 */
export const placeLists = (value: unknown, cuts: readonly CutMember[]): number => {
  let placed = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') placed += placeLists(item, cuts);
    return placed;
  }
  if (typeof value !== 'object' || value === null) return 0;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const member = members[name];
    if (typeof member === 'object') placed += placeLists(member, cuts);
    if (member !== PLACE) continue;
    const lists = findLists(cuts, name);
    if (lists === undefined) continue;
    members[name] = lists;
    placed += 1;
  }
  return placed;
};
