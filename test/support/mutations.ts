// Ways a frame may be damaged, chosen by a seeded generator so that a failure can be run again.
import { gzipSync } from 'node:zlib';

export type Random = (below: number) => number;

/** Whole numbers from 0 to `below` - 1 (Numerical Recipes' linear congruence, high bits). */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

type Damage = (frame: Buffer, random: Random) => Buffer;

const chooseOne = <T>(items: readonly [T, ...T[]], random: Random): T => items[random(items.length)] ?? items[0];

const splice = (frame: Buffer, at: number, removed: number, put: Buffer): Buffer =>
  Buffer.concat([frame.subarray(0, at), put, frame.subarray(at + removed)]);

const places = (frame: Buffer, pattern: RegExp): number[] =>
  [...frame.toString('latin1').matchAll(pattern)].map(({ index }) => index);

const swapAt =
  (pattern: RegExp, put: string): Damage =>
  (frame, random) => {
    const found = places(frame, pattern);
    return found.length === 0 ? frame : splice(frame, found[random(found.length)] ?? 0, 1, Buffer.from(put));
  };

const BYTES: readonly [Damage, ...Damage[]] = [
  (frame, random) => frame.subarray(0, random(frame.length)),
  (frame, random) => splice(frame, random(frame.length), 1, Buffer.from([random(256)])),
  (frame, random) => splice(frame, random(frame.length), 1 + random(20), Buffer.alloc(0)),
  (frame, random) => splice(frame, random(frame.length), 0, Buffer.from([random(256), random(256)])),
  (frame, random) => {
    const at = random(frame.length);
    return splice(frame, at, 0, frame.subarray(at, at + random(30)));
  },
  swapAt(/\d/g, 'x'),
  swapAt(/\d/g, '-'),
  swapAt(/"/g, ''),
  swapAt(/\d(?=")/g, 'e999'),
];

const ENCODINGS: readonly [Damage, ...Damage[]] = [
  (frame) => Buffer.from(frame.toString('utf8'), 'utf16le'),
  (frame) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), frame]),
  (frame, random) => splice(frame, random(frame.length), 1, Buffer.from([0xff, 0xc0, 0x00])),
  (frame) => gzipSync(frame),
  (frame) => Buffer.concat([frame, frame]),
  (_frame, random) =>
    Buffer.from(chooseOne(['', 'null', '[]', '{}', '0', '"x"', 'true', '[[]]', '[null]', 'pong'], random)),
];

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
export const { isRawJSON: isRaw } = JSON as unknown as {
  readonly isRawJSON: (value: unknown) => value is { readonly rawJSON: string };
};

/** Numbers keep their text: what a damage leaves alone is sent as the venue sent it. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, ((_key: string, value: unknown, context: { readonly source?: string }): unknown =>
    typeof value === 'number' && context.source !== undefined ? rawJSON(context.source) : value) as (
    key: string,
    value: unknown,
  ) => unknown);

type Holder = Record<string, unknown>;
type Member = { readonly holder: Holder; readonly key: string };

const listMembers = (value: unknown): Member[] =>
  typeof value !== 'object' || value === null || isRaw(value)
    ? []
    : Object.keys(value).flatMap((key) => [{ holder: value as Holder, key }, ...listMembers((value as Holder)[key])]);

const retyped = (value: unknown): unknown => {
  if (isRaw(value)) return value.rawJSON;
  if (typeof value === 'string') return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value) ? rawJSON(value) : [value];
  if (Array.isArray(value)) return { ...value };
  return typeof value === 'object' && value !== null ? Object.values(value) : String(value);
};

const deep = (value: unknown, depth: number): unknown => {
  let held = value;
  for (let i = 0; i < depth; i++) held = [held];
  return held;
};

/** An object that cannot be taken as text. */
export const NO_WORD = { toString: 1, valueOf: 1, length: 3, constructor: null };

type Change = (value: unknown, random: Random) => unknown;

/** Replacements of a member. */
const CHANGES: readonly [Change, ...Change[]] = [
  () => null,
  retyped,
  (value) => [value],
  (value) => ({ value }),
  (value) => deep(value, 300),
  (value) => (Array.isArray(value) ? [] : {}),
  (value) => (Array.isArray(value) ? [...value, ...value] : ''),
  (_value, random) =>
    chooseOne([true, false, '', ' ', '0', '-1', '-0.0', '+7', '1e5', '0x10', 'NaN', 'Infinity', '7e-320'], random),
  (_value, random) =>
    rawJSON(chooseOne(['0', '-0', '-1', '1e5', '1E-7', '1.5', '1e308', '1e999', '9007199254740993'], random)),
  (_value, random) => rawJSON('9'.repeat(chooseOne([30, 400, 401, 5_000], random))),
  (_value, random) => '9'.repeat(chooseOne([30, 400, 401, 5_000], random)),
  () => 'a'.repeat(50_000),
  () => NO_WORD,
  (_value, random) =>
    chooseOne(['__proto__', 'constructor', 'toString', '.', '-', '/', '\u0000', '%', '%zz', '\ud800'], random),
];

const OWN = { enumerable: true, configurable: true, writable: true } as const;

const renamed = ({ holder, key }: Member, random: Random): void => {
  const name = chooseOne(['__proto__', 'constructor', key.toUpperCase(), `${key}_`], random);
  const value = holder[key];
  delete holder[key];
  Object.defineProperty(holder, name, { value, ...OWN });
};

const copyTree = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || isRaw(value)) return value;
  if (Array.isArray(value)) return value.map(copyTree);
  const copy: Holder = {};
  for (const [key, item] of Object.entries(value))
    if (key === '__proto__') Object.defineProperty(copy, key, { value: copyTree(item), ...OWN });
    else copy[key] = copyTree(item);
  return copy;
};

/** Trees of frames by their text: a frame is damaged some fifty times, and to read it with its numbers' texts takes ten times a copy. */
const trees = new Map<string, unknown>();
const MOST_TREES = 500;

const readTree = (text: string): unknown => {
  if (!trees.has(text)) {
    if (trees.size === MOST_TREES) trees.clear();
    trees.set(text, parseExact(text));
  }
  return copyTree(trees.get(text));
};

/** One member removed, renamed, given another's value, or changed into what it is not. */
const damageMember: Damage = (frame, random) => {
  let tree: unknown;
  try {
    tree = readTree(frame.toString('utf8'));
  } catch {
    return frame;
  }
  const members = listMembers(tree);
  const member = members[random(members.length)];
  if (member === undefined) return frame;
  const { holder, key } = member;
  const other = members[random(members.length)];
  const way = random(6);
  if (way === 0 && Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (way === 0) delete holder[key];
  else if (way === 1 && other !== undefined && !isWithin(other.holder[other.key], holder))
    holder[key] = other.holder[other.key];
  else if (way === 2 && !Array.isArray(holder)) renamed(member, random);
  else holder[key] = chooseOne(CHANGES, random)(holder[key], random);
  return Buffer.from(JSON.stringify(tree));
};

/** The frame once for each of its members, with `value` in that member's place. */
export const replaceEach = (frame: Buffer, value: unknown): Generator<Buffer> =>
  replaceChosen(frame, value, () => true);

/** The same for the members whose value is chosen. */
export function* replaceChosen(
  frame: Buffer,
  value: unknown,
  isChosen: (before: unknown) => boolean,
): Generator<Buffer> {
  const tree = parseExact(frame.toString('utf8'));
  for (const { holder, key } of listMembers(tree)) {
    const before = holder[key];
    if (!isChosen(before)) continue;
    holder[key] = value;
    yield Buffer.from(JSON.stringify(tree));
    holder[key] = before;
  }
}

/** The frame once for each of its enumeration values and each of `words`, with that one replaced; figures stay. */
export function* replaceWords(frame: Buffer, words: readonly string[]): Generator<Buffer> {
  const tree = parseExact(frame.toString('utf8'));
  for (const { holder, key } of listMembers(tree)) {
    const before = holder[key];
    if (typeof before !== 'string' || !/[A-Za-z]/.test(before)) continue;
    for (const word of words) {
      holder[key] = word;
      yield Buffer.from(JSON.stringify(tree));
    }
    holder[key] = before;
  }
}

/** A value put inside itself would have no end. */
const isWithin = (value: unknown, holder: Holder): boolean =>
  value === holder || listMembers(value).some((member) => member.holder[member.key] === holder);

/** The frame with one damage; some damaged frames can still be read. */
export const mutate = (frame: Buffer, random: Random): Buffer => {
  const kind = random(20);
  if (kind === 0) return chooseOne(ENCODINGS, random)(frame, random);
  return kind < 7 ? chooseOne(BYTES, random)(frame, random) : damageMember(frame, random);
};
