// The machine form of a query to its tree: clauses in the object's members (DQL-08, DQL-34c).
import { parseInstant } from '../../schemas/instants.ts';
import { isJsonObject, type JsonObject } from '../../schemas/json-object.ts';
import type { Faults } from './faults.ts';
import { LIMITS, TIMEFRAMES } from './limits.ts';
import { NodeReader } from './object-nodes.ts';
import { ObjectShape } from './object-shape.ts';
import { type Code, IN_LIST, SELECTION_KEYS, type Selection } from './selection.ts';
import { type AsOf, makeBroken, type Node, type OrderKey, type OwnTimeframe, type Query } from './tree.ts';

const CLAUSES = ['condition', 'timeframe', 'as_of', 'where', 'select', 'order_by'] as const;
/** All that it may have. */
export const OBJECT_MEMBERS = ['dql', ...CLAUSES] as const;

class QueryReader {
  readonly #shape: ObjectShape;
  readonly #nodes: NodeReader;

  constructor(faults: Faults) {
    this.#shape = new ObjectShape(faults);
    this.#nodes = new NodeReader(this.#shape);
  }

  read(object: JsonObject, path: string): Query {
    this.#shape.members(object, path, { required: ['dql'], optional: CLAUSES });
    // A misspelt clause is reported as such, not as a query without the clause.
    if (Object.keys(object).every((name) => name === 'dql')) {
      const hint = 'Send a condition, or at least where.';
      this.#shape.faults.add('DQL_SYNTAX', { path }, { message: 'The query is empty.', hint });
    }
    const { condition, as_of, where, select, order_by } = object;
    return {
      condition: condition === undefined ? null : this.#nodes.read(condition, `${path}/condition`),
      timeframe: this.#timeframe(object, `${path}/timeframe`),
      asOf: as_of === undefined ? null : this.#instant(as_of, `${path}/as_of`),
      where: where === undefined ? null : this.#selection(where, `${path}/where`),
      select: this.#select(select, `${path}/select`),
      orderBy: this.#orderBy(order_by, `${path}/order_by`),
      repeated: [],
    };
  }

  /** Without a text after its fault, and without a place where its name is misspelt. */
  #timeframe(object: JsonObject, path: string): OwnTimeframe | null {
    if (object.timeframe !== undefined)
      return { text: this.#shape.word(object.timeframe, path, TIMEFRAMES) ?? null, place: { path } };
    return this.#shape.hasMisspelt(object, 'timeframe') ? { text: null, place: null } : null;
  }

  #instant(value: unknown, path: string): AsOf | null {
    const at = typeof value === 'string' ? parseInstant(value) : null;
    if (at === null)
      this.#shape.wrong(path, value, 'an instant from 2000 to 2100 with a zone, such as 2026-01-15T12:00:00Z');
    return at === null ? null : { at, place: { path } };
  }

  #selection(value: unknown, path: string): Selection | null {
    if (!isJsonObject(value)) {
      this.#shape.wrong(path, value, 'an object');
      return null;
    }
    this.#shape.members(value, path, { required: [], optional: SELECTION_KEYS });
    if (Object.keys(value).length === 0)
      this.#shape.fault(path, '"where" is empty.', 'Send a member, or leave it out.');
    const selection: { -readonly [K in keyof Selection]: Selection[K] } = {};
    for (const key of SELECTION_KEYS) {
      if (Object.hasOwn(value, key)) selection[key] = this.#codes(value[key], `${path}/${key}`);
    }
    return selection;
  }

  #codes(value: unknown, path: string): Code[] {
    if (typeof value === 'string') return [{ text: value, origin: { path } }];
    const items = this.#shape.list(value, path, { least: 1, most: IN_LIST }) ?? [];
    return items.flatMap((item, i): Code[] => {
      const text = this.#shape.text(item, `${path}/${i}`);
      return text === undefined ? [] : [{ text, origin: { path: `${path}/${i}` } }];
    });
  }

  #select(value: unknown, path: string): Node[] {
    return this.#nodes.readAll(value, path, { least: 1, most: LIMITS.select }) ?? [];
  }

  #orderBy(value: unknown, path: string): OrderKey[] {
    if (value === undefined) return [];
    const items = this.#shape.list(value, path, { least: 1, most: LIMITS.order_by }) ?? [];
    return items.map((item, i) => this.#key(item, `${path}/${i}`));
  }

  #key(value: unknown, path: string): OrderKey {
    if (!isJsonObject(value)) {
      this.#shape.wrong(path, value, 'an object');
      return { expr: makeBroken({ path }), descending: false };
    }
    this.#shape.members(value, path, { required: ['expr'], optional: ['dir'] });
    const dir = value.dir === undefined ? 'asc' : this.#shape.word(value.dir, `${path}/dir`, ['asc', 'desc']);
    return { expr: this.#nodes.read(value.expr, `${path}/expr`), descending: dir === 'desc' };
  }
}

/** Reads `query_object`; `path` is its JSON pointer. Faults go to `faults`, and what they spoil is `broken`. */
export const readObject = (object: JsonObject, path: string, faults: Faults): Query =>
  new QueryReader(faults).read(object, path);
