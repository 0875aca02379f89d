// Nodes of the machine form to nodes of the tree (DQL-08): one reader for each `type`.
import { formatDouble } from '../../schemas/decimals.ts';
import { formatDuration, parseDuration } from '../../schemas/durations.ts';
import { isJsonObject, type JsonObject } from '../../schemas/json-object.ts';
import type { Digits } from '../../schemas/records.ts';
import { findRoundedDigits } from './exact-json.ts';
import { toPlainDecimal } from './lexer.ts';
import { describeOverLimit, LIMITS } from './limits.ts';
import type { Members, ObjectShape } from './object-shape.ts';
import { ARITHMETIC, COMPARISONS } from './operators.ts';
import {
  AGGREGATES,
  isLiteral,
  type Literal,
  makeAggregate,
  makeArith,
  makeBroken,
  makeCall,
  makeCmp,
  makeCode,
  makeDuration,
  makeField,
  makeIn,
  makeLogic,
  makeNumber,
  makeQuantifier,
  makeSource,
  makeStatus,
  type Node,
  type OwnTimeframe,
  QUANTIFIERS,
  STATUSES,
} from './tree.ts';

const NUMBER_TEXT = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;
const LITERALS = ['number', 'duration', 'code', 'status'];
/** Chains of `and` and `or` may be longer than `depth`, for they are flattened; longer ones have more nodes than the limit. */
const NESTED = LIMITS.depth + LIMITS.nodes;
const ANY_LENGTH = { least: 0, most: Number.POSITIVE_INFINITY };

type Place = { readonly path: string };
type Reader = {
  readonly members: Members;
  readonly read: (object: JsonObject, place: Place, nodes: NodeReader) => Node | undefined;
};

const readDigits = (value: unknown): Digits | null => {
  if (typeof value === 'number') return Number.isFinite(value) ? toPositiveZero(formatDouble(value)) : null;
  return typeof value === 'string' && NUMBER_TEXT.test(value) ? toSignedDecimal(value) : null;
};
/** Plain digits of a number; null when its exponent is beyond what the text form allows (DQL-34d). */
const toSignedDecimal = (text: string): Digits | null => {
  const digits = toPlainDecimal(text.replace(/^-/, '').toLowerCase());
  return digits === null ? null : toPositiveZero(text.startsWith('-') ? `-${digits}` : digits);
};
const toPositiveZero = (digits: Digits): Digits => (digits === '-0' ? '0' : digits);

/** Canonical text of a duration; undefined after its fault. */
const readDuration = (value: unknown, path: string, { shape }: NodeReader): string | undefined => {
  const ms = typeof value === 'string' ? parseDuration(value) : null;
  if (ms === null) shape.wrong(path, value, 'a duration such as 1h');
  return ms === null ? undefined : formatDuration(ms);
};

const makeNamedReader = (make: (name: string, place: Place) => Node): Reader => ({
  members: { required: ['name'] },
  read: ({ name }, place, { shape }) => {
    const text = shape.text(name, `${place.path}/name`);
    return text === undefined ? undefined : make(text, place);
  },
});

const makeLogicReader = (type: 'and' | 'or'): Reader => ({
  members: { required: ['args'] },
  read: ({ args }, place, nodes) => {
    const sides = nodes.readAll(args, `${place.path}/args`, { ...ANY_LENGTH, least: 2 });
    return sides === null || sides.length === 0 ? undefined : makeLogic(type, sides, place);
  },
});

const makeQuantifierReader = (type: (typeof QUANTIFIERS)[number]): Reader => ({
  members: { required: ['where'] },
  read: ({ where }, place, nodes) => makeQuantifier(type, nodes.read(where, `${place.path}/where`), place),
});

const makeBinaryReader = <O extends string>(
  operators: readonly O[],
  make: (op: O, sides: { left: Node; right: Node }, place: Place) => Node,
): Reader => ({
  members: { required: ['op', 'left', 'right'] },
  read: (object, place, nodes) => {
    const op = nodes.shape.word(object.op, `${place.path}/op`, operators);
    const left = nodes.read(object.left, `${place.path}/left`);
    const right = nodes.read(object.right, `${place.path}/right`);
    return op === undefined ? makeBroken(place, [left, right]) : make(op, { left, right }, place);
  },
});

const aggregate: Reader = {
  members: { required: ['fn', 'expr'], optional: ['where'] },
  read: (object, place, nodes) => {
    const fn = nodes.shape.word(object.fn, `${place.path}/fn`, AGGREGATES);
    const expr = nodes.read(object.expr, `${place.path}/expr`);
    const where = object.where === undefined ? undefined : nodes.read(object.where, `${place.path}/where`);
    return fn === undefined ? undefined : makeAggregate(fn, { expr, where }, place);
  },
};

/** The `timeframe` of a call; without a text after its fault, and without a place where its name is misspelt. */
const readOwnTimeframe = (object: JsonObject, path: string, nodes: NodeReader): OwnTimeframe | undefined => {
  if (object.timeframe !== undefined)
    return { text: readDuration(object.timeframe, path, nodes) ?? null, place: { path } };
  return nodes.shape.hasMisspelt(object, 'timeframe') ? { text: null, place: null } : undefined;
};

const call: Reader = {
  members: { required: ['name', 'args'], optional: ['timeframe'] },
  read: (object, place, nodes) => {
    const name = nodes.shape.text(object.name, `${place.path}/name`);
    const args = nodes.readAll(object.args, `${place.path}/args`, ANY_LENGTH);
    const timeframe = readOwnTimeframe(object, `${place.path}/timeframe`, nodes);
    if (name === undefined || args === null) return makeBroken(place, args ?? [], 'call');
    return makeCall(name, { args, timeframe }, place);
  },
};

const membership: Reader = {
  members: { required: ['left', 'values'] },
  read: (object, place, nodes) => {
    const left = nodes.read(object.left, `${place.path}/left`);
    const path = `${place.path}/values`;
    const values = nodes.readAll(object.values, path, { least: 1, most: LIMITS.in_list }) ?? [];
    const literals = values.filter((value, i): value is Literal => {
      if (!isLiteral(value) && value.type !== 'broken') {
        nodes.shape.fault(
          `${path}/${i}`,
          'A value of "in" is not a literal.',
          `Send a node of type ${LITERALS.join(', ')}.`,
        );
      }
      return isLiteral(value);
    });
    return literals.length === 0 ? makeBroken(place, [left]) : makeIn(left, literals, place);
  },
};

const number: Reader = {
  members: { required: ['value'] },
  read: (object, place, { shape }) => {
    const { value } = object;
    const rounded = findRoundedDigits(object, 'value');
    const digits = rounded === undefined ? readDigits(value) : toSignedDecimal(rounded);
    const wanted =
      rounded === undefined ? 'a number, or its digits as a string' : 'a number with an exponent within 400';
    if (digits === null) shape.wrong(`${place.path}/value`, rounded ?? value, wanted);
    return digits === null ? undefined : makeNumber(digits, place);
  },
};

const duration: Reader = {
  members: { required: ['value'] },
  read: ({ value }, place, nodes) => {
    const text = readDuration(value, `${place.path}/value`, nodes);
    return text === undefined ? undefined : makeDuration(text, place);
  },
};

const code: Reader = {
  members: { required: ['value'] },
  read: ({ value }, place, { shape }) => {
    const text = shape.text(value, `${place.path}/value`);
    return text === undefined ? undefined : makeCode(text, place);
  },
};

const status: Reader = {
  members: { required: ['value'] },
  read: ({ value }, place, { shape }) => {
    const word = shape.word(value, `${place.path}/value`, STATUSES);
    return word === undefined ? undefined : makeStatus(word, place);
  },
};

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['cmp', makeBinaryReader(COMPARISONS, makeCmp)],
  ['and', makeLogicReader('and')],
  ['or', makeLogicReader('or')],
  ...QUANTIFIERS.map((type): [string, Reader] => [type, makeQuantifierReader(type)]),
  ['agg', aggregate],
  ['arith', makeBinaryReader(ARITHMETIC, makeArith)],
  ['field', makeNamedReader(makeField)],
  ['source', makeNamedReader(makeSource)],
  ['number', number],
  ['duration', duration],
  ['code', code],
  ['status', status],
  ['call', call],
  ['in', membership],
]);

const NODE_TYPES: readonly string[] = [...READERS.keys()];

export class NodeReader {
  readonly shape: ObjectShape;
  #nested = 0;

  constructor(shape: ObjectShape) {
    this.shape = shape;
  }

  /** The node at `path`; `broken` after a fault. A missing member has reported its fault already. */
  read(value: unknown, path: string): Node {
    const place = { path };
    if (value === undefined) return makeBroken(place);
    if (!isJsonObject(value)) {
      this.shape.wrong(path, value, 'a node, which is an object');
      return makeBroken(place);
    }
    const reader = typeof value.type === 'string' ? READERS.get(value.type) : undefined;
    if (reader === undefined) {
      this.#refuseType(value.type, path);
      return makeBroken(place);
    }
    this.shape.members(value, path, { ...reader.members, required: ['type', ...reader.members.required] });
    return this.#nest(place, () => reader.read(value, place, this) ?? makeBroken(place));
  }

  readAll(value: unknown, path: string, length: { readonly least: number; readonly most: number }): Node[] | null {
    if (value === undefined) return null;
    const items = this.shape.list(value, path, length);
    if (items === null) return null;
    const nodes: Node[] = [];
    for (const [i, item] of items.entries()) {
      if (this.shape.isHopeless) break;
      nodes.push(this.read(item ?? null, `${path}/${i}`));
    }
    return nodes;
  }

  #refuseType(type: unknown, path: string): void {
    if (typeof type !== 'string') {
      if (type === undefined) this.shape.fault(`${path}/type`, '"type" is missing.', 'Send type.');
      else this.shape.wrong(`${path}/type`, type, 'a string');
      return;
    }
    this.shape.unknown(`${path}/type`, type, { of: 'a type of node', known: NODE_TYPES });
  }

  /** Deeper chains exceed the limits regardless of their content, so no body can overflow the stack. */
  #nest(place: Place, read: () => Node): Node {
    if (this.#nested === NESTED) {
      const message = describeOverLimit('The nodes of the query nest to a depth of at least', NESTED + 1, LIMITS.depth);
      this.shape.faults.addTooDeep(place, { message, hint: 'Split the condition.' });
      return makeBroken(place);
    }
    this.#nested++;
    try {
      return read();
    } finally {
      this.#nested--;
    }
  }
}
