// A fault of a query is reported once and alone: depth adds no other fault, and a fault of shape none but its own (DQL-30, DQL-34c).
import fc from 'fast-check';
import t from 'tap';
import { compile, type QueryInput } from '../../../api/language/compile.ts';
import { FIELDS, SOURCES } from '../../../api/language/fields.ts';
import { type ApiError, ServiceError } from '../../../schemas/errors.ts';
import { CODES } from './codes.ts';
import { type Json, queries } from './generate.ts';

const CASES = Number(process.env['DQL_CASES'] ?? 1_000);

/** None for a valid query. */
const tellFaults = (input: QueryInput): readonly ApiError[] => {
  try {
    compile(input, CODES);
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.errors;
  }
};

/** Codes with their places. */
const findFaults = (input: QueryInput): string[] =>
  tellFaults(input).map(({ code, path }) => (path === undefined ? code : `${code} ${path}`));
const ofObject = (object: Json): string[] => findFaults({ object, path: '' });

const numeric = [...FIELDS.values()].filter(({ type }) => type !== 'code').map(({ name }) => name);
/** A field or source that is read, and not named for `age` or `status`. */
const READ = new RegExp(
  `(?<!(?:age|status)\\()(?<![a-z0-9_"])(?:${[...numeric, ...SOURCES.keys()].join('|')})(?![a-z0-9_("])`,
  'g',
);

/** Ways to write an expression deeper without changing what it is. */
const WRAPPINGS: readonly ((expression: string, depth: number) => string)[] = [
  (e, n) => `(${e}${' * 1'.repeat(n)})`,
  (e, n) => `${'(1 * '.repeat(n)}${e}${')'.repeat(n)}`,
  (e, n) => `(${e}${' / 1'.repeat(n)})`,
];

const wrapped = (text: string, { at, way, depth }: { at: number; way: number; depth: number }): string | null => {
  const [body = ''] = text.split(/ where (?:instrument|base|venue|quote|symbol) /);
  const found = [...body.matchAll(READ)];
  const one = found[at % Math.max(1, found.length)];
  if (one === undefined) return null;
  const wrap = WRAPPINGS[way % WRAPPINGS.length] as (typeof WRAPPINGS)[number];
  return `${text.slice(0, one.index)}${wrap(one[0], depth)}${text.slice(one.index + one[0].length)}`;
};

const canonicalText = (object: Json): string | null => {
  try {
    return compile({ object, path: '' }, CODES).string;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
};

t.test('an expression written deeper is at most too complex, in text and as an object (DQL-30)', async (t) => {
  const wrapping = fc.record({ at: fc.nat(40), way: fc.nat(2), depth: fc.integer({ min: 1, max: 60 }) });
  let tooDeep = 0;
  fc.assert(
    fc.property(queries, wrapping, (object, how) => {
      const valid = canonicalText(object);
      const text = valid === null ? null : wrapped(valid, how);
      if (text === null) return;
      const faults = new Set(findFaults({ text }));
      if (faults.has('DQL_COMPLEXITY')) tooDeep++;
      faults.delete('DQL_COMPLEXITY');
      if (faults.size > 0) throw new Error(`${[...faults]} for ${text}`);
    }),
    { numRuns: CASES },
  );
  t.ok(tooDeep > CASES / 5, `${tooDeep} of ${CASES} were too deep`);
});

const field = (name: string): Json => ({ type: 'field', name });
const one: Json = { type: 'number', value: 1 };
const times = (node: Json, depth: number): Json =>
  depth === 0 ? node : times({ type: 'arith', op: '*', left: one, right: node }, depth - 1);
const more = (condition: Json, depth: number): Json =>
  depth === 0 ? condition : more({ type: depth % 2 === 0 ? 'and' : 'or', args: [condition, condition] }, depth - 1);

/** Positions of a deep expression, and what each position allows. */
const PLACES: readonly (readonly [name: string, query: (deep: Json) => Json])[] = [
  ['any', (deep) => ({ condition: { type: 'any', where: { type: 'cmp', op: '>', left: deep, right: one } } })],
  [
    'count',
    (deep) => ({ order_by: [{ expr: { type: 'count', where: { type: 'cmp', op: '>', left: deep, right: one } } }] }),
  ],
  ['max', (deep) => ({ order_by: [{ expr: { type: 'agg', fn: 'max', expr: deep } }] })],
  [
    'sum where',
    (deep) => ({
      order_by: [
        {
          expr: {
            type: 'agg',
            fn: 'sum',
            expr: field('turnover_24h'),
            where: { type: 'cmp', op: '<', left: deep, right: one },
          },
        },
      ],
    }),
  ],
  ['sma', (deep) => ({ select: [{ type: 'call', name: 'sma', args: [deep, one], timeframe: '1h' }] })],
  [
    'abs in max',
    (deep) => ({ order_by: [{ expr: { type: 'agg', fn: 'max', expr: { type: 'call', name: 'abs', args: [deep] } } }] }),
  ],
  [
    'crossover',
    (deep) => ({
      condition: { type: 'all', where: { type: 'call', name: 'crossover', args: [deep, one], timeframe: '1h' } },
    }),
  ],
];

t.test('a deep object keeps what encloses it: no fault of scope, kind or timeframe comes of it', async (t) => {
  for (const [name, query] of PLACES) {
    for (const depth of [1, 10, 22, 30, 31, 32, 33, 40, 100]) {
      const faults = new Set(
        ofObject({ dql: '1', ...query(times(field('mark'), depth)) }).map((one) => one.split(' ')[0]),
      );
      faults.delete('DQL_COMPLEXITY');
      t.same([...faults], [], `${name} at ${depth}`);
    }
  }
  const deep = more({ type: 'cmp', op: '>', left: field('mark'), right: one }, 8);
  t.same(ofObject({ dql: '1', condition: { type: 'any', where: deep } }), ['DQL_COMPLEXITY ']);
});

t.test('a limit that an object is over is told at the object or at a part of it (DQL-08, DQL-32)', async (t) => {
  const isOver = (left: Json): Json => ({ type: 'cmp', op: '>', left, right: one });
  const list = (count: number, make: (n: number) => Json): Json[] =>
    Array.from({ length: count }, (_, n) => make(n + 1));
  const average = (n: number): Json => ({
    type: 'call',
    name: 'sma',
    args: [
      { type: 'source', name: 'close' },
      { type: 'number', value: n },
    ],
    timeframe: '1h',
  });
  const objects: readonly { [name: string]: Json }[] = [
    { condition: { type: 'and', args: list(100, () => isOver(field('venues_listed'))) } },
    { condition: { type: 'or', args: list(17, () => ({ type: 'any', where: isOver(field('mark')) })) } },
    { condition: { type: 'any', where: { type: 'or', args: list(33, (n) => isOver(average(n))) } } },
    { condition: { type: 'any', where: isOver(times(field('mark'), 40)) } },
    { where: { symbol: ['x'.repeat(9_000)] } },
  ];
  for (const query of objects) {
    const faults = tellFaults({ object: { dql: '1', ...query }, path: '/query_object' });
    t.ok(faults.length > 0);
    for (const { code, path, position, message } of faults) {
      t.same([code, position], ['DQL_COMPLEXITY', undefined], message);
      t.match(path, /^\/query_object/, message);
    }
  }
});

t.test('a fault in a deep expression is reported all the same', async (t) => {
  const sum = Array.from({ length: 31 }, () => 'mark').join(' + ');
  t.same(findFaults({ text: `any(venues where ${sum} > 1)` }), ['DQL_COMPLEXITY']);
  t.same(findFaults({ text: `max(venues, ${sum}) > 1` }), ['DQL_COMPLEXITY']);
  t.same(findFaults({ text: `select sma(${sum.replaceAll('mark', 'close')}, 2, 1h)` }), ['DQL_COMPLEXITY']);
  t.same(findFaults({ text: `${sum.replaceAll('mark', 'venues_listed')} > mark` }), ['DQL_SCOPE']);
  t.same(findFaults({ text: `any(venues where ${sum} + volum > 1)` }), ['DQL_UNKNOWN_FIELD']);
  t.same(findFaults({ text: `any(venues where ${sum} + max(venues, mark) > 1)` }), ['DQL_NESTING']);
  t.same(findFaults({ text: `select sma(${sum} + bid + tick_size, 2, 1h)` }), ['DQL_TYPE']);
  t.same(findFaults({ text: `select sma(${sum}, 2)` }), ['DQL_TIMEFRAME_REQUIRED']);
});

type Place = {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string | number;
  readonly path: string;
};

/** Every member and item of an object, with its pointer. */
const listPlaces = (holder: unknown, path = ''): Place[] => {
  if (typeof holder !== 'object' || holder === null) return [];
  return Object.entries(holder).flatMap(([key, value]) => [
    { holder: holder as Record<string, unknown>, key, path: `${path}/${key}` },
    ...listPlaces(value, `${path}/${key}`),
  ]);
};

const NODES = ['condition', 'left', 'right', 'where', 'expr'];
/** Values that are invalid for a member of any type. */
const wrongFor = (key: string, value: unknown, type: unknown): readonly unknown[] => {
  if (key === 'timeframe') return type === 'call' ? ['', '1.5h', 'x', 5, null, '01h'] : ['', '1.5h', '7m', 5, null];
  if (key === 'value')
    return type === 'number' ? ['x', null, '1e5', '.5'] : type === 'code' ? [5, null, {}] : ['', 5, null];
  if (key === 'as_of') return ['', 'yesterday', 5, null];
  if (NODES.includes(key) || (typeof value === 'object' && !Array.isArray(value))) return [5, 'x', null, []];
  return Array.isArray(value) ? [5, 'x', null, {}] : [5, null, {}];
};

const copy = (object: Json): Record<string, unknown> => JSON.parse(JSON.stringify(object)) as Record<string, unknown>;

/** Members whose lists may also be a single string: any string is valid there. */
const isSelection = (path: string): boolean => path.startsWith('/where/');

/** Objects with one fault of shape each, and the path at which it is reported. */
const spoil = (object: Json, at: number, pick: number): { readonly object: Json; readonly path: string } | null => {
  const spoilt = copy(object);
  const places = listPlaces(spoilt).filter(({ path, key }) => !isSelection(path) && key !== 'dql');
  const place = places[at % places.length];
  if (place === undefined) return null;
  const { holder, key, path } = place;
  const members = holder as Record<string, unknown>;
  const value = members[key];
  const kind = pick % 3;
  if (kind === 0 && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    (value as Record<string, unknown>)['surplus'] = 1;
    return { object: spoilt, path: `${path}/surplus` };
  }
  const isRequired =
    !Array.isArray(holder) && path.split('/').length > 2 && !['timeframe', 'dir'].includes(String(key));
  const isOptionalWhere = key === 'where' && members['type'] === 'agg';
  if (kind === 1 && isRequired && !isOptionalWhere) {
    delete members[key];
    return { object: spoilt, path };
  }
  const wrong = wrongFor(String(key), value, members['type']);
  members[key] = wrong[pick % wrong.length];
  return { object: spoilt, path };
};

t.test('one fault of shape in an object is reported, at its path, and nothing else (DQL-34c)', async (t) => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(queries, fc.nat(500), fc.nat(500), (object, at, pick) => {
      if (canonicalText(object) === null) return;
      const spoilt = spoil(object, at, pick);
      if (spoilt === null) return;
      seen.add(spoilt.path.slice(spoilt.path.lastIndexOf('/') + 1));
      const faults = ofObject(spoilt.object);
      if (faults.join() !== `DQL_JSON_SCHEMA ${spoilt.path}`) {
        throw new Error(`${faults.join()} and not ${spoilt.path} for ${JSON.stringify(spoilt.object)}`);
      }
    }),
    { numRuns: CASES },
  );
  const kinds = ['type', 'name', 'args', 'timeframe', 'value', 'op', 'fn', 'left', 'where', 'expr', 'dir', 'surplus'];
  t.same(
    kinds.filter((kind) => !seen.has(kind)),
    [],
    'every kind of member was spoilt',
  );
});

t.test('twenty faults are told of more, whatever limits are passed beside them (E-01, E-05)', async (t) => {
  const list = `venues_listed in (${Array.from({ length: 33 }, () => 1).join(', ')})`;
  const names = Array.from({ length: 25 }, (_, i) => `nosuch${String.fromCharCode(97 + i)}`);
  for (const at of [0, 3, 19, 20, 25]) {
    const conditions = names.map((name) => `any(venues where ${name} > 1)`);
    const text = conditions.toSpliced(at, 0, list).join(' or ');
    const told = tellFaults({ text });
    t.same(
      told.map(({ message }) => /nosuch./.exec(message)?.[0]),
      names.slice(0, 20),
      `the list at ${at}`,
    );
  }
  t.same(findFaults({ text: list }), ['DQL_COMPLEXITY'], 'alone it is told');
});

t.test('a malformed timeframe or name of a call is its own fault only', async (t) => {
  const close: Json = { type: 'source', name: 'close' };
  const call = (over: Json): Json => ({ type: 'call', name: 'sma', args: [close, one], timeframe: '1h', ...over });
  for (const timeframe of ['', '1.5h', '1', 5]) {
    t.same(ofObject({ dql: '1', select: [call({ timeframe })] }), ['DQL_JSON_SCHEMA /select/0/timeframe']);
    const nested = call({ args: [call({ timeframe }), one] });
    t.same(ofObject({ dql: '1', select: [nested] }), ['DQL_JSON_SCHEMA /select/0/args/0/timeframe']);
  }
  t.same(ofObject({ dql: '1', select: [call({ name: 5 })] }), ['DQL_JSON_SCHEMA /select/0/name']);
  t.same(ofObject({ dql: '1', timeframe: '7m', select: [close] }), ['DQL_JSON_SCHEMA /timeframe']);
  t.same(findFaults({ text: 'timeframe x select close' }), ['DQL_SYNTAX']);
  t.same(findFaults({ text: 'timeframe 1.5h select close' }), ['DQL_SYNTAX']);
});

t.test('past every limit the message has the figure and the limit (DQL-32, DQL-34g)', async (t) => {
  const repeat = (n: number, one: string, between = ', '): string => Array.from({ length: n }, () => one).join(between);
  const nest = (n: number, open: string, inner: string): string => `${open.repeat(n)}${inner}${')'.repeat(n)}`;
  const count = 'count(venues where mark > 1)';
  const over: readonly (readonly [string, number, number])[] = [
    [repeat(86, 'venues_listed > 1', ' or '), 259, 256],
    [`venues_listed > ${nest(23, '1 + (', '2')}`, 25, 24],
    [`any(venues where ${nest(30, 'abs(', 'mark')} > 1)`, 31, 24],
    [nest(70, '(', 'venues_listed > 1'), 70, 64],
    [`venues_listed in (1) and ${nest(66, '(', `abs(${count}) > 1 and (venues_listed in (1))`)}`, 67, 64],
    [`${repeat(17, count, ' + ')} > 1`, 17, 16],
    [`any(venues where ${repeat(33, 'close > prev(close, 1)', ' and ')}) timeframe 1h`, 33, 32],
    [`select ${['1m', '5m', '1h', '1d'].map((tf) => `prev(close, 1, ${tf})`).join(', ')}`, 4, 3],
    ['any(venues where rsi(close, 500, 1h) > 50)', 2001, 2000],
    [`venues_listed in (${repeat(40, '1')})`, 40, 32],
    [`where base in (${repeat(40, 'BTC')})`, 40, 32],
    [`select ${repeat(20, 'mark')}`, 20, 16],
    [`order by ${repeat(6, 'base')}`, 6, 4],
    [' '.repeat(8193), 8193, 8192],
  ];
  for (const [text, figure, most] of over) {
    const [fault, ...others] = tellFaults({ text });
    t.equal(fault?.code, 'DQL_COMPLEXITY', text.slice(0, 60));
    t.match(fault?.message, new RegExp(`\\b${figure}\\b.*\\b${most}\\b`));
    t.same(
      others.filter(({ code }) => code !== 'DQL_COMPLEXITY'),
      [],
    );
  }
});

t.test(
  'the message of an unknown code names up to ten, every near one before any other; the hint names three (S-04, E-08)',
  async (t) => {
    const told = (near: readonly string[]) => {
      const base = new Map([...near, ...'AEIOUYBC'].map((code) => [code, code]));
      try {
        compile({ text: 'where base = QQQQ' }, { ...CODES, base });
      } catch (error) {
        if (error instanceof ServiceError) return error.errors[0];
      }
      throw new Error('the code is known');
    };
    const first = 'Did you mean QQQ, QQQZ, QAQA?';
    const few = told(['QAQA', 'QQZZ', 'QQQZ', 'QZZQ', 'QQQ']);
    t.equal(
      few?.message,
      '"QQQQ" is not a base asset: known are QQQ, QQQZ, QAQA, QQZZ, QZZQ, A, B, C, E, I (13 in all).',
    );
    t.equal(few?.hint, first);
    const many = told(['QAQA', 'QQZZ', 'QQQZ', 'QZZQ', 'QQQ', 'QBQB', 'QCQC', 'QDQD', 'QEQE', 'QFQF', 'QGQG']);
    t.match(many?.message, ': known are QQQ, QQQZ, QAQA, QBQB, QCQC, QDQD, QEQE, QFQF, QGQG, QQZZ (19 in all).');
    t.equal(many?.hint, first);
  },
);
