// A message whose shape is known is what JSON.parse gives: recorded ones, generated ones of hostile spellings, and each number for each reader.
import fc from 'fast-check';
import t from 'tap';
import { VenueError } from '../../../../ingest/venues/contract/listings.ts';
import { venues } from '../../../../ingest/venues/index.ts';
import { parseMessage, parseNumber } from '../../../../ingest/venues/shared/json-numbers.ts';
import { MessageShapes } from '../../../../ingest/venues/shared/message-shapes.ts';
import {
  createMessageReader,
  readAmountOrNull,
  readCountOrNull,
  readFigure,
  readId,
  readIdText,
  readInstantOrNull,
  readMsOrNull,
  readPriceUnlessZero,
  readText,
} from '../../../../ingest/venues/shared/wire.ts';
import { createRandom, mutate } from '../../../support/mutations.ts';
import { readRecording, recordingsIn } from '../../../support/venues/recordings.ts';

const NO_CUTS: [] = [];
const createShapes = (): MessageShapes => new MessageShapes('"channel":"');

/** What a value is, with the order of its members; of a number the JSON and the text. */
const describe = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(describe).join()}]`;
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}:${describe(member)}`)
      .join()}}`;
  return typeof value === 'string' || value === null
    ? JSON.stringify(value)
    : `${JSON.stringify(value)} ${String(value)} ${Object.is(value, -0)}`;
};

const parseOrTell = (text: string): string => {
  try {
    return describe(parseMessage(text));
  } catch (error) {
    return String(error);
  }
};

for (const { id } of venues.values()) {
  t.test(`${id}: recorded messages, met for the first time, again and damaged`, (t) => {
    const texts = recordingsIn(id).flatMap((name) => readRecording(name).map(({ raw }) => raw));
    const random = createRandom(11);
    const shapes = createShapes();
    let known = 0;
    for (const text of texts.slice(0, 2_000)) {
      for (const met of [text, text, mutate(Buffer.from(text), random).toString(), text]) {
        const parsed = shapes.parse(met, NO_CUTS);
        if (parsed === undefined) continue;
        known += 1;
        if (describe(parsed) !== parseOrTell(met)) t.fail(met.slice(0, 200));
      }
    }
    t.ok(known > 0, `${known} of ${4 * texts.length} messages`);
    t.end();
  });
}

const NUMBERS = [
  ...['0', '-0', '0.0', '-0.0', '7', '-12', '12.50', '0.1', '-0.000001', '0.0000001', '-0.0000001', '123456789012345'],
  ...['1234567890123456', '9007199254740993', '1790133840887000000', '1790133840887000123', '0.1234567890123456789'],
  ...['42500.0', '1e5', '1E-7', '1.5e+3', '1e300', '1e-300', '1e999', '8980376957983888E2', '100000000000000000000'],
];
const NO_NUMBERS = ['01', '1.', '.5', '+1', '-', '1e', '0x10', '1_0', 'NaN', 'Infinity', '--1', '1.2.3', '1e5.5'];
const TEXTS = [
  '',
  'a',
  'BTC-PERPETUAL',
  '币安人生',
  '\\u0041',
  '\\"',
  '\\',
  '\n',
  '\u0000',
  '\\u0000',
  '{}',
  '\ud800',
  "'",
];
const NAMES = [
  'a',
  'b',
  'channel',
  'p',
  '__proto__',
  'constructor',
  'toString',
  '1',
  '01',
  'x.y',
  '币',
  'a\\u0062',
  '',
];

const number = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 30, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom(...NO_NUMBERS) },
);
const word = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom('true', 'false', 'null') },
  { weight: 1, arbitrary: fc.constantFrom('True', 'nul') },
);
const text = fc
  .oneof(
    { weight: 30, arbitrary: fc.stringMatching(/^[ -!#-[\]-~]{0,8}$/) },
    { weight: 1, arbitrary: fc.constantFrom(...TEXTS) },
    { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
  )
  .map((inner) => `"${inner}"`);
const memberName = fc.oneof(
  { weight: 60, arbitrary: fc.stringMatching(/^[a-z]{2}$/) },
  { weight: 1, arbitrary: fc.constantFrom(...NAMES) },
);

/** A shape with as many writers of texts as are asked for: all have its names and brackets, and values of their own. */
type Kind = 'number' | 'word' | 'text';
type Write = (value: (kind: Kind) => string) => string;
const { root } = fc.letrec<{ root: Write; tree: Write; leaf: Write; list: Write; object: Write }>((tie) => ({
  root: fc.oneof(tie('list'), tie('object'), tie('object')),
  tree: fc.oneof({ depthSize: 'small' }, tie('leaf'), tie('leaf'), tie('list'), tie('object')),
  leaf: fc.constantFrom<Kind>('number', 'word', 'text').map((kind) => (value) => value(kind)),
  list: fc
    .array(tie('tree'), { minLength: 1, maxLength: 4 })
    .map((items) => (value) => `[${items.map((item) => item(value)).join()}]`),
  object: fc
    .array(fc.tuple(memberName, tie('tree')), { minLength: 1, maxLength: 24 })
    .map((members) => (value) => `{${members.map(([name, write]) => `"${name}":${write(value)}`).join()}}`),
}));
const values = fc.record({
  numbers: fc.array(number, { minLength: 7, maxLength: 7 }),
  words: fc.array(word, { minLength: 3, maxLength: 3 }),
  texts: fc.array(text, { minLength: 5, maxLength: 5 }),
});
type Values = { readonly numbers: string[]; readonly words: string[]; readonly texts: string[] };

const PLAIN: Values = { numbers: ['1'], words: ['null'], texts: ['"x"'] };

const fill = (write: Write, { numbers, words, texts }: Values): string => {
  let at = 0;
  const take = (from: readonly string[]): string => from[at++ % from.length] as string;
  return write((kind) => take(kind === 'number' ? numbers : kind === 'word' ? words : texts));
};

t.test('generated messages of one shape', (t) => {
  let known = 0;
  const isSame = (write: Write, all: readonly Values[]): boolean => {
    const shapes = createShapes();
    shapes.parse(fill(write, PLAIN), NO_CUTS);
    return all.every((some) => {
      const message = fill(write, some);
      const parsed = shapes.parse(message, NO_CUTS);
      if (parsed === undefined) return true;
      known += 1;
      return describe(parsed) === parseOrTell(message);
    });
  };
  fc.assert(fc.property(root, fc.array(values, { minLength: 6, maxLength: 6 }), isSame), { numRuns: 1_500 });
  t.ok(known > 1_500, `${known} of 9000 were of a known shape`);
  t.end();
});

t.test('lists that were cut out stand where they were', (t) => {
  const shapes = createShapes();
  const cut = (at: number): string => `{"b":"\\u0000","t":${at},"a":"\\u0000"}`;
  const cuts = (at: number) => [
    { name: 'b', lists: [at] },
    { name: 'a', lists: [-at] },
  ];
  t.equal(shapes.parse(cut(1), cuts(1)), undefined);
  t.same(shapes.parse(cut(2), cuts(2)), { b: [2], t: 2, a: [-2] });
  t.equal(shapes.parse(cut(3), [{ name: 'b', lists: [3] }]), undefined, 'one of them is a text of the venue');
  t.equal(shapes.parse(cut(3), NO_CUTS), undefined);
  t.end();
});

t.test('a shape is met again among messages of many others', (t) => {
  const shapes = createShapes();
  let known = 0;
  for (let at = 0; at < 20_000; at++) {
    const rare = `{"channel":"rare","${at}x":${at}}`;
    if (shapes.parse(at % 2 === 0 ? `{"channel":"often","price":${at}}` : rare, NO_CUTS) !== undefined) known += 1;
  }
  t.ok(known > 9_900, `${known} of 10000`);
  t.end();
});

const READERS = {
  readFigure: (value: unknown) => readFigure(value, 'v'),
  readAmountOrNull: (value: unknown) => readAmountOrNull(value, 'v'),
  readPriceUnlessZero: (value: unknown) => readPriceUnlessZero(value, 'v'),
  readId: (value: unknown) => readId(value, 'v'),
  readIdText: (value: unknown) => readIdText(value, 'v'),
  readCountOrNull: (value: unknown) => readCountOrNull(value, 'v'),
  readMsOrNull: (value: unknown) => readMsOrNull(value, 'v'),
  readInstantOrNull: (value: unknown) => readInstantOrNull(value, 'v'),
  readText: (value: unknown) => readText(value, 'v'),
  String,
  Number,
  'JSON.stringify': JSON.stringify,
};

const tellResult = (read: (value: unknown) => unknown, value: unknown): string => {
  try {
    return String(read(value));
  } catch (error) {
    if (error instanceof VenueError) return `${error.code} ${error.kind} ${error.message}`;
    throw error;
  }
};

t.test('a number is the same to every reader', (t) => {
  const isSame = (text: string): boolean => {
    const [parsed] = parseMessage(`[${text}]`) as [unknown];
    const value = parseNumber(text);
    return Object.entries(READERS).every(([name, read]) => {
      const same = tellResult(read, value) === tellResult(read, parsed);
      if (!same) t.fail(`${name} of ${text}: ${tellResult(read, value)}, not ${tellResult(read, parsed)}`);
      return same;
    });
  };
  for (const text of NUMBERS) t.ok(isSame(text), text);
  const digits = fc.stringMatching(/^[0-9]{0,18}$/);
  const decimal = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.bigInt({ min: 0n, max: 10n ** 20n }),
      digits,
      fc.constantFrom('', '', 'e-3', 'E21'),
    )
    .map(([sign, whole, fraction, end]) => `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${end}`);
  fc.assert(fc.property(decimal, isSame), { numRuns: 5_000 });
  t.end();
});

t.test('a message that is no JSON is refused whether its shape is known or not', (t) => {
  const read = createMessageReader('"channel":"');
  const readAll = (message: string): string =>
    tellResult((text) => read(Buffer.from(String(text)), (parsed) => JSON.stringify(parsed)), message);
  for (const _time of [1, 2, 3]) {
    t.equal(readAll('{"channel":"a","v":1.50}'), '{"channel":"a","v":1.5}');
    for (const wrong of [
      '{"channel":"a","v":01}',
      '{"channel":"a","v":1.50}}',
      '{"channel":"a\n","v":1}',
      '{"channel":"a"',
    ])
      t.match(readAll(wrong), /^VENUE_BAD_FRAME unreadable not JSON/, wrong);
  }
  t.end();
});
