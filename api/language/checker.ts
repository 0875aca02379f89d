// Checks expressions: names, scopes, nesting, kinds, timeframes (DQL-10 to DQL-13, DQL-24); gives the canonical tree with each period set.
import { findNearest } from '../../schemas/errors.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import { checkArgumentsOfUnknown, checkCall, findInheritedPeriod, refuseScope } from './check-call.ts';
import { type CodeKey, findSpelledCode, makeUnknownCode, UNKNOWN_CODES } from './codes.ts';
import { describeUnknown, type Place, type Words } from './faults.ts';
import { FIELDS, SOURCES } from './fields.ts';
import {
  type Checked,
  describeKind,
  type Findings,
  isNumeric,
  type Kind,
  makeChecked,
  meetPeriods,
  type Where,
} from './kinds.ts';
import { NO_NOT } from './lexer.ts';
import {
  type AggregateNode,
  type ArithNode,
  type BrokenNode,
  type CmpNode,
  type CodeNode,
  type FieldNode,
  type InNode,
  type Literal,
  type LogicNode,
  makeAggregate,
  makeArith,
  makeBroken,
  makeCmp,
  makeCode,
  makeIn,
  makeLogic,
  makeQuantifier,
  type Node,
  type QuantifierNode,
  type SourceNode,
} from './tree.ts';

const listFieldsOfLayer = (name: string): string[] => {
  const layer = Object.values(LAYERS).find((l) => l.name === name || l.recordName === name || l.aliases.includes(name));
  return [...FIELDS.values()].filter((f) => f.layer === layer?.name).map((f) => f.name);
};

const NAMES = [...FIELDS.keys(), ...SOURCES.keys()];

/** The nearest names, else the one that another begins with, as other services write it: `funding` of `funding_rate` (D-516). */
const findNearestNames = (name: string): string[] => {
  const near = findNearest(name, NAMES);
  if (near.length > 0) return near;
  const begun = NAMES.filter((known) => name.toLowerCase().startsWith(`${known}_`));
  return begun.sort((a, b) => b.length - a.length).slice(0, 1);
};

/** `other` is the hint for a name that the other of the two tables has. */
const describeUnknownField = (name: string, what: string, other: string | null): Words => {
  if (name === 'not') return { message: describeUnknown(name, what, []), hint: NO_NOT };
  const members = listFieldsOfLayer(name);
  const near = other === null ? findNearestNames(name) : [];
  const known =
    near.length > 0 ? `Did you mean ${near.join(', ')}?` : 'GET /v2/dql/catalogue lists the fields and sources.';
  const hint = members.length > 0 ? `"${name}" is a layer; its fields are ${members.join(', ')}.` : known;
  return { message: describeUnknown(name, what, near), hint: other ?? hint };
};

class Checker {
  readonly #findings: Findings;
  readonly #tools: Parameters<typeof checkCall>[2];

  constructor(findings: Findings) {
    this.#findings = findings;
    this.#tools = { check: (node, where) => this.check(node, where), findings };
  }

  check(node: Node, where: Where): Checked {
    const isOutside = where.series !== null && this.#refuseOutsideSeries(node);
    const result = this.#check(node, where);
    return isOutside ? { ...result, kind: 'broken' } : result;
  }

  #check(node: Node, where: Where): Checked {
    switch (node.type) {
      case 'number':
      case 'duration':
      case 'code':
      case 'status':
        return makeChecked(node, node.type);
      case 'field':
        return this.#field(node, where);
      case 'source':
        return this.#source(node, where);
      case 'call':
        return checkCall(node, where, this.#tools);
      case 'arith':
        return this.#arith(node, where);
      case 'cmp':
        return this.#comparison(node, where);
      case 'in':
        return this.#membership(node, where);
      case 'and':
      case 'or':
        return this.#logic(node, where);
      case 'any':
      case 'all':
      case 'count':
        return this.#quantifier(node, where);
      case 'agg':
        return this.#aggregate(node, where);
      case 'broken':
        return this.#broken(node, where);
      default: {
        const never: never = node;
        return never;
      }
    }
  }

  /** A condition: boolean, or its fault. */
  condition(node: Node, where: Where, of: string): Node {
    const result = this.check(node, where);
    if (result.kind !== 'boolean' && result.kind !== 'broken') {
      const hint = 'Compare it, as in funding > 1bps.';
      this.#type(node.place, `${of} is ${describeKind(result.kind)}, not a condition.`, hint);
    }
    return result.node;
  }

  #type(place: Place, message: string, hint: string): void {
    this.#findings.faults.add('DQL_TYPE', place, { message, hint });
  }

  /** A node that is only too deep keeps its parts, so that they are counted (DQL-32). */
  #broken({ place, parts, of, dropped }: BrokenNode, where: Where): Checked {
    if (of === 'call') checkArgumentsOfUnknown(parts, where, this.#tools);
    const kept = of === 'call' ? [] : parts.map((part) => this.check(part, where).node);
    return makeChecked(dropped === 0 ? makeBroken(place) : { ...makeBroken(place, kept), dropped }, 'broken');
  }

  /** S is made of sources, sampleable fields, series functions, and arithmetic over these and numbers (DQL-33i). */
  #refuseOutsideSeries({ type, place }: Node): boolean {
    const may = ['number', 'field', 'source', 'call', 'arith', 'broken'];
    if (may.includes(type)) return false;
    this.#type(
      place,
      'A series consists of sources, sampleable fields, series functions and numbers.',
      'Write a series here, such as close.',
    );
    return true;
  }

  #field(node: FieldNode, where: Where): Checked {
    const { faults, instrumentNames, venueNames } = this.#findings;
    const field = FIELDS.get(node.name);
    if (field === undefined) {
      const other = SOURCES.has(node.name) ? `Write {"type": "source", "name": "${node.name}"}.` : null;
      faults.add('DQL_UNKNOWN_FIELD', node.place, () => describeUnknownField(node.name, 'a field', other));
      return makeChecked(node, 'broken');
    }
    (field.scope === 'venue' ? venueNames : instrumentNames).add(field.name);
    if (field.scope === 'venue' && !where.venueNames)
      refuseScope(node.place, field.name, { where, findings: this.#findings });
    const more = { additive: field.additive, isQuantity: field.unit === 'quantity' };
    if (where.series === null) return makeChecked(node, field.type, more);
    if (!field.sampleable) {
      this.#type(
        node.place,
        `"${field.name}" cannot be read as a series.`,
        'Use a sampleable field or a candle source.',
      );
      return makeChecked(node, 'broken');
    }
    const period = where.series;
    return makeChecked(period === 'unknown' ? node : { ...node, period }, 'series', { ...more, period });
  }

  #source(node: SourceNode, where: Where): Checked {
    const source = SOURCES.get(node.name);
    if (source === undefined) {
      const other = FIELDS.has(node.name) ? `Write {"type": "field", "name": "${node.name}"}.` : null;
      this.#findings.faults.add('DQL_UNKNOWN_FIELD', node.place, () =>
        describeUnknownField(node.name, 'a source', other),
      );
      return makeChecked(node, 'broken');
    }
    this.#findings.venueNames.add(source.name);
    if (!where.venueNames) refuseScope(node.place, source.name, { where, findings: this.#findings });
    const period = findInheritedPeriod(node, where, this.#findings);
    const more = { additive: source.additive, isQuantity: source.unit === 'quantity', period };
    return makeChecked(period === 'unknown' ? node : { ...node, period }, 'series', more);
  }

  #arith(node: ArithNode, where: Where): Checked {
    const { op, place } = node;
    const left = this.check(node.left, where);
    const right = this.check(node.right, where);
    const made = makeArith(op, { left: left.node, right: right.node }, place);
    const kind = findArithmeticKind(op, left.kind, right.kind);
    if (kind === null) {
      const message = `"${op}" cannot be applied to ${describeKind(left.kind)} and ${describeKind(right.kind)}.`;
      this.#type(place, message, 'Use numbers, or durations as the language allows.');
      return makeChecked(made, 'broken');
    }
    const met = meetPeriods(left, right, { faults: this.#findings.faults, place });
    // A duration, and what two of them give, is no series: it may meet series of any timeframe.
    const period = kind === 'series' || kind === 'broken' ? met : null;
    return makeChecked(made, kind, { period, ...findAdditivity(op, left, right) });
  }

  #comparison(node: CmpNode, where: Where): Checked {
    const { op, place } = node;
    const left = this.check(node.left, where);
    const right = this.#besides(node.right, left, where);
    const made = makeCmp(op, { left: left.node, right: right.node }, place);
    if (left.kind !== 'broken' && right.kind !== 'broken' && !this.#compares(node, left, right)) {
      const message = `"${op}" cannot compare ${describeKind(left.kind)} with ${describeKind(right.kind)}.`;
      this.#type(place, message, findComparisonHint(left.kind));
      return makeChecked(made, 'boolean');
    }
    meetPeriods(left, right, { faults: this.#findings.faults, place });
    return makeChecked(made, 'boolean');
  }

  #compares({ op, left: l, right: r }: CmpNode, left: Checked, right: Checked): boolean {
    if (isNumeric(left.kind)) return isNumeric(right.kind);
    if (left.kind === 'duration') return right.kind === 'duration';
    if (op !== '=' || left.kind !== right.kind) return false;
    // DQL-34d: the right side of codes and statuses is a literal, the left side is not.
    if (left.kind === 'code') return l.type === 'field' && r.type === 'code';
    return left.kind === 'status' && l.type === 'call' && r.type === 'status';
  }

  /** The right side; a code that is compared with a code field gets its catalogue spelling. */
  #besides(node: Node, left: Checked, where: Where): Checked {
    if (node.type === 'code' && left.node.type === 'field' && left.kind === 'code') return this.#code(node, left.node);
    return this.check(node, where);
  }

  /** Instrument, base, venue and quote are the code fields, and the keys of the directory. */
  #code(node: CodeNode, field: FieldNode): Checked {
    const { faults, codes, codesNamed } = this.#findings;
    const key = field.name as CodeKey;
    const spelt = findSpelledCode(key, node.value, codes);
    if (spelt !== undefined) {
      const origin = faults.originOf(node.place);
      if (origin !== null) codesNamed.set(key, [...(codesNamed.get(key) ?? []), { text: spelt, origin }]);
      return makeChecked(makeCode(spelt, node.place), 'code');
    }
    if (node.isWord && FIELDS.get(node.value)?.type === 'code') {
      this.#type(
        node.place,
        `"${field.name}" is compared with the field "${node.value}".`,
        'Write a code on the right side.',
      );
    } else {
      faults.add(UNKNOWN_CODES[key], node.place, () => makeUnknownCode(key, node.value, codes));
    }
    return makeChecked(node, 'code');
  }

  #membership(node: InNode, where: Where): Checked {
    const left = this.check(node.left, where);
    const values = new Map<string, Literal>();
    const wanted = left.kind === 'series' ? 'number' : left.kind;
    for (const value of node.values) {
      const made = this.#besides(value, left, where).node as Literal;
      if (made.type !== wanted && wanted !== 'broken' && wanted !== 'boolean') {
        this.#type(
          value.place,
          `The list of "in" contains ${describeKind(value.type)}, but its left side is ${describeKind(left.kind)}.`,
          'Use values of one kind.',
        );
      }
      if (!values.has(made.value)) values.set(made.value, made);
    }
    if (
      left.kind === 'boolean' ||
      (left.kind === 'code' && node.left.type !== 'field') ||
      (left.kind === 'status' && node.left.type !== 'call')
    )
      this.#type(
        node.place,
        '"in" needs a number, a duration, a code field or status(F) on its left.',
        'Write base in (BTC, ETH).',
      );
    const [only, ...more] = values.values();
    const made =
      only !== undefined && more.length === 0
        ? makeCmp('=', { left: left.node, right: only }, node.place)
        : makeIn(left.node, [...values.values()], node.place);
    return makeChecked(made, 'boolean');
  }

  #logic(node: LogicNode, where: Where): Checked {
    const args = node.args.map((arg) => this.condition(arg, where, `A side of "${node.type}"`));
    return makeChecked(makeLogic(node.type, args, node.place), 'boolean');
  }

  #refuseNesting(place: Place, name: string, where: Where): void {
    if (!where.quantified) return;
    this.#findings.faults.add('DQL_NESTING', place, {
      message: `"${name}" is inside a quantifier or aggregate.`,
      hint: 'Split the condition into separate parts.',
    });
  }

  #quantifier(node: QuantifierNode, where: Where): Checked {
    this.#refuseNesting(node.place, node.type, where);
    const inner: Where = { venueNames: true, quantified: true, series: null };
    const condition = this.condition(node.where, inner, `The condition of "${node.type}"`);
    return makeChecked(makeQuantifier(node.type, condition, node.place), node.type === 'count' ? 'number' : 'boolean');
  }

  #aggregate(node: AggregateNode, where: Where): Checked {
    const { fn, place } = node;
    this.#refuseNesting(place, fn, where);
    const inner: Where = { venueNames: true, quantified: true, series: null };
    const condition =
      node.where === undefined ? undefined : this.condition(node.where, inner, `The condition of "${fn}"`);
    const expr = this.check(node.expr, inner);
    const made = makeAggregate(fn, { expr: expr.node, where: condition }, place);
    // Durations are allowed in max and min (DQL-34f).
    if (!isNumeric(expr.kind) && (expr.kind !== 'duration' || fn === 'sum')) {
      this.#type(
        node.expr.place,
        `"${fn}" takes a number, not ${describeKind(expr.kind)}.`,
        `Write ${fn}(venues, mark).`,
      );
      return makeChecked(made, 'broken');
    }
    if (fn === 'sum') this.#sum(expr, place);
    return makeChecked(made, expr.kind === 'series' ? 'number' : expr.kind);
  }

  #sum(expr: Checked, place: Place): void {
    if (expr.kind === 'broken' || expr.additive === null) return;
    if (!expr.additive) {
      const fields = [...FIELDS.values()].filter((f) => f.additive).map((f) => f.name);
      this.#type(
        expr.node.place,
        'The expression of "sum" cannot be added up across venues.',
        `Additive fields are ${fields.join(', ')}.`,
      );
    } else if (expr.isQuantity) this.#findings.quantitySums.push(place);
  }
}

const findComparisonHint = (left: Kind): string => {
  if (left === 'code') return 'Write a code after "=", such as base = BTC.';
  if (left === 'status') return 'Write a status after "=", such as status(mark) = stale.';
  return left === 'duration' ? 'Write a duration such as 5s.' : 'Compare values of one kind.';
};

/** DQL-12; null: these do not go together. */
const findArithmeticKind = (op: ArithNode['op'], left: Kind, right: Kind): Kind | null => {
  if (left === 'broken' || right === 'broken') return 'broken';
  const numeric = isNumeric(left) && isNumeric(right);
  if (numeric) return left === 'series' || right === 'series' ? 'series' : 'number';
  const [isDuration, isOther] = [left === 'duration', right === 'duration'];
  if (isDuration && isOther) return op === '*' ? null : op === '/' ? 'number' : 'duration';
  if (op === '*' && ((isDuration && isNumeric(right)) || (isNumeric(left) && isOther))) return 'duration';
  return op === '/' && isDuration && isNumeric(right) ? 'duration' : null;
};

/** DQL-24, DQL-33e. Null: a side hides it, and the other does not decide it. */
const findAdditive = (op: ArithNode['op'], a: Checked, b: Checked): boolean | null => {
  const left = a.additive;
  const right = op === '/' && b.additive !== null ? !b.additive : b.additive;
  if (op !== '*' && (left === false || right === false)) return false;
  if (left === null || right === null) return null;
  return op === '*' ? left !== right : true;
};

const findAdditivity = (op: ArithNode['op'], a: Checked, b: Checked): Pick<Checked, 'additive' | 'isQuantity'> => ({
  additive: findAdditive(op, a, b),
  isQuantity: op === '/' ? a.isQuantity && !b.isQuantity : a.isQuantity || b.isQuantity,
});

export const createChecker = (findings: Findings): Checker => new Checker(findings);
