// Parses messages by their shape: names and brackets of a message met before are a pattern, and its groups are the values of the next one (D-638).
import { PLACE, PLACE_TEXT } from './element-text.ts';
import { NUMBER_PATTERN, parseNumber } from './json-numbers.ts';
import { type CutMember, findLists } from './level-lists.ts';

/** What stands at a place of a shape; `group` is the pattern's. */
type Node =
  | { readonly kind: 'text' | 'number' | 'word'; readonly group: number }
  /** A list that was cut out of the text, by the member's name. */
  | { readonly kind: 'cut'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | {
      readonly kind: 'object';
      readonly names: readonly string[];
      readonly members: readonly Node[];
      readonly template: Readonly<Record<string, unknown>> | null;
    };
type ObjectNode = Extract<Node, { kind: 'object' }>;

type Shape = {
  readonly pattern: RegExp;
  readonly root: Node;
  readonly cuts: number;
  /** Lengths of the texts that are tried: a pattern that does not match takes longer than a look at these. */
  from: number;
  to: number;
};

// Texts without an escape are their own value; a message with any other is of no shape. What follows a group begins with a character that the
// group cannot contain, so a text matches in one way or not at all, in linear time.
const TEXT = String.raw`"([^"\\\x00-\x1f]*)"`;
const NUMBER = `(${NUMBER_PATTERN})`;
const WORD = '(true|false|null)';
const TOKEN = new RegExp(`${TEXT}|${NUMBER}|${WORD}`, 'y');

const MOST_VALUES = 200;
/** What a text of the same shape may be shorter or longer than the one it was read from. */
const LENGTH_MARGIN = 16;
/** Objects of more members than this become slow when their members are added one by one. */
const MOST_ADDED = 16;

class NoShapeError extends Error {
  override readonly name = 'NoShapeError';
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** Reads a message once, and writes the pattern of its shape. Throws NoShapeError where a pattern would not give what JSON.parse gives. */
class ShapeReader {
  readonly #text: string;
  #at = 0;
  #source = '';
  #groups = 0;
  #cuts = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Shape {
    const root = this.#isAt('[') ? this.#readList() : this.#readObject();
    if (this.#at < this.#text.length || this.#groups === 0) throw new NoShapeError();
    const { length } = this.#text;
    const lengths = { from: length - LENGTH_MARGIN, to: length + LENGTH_MARGIN };
    return { pattern: new RegExp(`^${this.#source}$`), root, cuts: this.#cuts, ...lengths };
  }

  #isAt(mark: string): boolean {
    return this.#text.startsWith(mark, this.#at);
  }

  #pass(mark: string): void {
    if (!this.#isAt(mark)) throw new NoShapeError();
    this.#at += mark.length;
    this.#source += escapePattern(mark);
  }

  #readToken(): RegExpExecArray {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.#text);
    if (found === null) throw new NoShapeError();
    return found;
  }

  #readValue(name: string): Node {
    if (this.#isAt('{')) return this.#readObject();
    if (this.#isAt('[')) return this.#readList();
    if (this.#isAt(PLACE_TEXT)) return this.#readCut(name);
    const [token, text, number] = this.#readToken();
    this.#at += token.length;
    this.#groups += 1;
    if (this.#groups > MOST_VALUES) throw new NoShapeError();
    const kind = text !== undefined ? 'text' : number !== undefined ? 'number' : 'word';
    this.#source += kind === 'text' ? TEXT : kind === 'number' ? NUMBER : WORD;
    return { kind, group: this.#groups };
  }

  #readCut(name: string): Node {
    this.#pass(PLACE_TEXT);
    this.#cuts += 1;
    return { kind: 'cut', name };
  }

  #readObject(): ObjectNode {
    const [names, members]: [string[], Node[]] = [[], []];
    this.#pass('{');
    while (!this.#isAt('}')) {
      if (names.length > 0) this.#pass(',');
      const name = this.#readName();
      names.push(name);
      members.push(this.#readValue(name));
    }
    this.#pass('}');
    const template = names.length > MOST_ADDED ? makeTemplate(names) : null;
    return { kind: 'object', names, members, template };
  }

  /** A member `__proto__` is one of JSON.parse, but not of an assignment. */
  #readName(): string {
    const [token, name] = this.#readToken();
    if (name === undefined || name === '__proto__') throw new NoShapeError();
    this.#pass(token);
    this.#pass(':');
    return name;
  }

  #readList(): Node {
    const items: Node[] = [];
    this.#pass('[');
    while (!this.#isAt(']')) {
      if (items.length > 0) this.#pass(',');
      items.push(this.#readValue(''));
    }
    this.#pass(']');
    return { kind: 'list', items };
  }
}

/** An object of JSON.parse with these members; a copy of it has them in place. */
const makeTemplate = (names: readonly string[]): Readonly<Record<string, unknown>> =>
  JSON.parse(`{${names.map((name) => `"${name}":0`).join()}}`) as Record<string, unknown>;

const readShape = (text: string): Shape | null => {
  try {
    return new ShapeReader(text).read();
  } catch (error) {
    if (error instanceof NoShapeError) return null;
    throw error;
  }
};

const buildObject = (
  { names, members, template }: ObjectNode,
  found: RegExpExecArray,
  cuts: readonly CutMember[],
): unknown => {
  const object: Record<string, unknown> = template === null ? {} : { ...template };
  for (let at = 0; at < names.length; at++) object[names[at] as string] = buildValue(members[at] as Node, found, cuts);
  return object;
};

const buildValue = (node: Node, found: RegExpExecArray, cuts: readonly CutMember[]): unknown => {
  switch (node.kind) {
    case 'text':
      return found[node.group];
    case 'number':
      return parseNumber(found[node.group] as string);
    case 'object':
      return buildObject(node, found, cuts);
    case 'list': {
      const list: unknown[] = [];
      for (const item of node.items) list.push(buildValue(item, found, cuts));
      return list;
    }
    case 'cut':
      return findLists(cuts, node.name) ?? PLACE;
    default: {
      const word = found[node.group];
      return word === 'null' ? null : word === 'true';
    }
  }
};

/** So many shapes of a kind are kept, and tried one after the other. */
const KEPT = 8;
/** At most so many messages of no known shape pass until one of them is read for its shape. */
const LONGEST_WAIT = 1_024;
/** Of so many messages half must be of a known shape; else so many are left to JSON.parse. */
const JUDGED = 64;
const PAUSE = 1_024;

/** The shapes of one kind of messages. */
class KindShapes {
  /** The most frequent ones first. */
  readonly #shapes: Shape[] = [];
  #wait = 0;
  #longestWait = 1;
  #pause = 0;
  #tried = 0;
  #known = 0;

  parse(text: string, cuts: readonly CutMember[]): unknown {
    if (this.#pause > 0) {
      this.#pause -= 1;
      return undefined;
    }
    const message = this.#tryShapes(text, cuts);
    if (message === undefined) this.#meet(text);
    else this.#known += 1;
    this.#judge();
    return message;
  }

  #tryShapes(text: string, cuts: readonly CutMember[]): unknown {
    const shapes = this.#shapes;
    for (let at = 0; at < shapes.length; at++) {
      const shape = shapes[at] as Shape;
      if (text.length < shape.from || text.length > shape.to || shape.cuts !== cuts.length) continue;
      const found = shape.pattern.exec(text);
      if (found === null) continue;
      if (at > 0) {
        shapes[at] = shapes[at - 1] as Shape;
        shapes[at - 1] = shape;
      }
      return buildValue(shape.root, found, cuts);
    }
    return undefined;
  }

  /** Reads the shape of every so many unknown messages; it takes the place of the least frequent one. */
  #meet(text: string): void {
    this.#wait -= 1;
    if (this.#wait > 0) return;
    this.#longestWait = Math.min(2 * this.#longestWait, LONGEST_WAIT);
    this.#wait = this.#longestWait;
    const shape = readShape(text);
    if (shape === null) return;
    const known = this.#shapes.find(({ pattern }) => pattern.source === shape.pattern.source);
    if (known === undefined) this.#shapes.splice(KEPT - 1, 1, shape);
    else Object.assign(known, { from: Math.min(known.from, shape.from), to: Math.max(known.to, shape.to) });
  }

  #judge(): void {
    this.#tried += 1;
    if (this.#tried < JUDGED) return;
    if (2 * this.#known < JUDGED) this.#pause = PAUSE;
    this.#tried = 0;
    this.#known = 0;
  }
}

/** A longer message, most often a list of many rows, is rarely of the same shape again. */
const LONGEST = 2_000;
/** Letters that tell kinds apart. */
const KIND_LETTERS = 6;
const MOST_KINDS = 32;

/** The shapes of one venue's messages. What a message gives does not depend on which are known: only the time that it takes does. */
export class MessageShapes {
  readonly #label: string;
  readonly #kinds = new Map<number, KindShapes>();
  /** Where the last message had the label: most have it there. */
  #place = 0;

  /** `label`: what is before the kind in a text, such as `"channel":"`. */
  constructor(label: string) {
    this.#label = label;
  }

  /** The parsed message, with the lists of `cuts` where they were cut out. Undefined: it is of no known shape. */
  parse(text: string, cuts: readonly CutMember[]): unknown {
    return text.length > LONGEST ? undefined : this.#findKind(text)?.parse(text, cuts);
  }

  #findKind(text: string): KindShapes | undefined {
    const label = text.startsWith(this.#label, this.#place) ? this.#place : text.indexOf(this.#label);
    this.#place = Math.max(0, label);
    const from = label + this.#label.length;
    let kind = 0;
    if (label >= 0) for (let at = from; at < from + KIND_LETTERS; at++) kind = (kind * 31 + text.charCodeAt(at)) | 0;
    const known = this.#kinds.get(kind);
    if (known !== undefined || this.#kinds.size === MOST_KINDS) return known;
    const shapes = new KindShapes();
    this.#kinds.set(kind, shapes);
    return shapes;
  }
}
