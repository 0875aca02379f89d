// Checks a whole query: its clauses, its condition, then its limits (DQL-07, DQL-10, DQL-30 to DQL-32).
import { readPeriod } from './check-call.ts';
import { createChecker } from './checker.ts';
import { type Codes, findSpelledCode, foldCase, makeUnknownCode, UNKNOWN_CODES } from './codes.ts';
import type { Faults, Place } from './faults.ts';
import { describeKind, type Findings, type Where } from './kinds.ts';
import type { Timeframe } from './limits.ts';
import { type Code, SELECTION_KEYS, type Selection, type SelectionKey } from './selection.ts';
import type { AsOf, Clauses, Node, OrderKey, Query } from './tree.ts';

/** A query in canonical form: codes spelt, periods set, defaults dropped (DQL-09). */
export type CheckedQuery = {
  readonly condition: Node | null;
  readonly timeframe: Timeframe | null;
  readonly asOf: AsOf | null;
  readonly where: Selection | null;
  readonly select: readonly Node[];
  readonly orderBy: readonly OrderKey[];
  /** Names read and functions called, each once. */
  readonly names: { readonly instrument: ReadonlySet<string>; readonly venue: ReadonlySet<string> };
  readonly functions: ReadonlySet<string>;
  /** Codes that expressions name, in addition to those of the selection. */
  readonly named: Selection;
  /** Sums that screen refuses under `units: published` (DQL-24, DQL-33e). */
  readonly quantitySums: readonly Place[];
};

/** The expressions of a query, in the order of its canonical text. */
export const listExpressions = ({ condition, select, orderBy }: CheckedQuery): readonly Node[] => [
  ...(condition === null ? [] : [condition]),
  ...select,
  ...orderBy.map(({ expr }) => expr),
];

const AT_INSTRUMENT: Where = { venueNames: false, quantified: false, series: null };
const IN_SELECT: Where = { ...AT_INSTRUMENT, venueNames: true };
const IN_KEY: Where = { ...AT_INSTRUMENT, isKey: true };

const spellCode = (key: SelectionKey, code: Code, { codes, faults }: { codes: Codes; faults: Faults }): string => {
  if (key === 'symbol') return code.text;
  const spelt = findSpelledCode(key, code.text, codes);
  if (spelt === undefined) {
    faults.addAt(UNKNOWN_CODES[key], code.origin, () => makeUnknownCode(key, code.text, codes));
  }
  return spelt ?? foldCase(key, code.text);
};

/** Catalogue spelling, keys in order, repeats dropped (DQL-09.4, DQL-09.7). */
const checkSelection = (where: Selection, tools: { codes: Codes; faults: Faults }): Selection => {
  const spelt: { -readonly [K in keyof Selection]: Selection[K] } = {};
  for (const key of SELECTION_KEYS) {
    const asked = where[key];
    if (asked === undefined) continue;
    const byText = new Map<string, Code>();
    for (const code of asked) {
      const text = spellCode(key, code, tools);
      if (!byText.has(text)) byText.set(text, { text, origin: code.origin });
    }
    spelt[key] = [...byText.values()];
  }
  return spelt;
};

type Tools = { readonly checker: ReturnType<typeof createChecker>; readonly faults: Faults };

const checkSelected = (node: Node, { checker, faults }: Tools): Node => {
  const isLiteral = node.type === 'code' || node.type === 'status';
  if (isLiteral) {
    const message = `"${node.value}" is not an expression that can be selected.`;
    faults.add('DQL_TYPE', node.place, { message, hint: 'Select fields, calls or arithmetic.' });
  }
  return checker.check(node, IN_SELECT).node;
};

const checkKey = ({ expr, descending }: OrderKey, { checker, faults }: Tools): OrderKey => {
  const { node, kind } = checker.check(expr, IN_KEY);
  if (kind === 'boolean' || kind === 'status' || expr.type === 'code') {
    const message = `"order by" takes a value, not ${describeKind(kind)}.`;
    faults.add('DQL_TYPE', expr.place, { message, hint: 'Order by a number, a duration, or instrument.' });
  }
  return { expr: node, descending };
};

/** Faults of a clause that is given again. */
const checkRepeated = (clauses: Clauses, tools: Tools & { readonly findings: Findings }): void => {
  const { timeframe, where, select, orderBy } = clauses;
  if (timeframe !== null) readPeriod(timeframe, tools.findings);
  if (where !== null) checkSelection(where, tools.findings);
  for (const node of select) checkSelected(node, tools);
  for (const key of orderBy) checkKey(key, tools);
};

/** Checks a parsed query against the codes known; faults go to `faults`. */
export const checkQuery = (query: Query, { faults, codes }: { faults: Faults; codes: Codes }): CheckedQuery => {
  const names = { instrument: new Set<string>(), venue: new Set<string>() };
  const functions = new Set<string>();
  const findings: Findings = {
    faults,
    codes,
    clause: null,
    instrumentNames: names.instrument,
    venueNames: names.venue,
    functions,
    codesNamed: new Map(),
    quantitySums: [],
  };
  const clause = query.timeframe === null ? null : readPeriod(query.timeframe, findings);
  const checker = createChecker({ ...findings, clause });
  const tools: Tools = { checker, faults };
  for (const clauses of query.repeated) checkRepeated(clauses, { ...tools, findings });
  const checkedQuery = {
    condition: query.condition === null ? null : checker.condition(query.condition, AT_INSTRUMENT, 'The query'),
    timeframe: clause === 'unknown' ? null : clause,
    asOf: query.asOf,
    where: query.where === null ? null : checkSelection(query.where, { faults, codes }),
    select: query.select.map((node) => checkSelected(node, tools)),
    orderBy: query.orderBy.map((key) => checkKey(key, tools)),
    names,
    functions,
    quantitySums: findings.quantitySums,
  };
  return { ...checkedQuery, named: Object.fromEntries(findings.codesNamed) };
};
