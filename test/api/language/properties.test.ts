// Properties of any query: its canonical forms agree and are stable, and no text or object harms the service (DQL-09, Q-02).
// DQL_CASES and DQL_FUZZ set how many are tried; the defaults are for every run of the tests.
import fc from 'fast-check';
import t from 'tap';
import { type Compiled, compile, type QueryInput } from '../../../api/language/compile.ts';
import { parseExactly } from '../../../api/language/exact-json.ts';
import { LIMITS } from '../../../api/language/limits.ts';
import { readSelectionText } from '../../../api/language/where-text.ts';
import { CATALOGUE, ServiceError } from '../../../schemas/errors.ts';
import { writeJson } from '../../../schemas/json.ts';
import type { JsonObject } from '../../../schemas/json-object.ts';
import { CODES } from './codes.ts';
import { hostileTexts, queries, spoiledObjects } from './generate.ts';

const CASES = Number(process.env.DQL_CASES ?? 5_000);
const FUZZED = Number(process.env.DQL_FUZZ ?? 20_000);
/** Most milliseconds of one compilation, for any input. */
const SLOWEST_MS = 20;

const shown = ({ string, json, complexity }: Compiled): string =>
  `${string}\n${writeJson(json)}\n${JSON.stringify(complexity)}`;
const fromObject = (object: JsonObject): Compiled => compile({ object, path: '/query_object' }, CODES);
const fromText = (text: string): Compiled => compile({ text }, CODES);

/** Null where the query is valid but over a limit. */
const withinLimits = (object: JsonObject): Compiled | null => {
  try {
    return fromObject(object);
  } catch (error) {
    if (error instanceof ServiceError && error.errors.every(({ code }) => code === 'DQL_COMPLEXITY')) return null;
    if (error instanceof ServiceError) throw new Error(`${JSON.stringify(error.errors)} for ${JSON.stringify(object)}`);
    throw error;
  }
};

t.test('canonical text and object of any query parse to themselves, and to each other', async (t) => {
  let compiled = 0;
  fc.assert(
    fc.property(queries, (object) => {
      const first = withinLimits(object);
      if (first === null) return;
      compiled++;
      const expected = shown(first);
      const again = shown(fromText(first.string));
      if (again !== expected) throw new Error(`${again}\nis not\n${expected}`);
      const object2 = shown(fromObject(parseExactly(writeJson(first.json)) as JsonObject));
      if (object2 !== expected) throw new Error(`${object2}\nis not\n${expected}`);
    }),
    { numRuns: CASES },
  );
  t.ok(compiled > CASES / 2, `${compiled} of ${CASES} were within the limits`);
});

t.test('a query that its canonical form makes too long is refused: every answered text is a query', async (t) => {
  const symbols = (...texts: string[]): JsonObject => ({ dql: '1', where: { symbol: texts } });
  const figures = (exponent: number, count: number): string =>
    `any(venues where ${Array.from({ length: count }, () => `mark > 1e${exponent}`).join(' or ')})`;
  const around = LIMITS.source_bytes - 'where symbol = ""'.length;
  const inputs: readonly QueryInput[] = [
    ...[around - 1, around, around + 1].map((length) => ({ object: symbols('x'.repeat(length)), path: '' })),
    ...[0, 1].map((more) => ({ object: symbols('é'.repeat(Math.floor(around / 2) + more)), path: '' })),
    ...[10, 19, 20, 40].flatMap((n) => [400, -400].map((exponent) => ({ text: figures(exponent, n) }))),
    { object: symbols(...Array.from({ length: 32 }, (_, i) => `${i}`.repeat(200))), path: '' },
  ];
  const tryCompile = (input: QueryInput): Compiled | ServiceError => {
    try {
      return compile(input, CODES);
    } catch (error) {
      if (error instanceof ServiceError) return error;
      throw error;
    }
  };
  const refusals = inputs.map((input) => {
    const result = tryCompile(input);
    if (!(result instanceof ServiceError)) {
      // Outside of the first attempt: a text that is refused when it is sent again is the fault looked for.
      t.equal(fromText(result.string).string, result.string);
      return null;
    }
    const [fault, ...others] = result.errors;
    const path = 'object' in input ? input.path : undefined;
    t.match(fault, { code: 'DQL_COMPLEXITY', position: undefined, path });
    return others.length === 0 ? Number(/has (\d+) bytes/.exec(fault?.message ?? '')?.[1]) : 0;
  });
  t.equal(refusals[1], null, 'the limit itself is allowed');
  t.equal(refusals[2], LIMITS.source_bytes + 1);
  t.ok(refusals.every((bytes) => bytes === null || bytes > LIMITS.source_bytes));
  t.equal(refusals.filter((bytes) => bytes !== null).length, 7);
});

const isDocumented = (error: unknown, length: number): boolean => {
  if (!(error instanceof ServiceError)) return false;
  const { errors } = error;
  const offsets = errors.map(({ position }) => position?.offset ?? Number.POSITIVE_INFINITY);
  return (
    errors.length > 0 &&
    errors.length <= 20 &&
    errors.every((e) => e.code in CATALOGUE && e.message !== '' && e.hint !== undefined && e.hint !== '') &&
    errors.every(({ position }) => position === undefined || position.offset + position.length <= length) &&
    new Set(errors.map((error) => JSON.stringify(error))).size === errors.length &&
    offsets.every((offset, i) => i === 0 || (offsets[i - 1] ?? 0) <= offset)
  );
};

/** Milliseconds that reading took; throws where the outcome is none of the documented ones. */
const timed = (text: string, read: (text: string) => unknown): number => {
  // Time of this thread alone: other processes do not count.
  const start = process.threadCpuUsage();
  let failure: unknown = null;
  try {
    read(text);
  } catch (error) {
    failure = error;
  }
  const { user, system } = process.threadCpuUsage(start);
  const ms = (user + system) / 1_000;
  if (failure !== null && !isDocumented(failure, [...text].length)) throw failure;
  return ms;
};

const MOST_TRIES = 50;

/** The least time of the tries; none follows one that is short enough. */
const timeAgain = (text: string, read: (text: string) => unknown): number => {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < MOST_TRIES && least >= SLOWEST_MS; tries++) least = Math.min(least, timed(text, read));
  return least;
};

/** A pause of the machine, and code that it had no time to compile, are not the input's: the slowest inputs are measured again. */
const measureSlowest = (
  found: { ms: number; text: string }[],
  read: (text: string) => unknown,
): { ms: number; text: string } => {
  const again = found
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 20)
    .map(({ text }) => ({ ms: timeAgain(text, read), text }));
  return again.sort((a, b) => b.ms - a.ms)[0] ?? { ms: 0, text: '' };
};

const fuzz = (texts: fc.Arbitrary<string>, runs: number, read: (text: string) => unknown) => {
  let slow: { ms: number; text: string }[] = [];
  fc.assert(
    fc.property(texts, (text) => {
      slow.push({ ms: timed(text, read), text });
      if (slow.length > 1_000) slow = slow.sort((a, b) => b.ms - a.ms).slice(0, 20);
    }),
    { numRuns: runs },
  );
  return measureSlowest(slow, read);
};

t.test('any text is a query or a list of documented faults, in milliseconds', async (t) => {
  const { ms, text } = fuzz(hostileTexts, FUZZED, fromText);
  t.comment(
    `slowest of ${FUZZED}: ${ms.toFixed(2)} ms for ${JSON.stringify(text.slice(0, 60))} (${text.length} characters)`,
  );
  t.ok(ms < SLOWEST_MS, `${ms.toFixed(2)} ms for ${JSON.stringify(text.slice(0, 200))}`);
  const selections = fuzz(hostileTexts, FUZZED / 10, readSelectionText);
  t.ok(
    selections.ms < SLOWEST_MS,
    `${selections.ms.toFixed(2)} ms for ${JSON.stringify(selections.text.slice(0, 200))}`,
  );
});

t.test('any object is a query or a list of documented faults', async (t) => {
  fc.assert(
    fc.property(spoiledObjects, (object) => {
      if (typeof object !== 'object' || object === null || Array.isArray(object)) return;
      timed('', () => fromObject(object as JsonObject));
    }),
    { numRuns: FUZZED / 10 },
  );
  t.pass('every outcome is documented');
});

t.test('the deepest, longest and widest inputs are refused in milliseconds', async (t) => {
  const long = (piece: string, open = '', close = '') =>
    `${open}${piece.repeat(Math.floor((8_190 - open.length - close.length) / piece.length))}${close}`;
  const texts = [
    ...[long('('), long('abs('), long('-'), long('- '), long('any(venues where '), long('max(venues, ')],
    ...[long('1+', '', '1'), long('1-', '', '1 > 0'), long('a and '), long('x or '), long('x,', 'select ')],
    ...[long('base = X or '), long('X, ', 'base in (', 'X)'), long('"'), long('"a" '), long('\\', '"'), long('0')],
    ...[
      long('0', '1.', '1'),
      long('0', '0.', '1bps'),
      long('9'),
      long('A-'),
      long('A-', '', 'a_'),
      long('💥'),
      long('\r'),
    ],
    ...[long(') '), long(', '), long('where '), long('timeframe 1h '), long('as of as of '), long('ema(')],
    ...[
      long('sma(close, 5, 1h) + ', 'any(venues where ', '1 > 0)'),
      long('depth_bid(10bps) + ', 'any(venues where ', '1 > 0)'),
    ],
  ];
  for (const text of texts) {
    const { ms } = measureSlowest([{ ms: timed(text, fromText), text }], fromText);
    if (ms >= SLOWEST_MS) t.fail(`${ms.toFixed(1)} ms for ${text.slice(0, 40)}`);
  }
  const chain = (n: number, wrap: (inner: unknown) => unknown) => {
    let node: unknown = { type: 'field', name: 'venues_listed' };
    for (let i = 0; i < n; i++) node = wrap(node);
    return { dql: '1', condition: node } as JsonObject;
  };
  const one = { type: 'number', value: 1 };
  const objects = [
    chain(2_000, (inner) => ({ type: 'any', where: inner })),
    chain(2_000, (inner) => ({ type: 'call', name: 'abs', args: [inner] })),
    chain(2_000, (inner) => ({ type: 'arith', op: '-', left: inner, right: one })),
  ];
  const wide = (item: unknown, n: number): unknown[] => Array.from({ length: n }, () => item);
  objects.push(
    { dql: '1', condition: { type: 'and', args: wide(1, 32_000) } },
    { dql: '1', condition: { type: 'and', args: wide({ type: 'field', name: 'x' }, 2_000) } },
    { dql: '1', where: { base: wide('X', 16_000) }, select: wide({ type: 'x' }, 2_500) },
    { dql: '1', ...Object.fromEntries(wide(1, 8_000).map((one, i) => [`k${i}`, one])) },
  );
  for (const object of objects) {
    const { ms } = measureSlowest([{ ms: timed('', () => fromObject(object)), text: '' }], () => fromObject(object));
    if (ms >= SLOWEST_MS) t.fail(`${ms.toFixed(1)} ms for ${JSON.stringify(object).slice(0, 60)}`);
  }
  t.pass('every input looked at');
});
