// Figures of JSON numbers keep the venue's digits, long or short, in records and in the element that `include_raw` shows.
import fc from 'fast-check';
import t from 'tap';
import { VenueError } from '../../../../ingest/venues/contract/listings.ts';
import {
  isFields,
  makeWords,
  readCountOrNull,
  readFields,
  readFigure,
  readId,
  readList,
  readMessage,
  readSequence,
  readSequenceOrNull,
} from '../../../../ingest/venues/shared/wire.ts';
import { toCanonicalDigits } from '../../../../schemas/decimals.ts';

const read = <T>(text: string, map: (value: unknown) => T): T =>
  readMessage(Buffer.from(`{"v":${text}}`), (body) => map(readFields(body, 'body').v));
const readFigureText = (text: string): string => read(text, (value) => readFigure(value, 'v'));
const readRawText = (text: string): string => read(text, (value) => JSON.stringify({ value }));
const catchCode = (run: () => unknown): string => {
  try {
    return `gave ${JSON.stringify(run())}`;
  } catch (error) {
    if (error instanceof VenueError) return error.code;
    throw error;
  }
};

t.test('a number is the digits the venue wrote, as text is', (t) => {
  for (const [text, digits] of [
    ['0.1', '0.1'],
    ['-0.00010', '-0.0001'],
    ['-0.0', '0'],
    ['1e5', '100000'],
    ['1.5E-7', '0.00000015'],
    ['999999999999999', '999999999999999'],
    ['0.100000000000000005551', '0.100000000000000005551'],
    ['9007199254740993', '9007199254740993'],
    ['1234567890123456.5', '1234567890123456.5'],
    ['12345678901234567890', '12345678901234567890'],
    ['1545136464123456', '1545136464123456'],
    ['0.000000000000001234567890123456', '0.000000000000001234567890123456'],
    ['1545896669105000000', '1545896669105000000'],
    ['1234567890123450000', '1234567890123450000'],
    ['1234567890123456000', '1234567890123456000'],
    ['1e300', `1${'0'.repeat(300)}`],
    ['7e-320', `0.${'0'.repeat(319)}7`],
    ['[1, 9007199254740993]', null],
  ] as const)
    if (digits !== null) {
      t.equal(readFigureText(text), digits, text);
      t.equal(readFigureText(`"${text}"`), digits, `"${text}"`);
    } else
      t.equal(
        read(text, (value) => readFigure((value as unknown[])[1], 'v')),
        '9007199254740993',
        text,
      );
  for (const text of ['1e999', '9'.repeat(401), '1e-999', '"NaN"', '"0x10"', 'true', '[1]', '{}', 'null'])
    t.equal(
      catchCode(() => readFigureText(text)),
      'VENUE_BAD_FIGURE',
      text.slice(0, 20),
    );
  t.end();
});

t.test('any decimal of a message comes out as its canonical digits', (t) => {
  const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 24 });
  const decimal = fc.tuple(
    fc.boolean(),
    fc.nat({ max: 10 ** 9 }),
    digits,
    fc.option(fc.integer({ min: -320, max: 300 })),
  );
  fc.assert(
    fc.property(decimal, fc.constantFrom(':', ': ', ':\n'), ([isNegative, whole, fraction, exponent], colon) => {
      const text = `${isNegative ? '-' : ''}${whole}.${fraction.join('')}${exponent === null ? '' : `e${exponent}`}`;
      const seen = readMessage(Buffer.from(`{"v"${colon}${text}}`), (body) => readFigure(readFields(body, 'b').v, 'v'));
      return seen === toCanonicalDigits(text);
    }),
    { numRuns: 3_000 },
  );
  t.end();
});

t.test('whole numbers with an exponent keep their digits', (t) => {
  const whole = fc.bigInt({ min: 1n, max: 10n ** 20n });
  const exponent = fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.nat({ max: 40 }));
  fc.assert(
    fc.property(whole, exponent, (digits, [letter, sign, size]) => {
      const text = `${digits}${letter}${sign}${size}`;
      return readFigureText(text) === toCanonicalDigits(text);
    }),
    { numRuns: 20_000 },
  );
  t.equal(readFigureText('8980376957983888E2'), '898037695798388800');
  t.end();
});

t.test(
  'each of several long numbers keeps its place, and a text or a repeated member that holds one stays what it is',
  (t) => {
    const number = fc
      .tuple(fc.constantFrom('', '-'), fc.bigInt({ min: 1n, max: 10n ** 22n }), fc.stringMatching(/^[0-9]{0,18}$/))
      .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`);
    const item = fc.oneof(
      number.map((text) => ({ json: text, seen: toCanonicalDigits(text) })),
      number.map((text) => ({ json: `{"n":{"deep": ${text}}}`, seen: toCanonicalDigits(text) })),
      number.map((text) => ({ json: `{"n":7,"n":${text}}`, seen: toCanonicalDigits(text) })),
      number.map((text) => ({ json: `{"n":${text},"n":7}`, seen: '7' })),
      number.map((text) => ({ json: `"a:${text},${text}"`, seen: `a:${text},${text}` })),
    );
    const see = (value: unknown): string => {
      if (typeof value === 'string') return value;
      if (!isFields(value)) return readFigure(value, 'v');
      return see(isFields(value.n) ? value.n.deep : value.n);
    };
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), (items) => {
        const list = read(`[${items.map(({ json }) => json).join()}]`, (value) => readList(value, 'v'));
        return list.every((value, i) => see(value) === items[i]?.seen);
      }),
      { numRuns: 3_000 },
    );
    t.end();
  },
);

t.test('the element shows numbers as numbers, long ones with all their digits', (t) => {
  t.equal(readRawText('0.1'), '{"value":0.1}');
  t.equal(readRawText('"0.10"'), '{"value":"0.10"}');
  t.equal(readRawText('1545896669105000123'), '{"value":1545896669105000123}');
  t.equal(readRawText('[0.123456789012345678,{"a":1}]'), '{"value":[0.123456789012345678,{"a":1}]}');
  t.end();
});

t.test('the number of a message in a chain is exact, from a number as from a text', (t) => {
  for (const [text, sequence] of [
    ['35064314497', 35064314497n],
    ['9007199254740991', 9007199254740991n],
    ['9007199254740993', 9007199254740993n],
    ['1545896669105000123', 1545896669105000123n],
    ['123456789012345e6', 123456789012345000000n],
    ['-1', -1n],
    ['"007"', 7n],
    ['"9007199254740993"', 9007199254740993n],
  ] as const) {
    t.equal(
      read(text, (value) => readSequence(value, 'v')),
      sequence,
      text,
    );
    t.equal(
      read(text, (value) => readSequenceOrNull(value, 'v')),
      sequence,
      text,
    );
  }
  t.equal(readSequenceOrNull(undefined, 'v'), null);
  for (const text of ['1.5', '1e40', '"1e5"', '"0x10"', '""', 'null', '{}', 'true'])
    t.equal(
      catchCode(() => read(text, (value) => readSequence(value, 'v'))),
      'VENUE_BAD_FRAME',
      text,
    );
  t.end();
});

t.test('ids, counts and words are read as what they are', (t) => {
  t.equal(
    read('1545896669105000123', (value) => readId(value, 'v')),
    '1545896669105000123',
  );
  t.equal(
    read('1545896669105000000', (value) => readId(value, 'v')),
    '1545896669105000000',
  );
  t.equal(
    read('1026901434300000000000', (value) => readId(value, 'v')),
    '1026901434300000000000',
    'JavaScript writes this number with an exponent',
  );
  t.equal(
    read('"007"', (value) => readId(value, 'v')),
    '007',
  );
  t.equal(
    read('42', (value) => readId(value, 'v')),
    '42',
  );
  for (const text of ['1.5', '"1e5"', '""', '{}', '1e40'])
    t.equal(
      catchCode(() => read(text, (value) => readId(value, 'v'))),
      'VENUE_BAD_FRAME',
      text,
    );
  for (const [text, count] of [
    ['7', 7],
    ['"7"', 7],
    ['""', null],
    ['null', null],
  ] as const)
    t.equal(
      read(text, (value) => readCountOrNull(value, 'v')),
      count,
      text,
    );
  for (const text of ['-1', '1.5', '" "', '"0x10"', '"1e3"', '9007199254740993', 'true', '[]'])
    t.equal(
      catchCode(() => read(text, (value) => readCountOrNull(value, 'v'))),
      'VENUE_BAD_FRAME',
      text,
    );
  const table = makeWords({ open: 'tradeable' });
  t.same([table.open, table.constructor, table.toString], ['tradeable', undefined, undefined]);
  t.equal(
    catchCode(() => read('{"toString":1,"valueOf":1}', (value) => String(value))),
    'VENUE_BAD_FRAME',
  );
  t.end();
});
