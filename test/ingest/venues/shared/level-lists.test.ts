// A book read from the text of its message is the one that JSON.parse and the readers of levels give, also in the element that `include_raw` shows.
import fc from 'fast-check';
import t from 'tap';
import { VenueError } from '../../../../ingest/venues/contract/listings.ts';
import { formatElement } from '../../../../ingest/venues/shared/element-text.ts';
import { ChangeList, createCutter } from '../../../../ingest/venues/shared/level-lists.ts';
import {
  createMessageReader,
  type Fields,
  makeBadFrame,
  readAmount,
  readFields,
  readLevels,
  readList,
  readMessage,
  readNamedLevels,
  readPrice,
} from '../../../../ingest/venues/shared/wire.ts';

type Cutter = ReturnType<typeof createCutter>;
/** How a venue's mapper gets at the two sides, and reads one. */
type Form = {
  readonly cut: Cutter;
  readonly sidesOf: (data: Fields) => readonly unknown[];
  readonly read: (side: unknown) => unknown;
};

const readChange = (change: unknown): unknown => {
  const [word, price, size] = readList(change, 'b');
  if (word === 'delete') return [readPrice(price, 'b'), '0'];
  if (word !== 'new' && word !== 'change') throw makeBadFrame('b holds no change');
  return [readPrice(price, 'b'), readAmount(size, 'b')];
};
const readNamed = (side: unknown): unknown => readNamedLevels(side, ['p', 's'], 'b');
const readBoth = ({ b, a }: Fields): readonly unknown[] => [b, a];
const LISTS: Form = {
  cut: createCutter({ names: ['b', 'a'] }),
  sidesOf: readBoth,
  read: (side) => readLevels(side, 'b'),
};
const NAMED: Form = {
  cut: createCutter({ names: ['b', 'a'], keys: ['p', 's', 'n'] }),
  sidesOf: readBoth,
  read: readNamed,
};
const CHANGES: Form = {
  cut: createCutter({ names: ['b', 'a'], words: ['new', 'change', 'delete'] }),
  sidesOf: readBoth,
  read: (side) => (side instanceof ChangeList ? side.levels : readList(side, 'b').map(readChange)),
};
const PAIRED: Form = {
  cut: createCutter({ names: ['levels'], keys: ['p', 's', 'n'], isPaired: true }),
  sidesOf: ({ levels }) => readList(levels, 'levels'),
  read: readNamed,
};

type Reader = typeof readMessage;

/** Levels and element of a message, with the scan or without, or why it cannot be read. */
const runForm = (text: string, { sidesOf, read }: Form, readText: Reader = readMessage): string => {
  const map = (body: unknown): string => {
    const data = readFields(readFields(body, 'body').data, 'data');
    return [JSON.stringify(sidesOf(data).map(read)), JSON.stringify(body), formatElement(body)].join('\n');
  };
  try {
    return readText(Buffer.from(text), map);
  } catch (error) {
    if (error instanceof VenueError) return `${error.code} ${error.kind}`;
    throw error;
  }
};

/** Long enough that a scan is worth it. */
const PADDING = `"note":"${'x'.repeat(400)}"`;
const makeMessage = (members: string): string => `{"e":1545896669105000123,"data":{${PADDING},${members}}}`;

const SPELLINGS = [
  ...['0', '0.00', '007', '-1', '+1', '.5', '5.', '1e3', '', 'x', '1'.repeat(80)],
  ...[
    '0.000001',
    '0.0000009',
    '0.00000012',
    '1234567.12345678',
    '12345678.12345678',
    '123456789012345.0',
    '1234567890123456',
  ],
];
const spelling = fc.oneof(
  { weight: 12, arbitrary: fc.tuple(fc.nat({ max: 99_999 }), fc.stringMatching(/^[0-9]{0,6}$/)) },
  { weight: 1, arbitrary: fc.constantFrom(...SPELLINGS) },
);
const figure = spelling.map((spelt) =>
  typeof spelt === 'string' ? spelt : `${spelt[0]}${spelt[1] === '' ? '' : `.${spelt[1]}`}`,
);
const written = fc.tuple(figure, fc.boolean()).map(([text, isQuoted]) => (isQuoted ? `"${text}"` : text));
const space = fc.constantFrom('', '', '', '', '', '', ' ');
const listLevel = fc
  .tuple(fc.array(written, { minLength: 2, maxLength: 4 }), space)
  .map(([figures, gap]) => `[${figures.join(`,${gap}`)}]`);
const keysOfLevel = fc.oneof(
  { weight: 9, arbitrary: fc.shuffledSubarray(['p', 's', 'n'], { minLength: 2 }) },
  { weight: 1, arbitrary: fc.array(fc.constantFrom('p', 's', 'n'), { minLength: 3, maxLength: 3 }) },
);
const namedLevel = fc
  .tuple(keysOfLevel, fc.array(written, { minLength: 3, maxLength: 3 }))
  .map(([keys, figures]) => `{${keys.map((key, i) => `"${key}":${figures[i]}`).join()}}`);
const makeSide = (level: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(level, { maxLength: 6 }).map((levels) => `[${levels.join()}]`);

type Tap = { ok(value: unknown, message: string): unknown };
type Write = (bids: string, asks: string) => string;

const checkSame = (t: Tap, form: Form, { side, write }: { side: fc.Arbitrary<string>; write: Write }): void => {
  let scanned = 0;
  const readCut = createMessageReader('"kind":"', form.cut);
  const isSame = (bids: string, asks: string): boolean => {
    const text = makeMessage(write(bids, asks));
    if (form.cut(text) !== null) scanned += 1;
    return runForm(text, form, readCut) === runForm(text, form);
  };
  fc.assert(fc.property(side, side, isSame), { numRuns: 2_000 });
  t.ok(scanned > 100, `${scanned} of 2000 books were read by the scan`);
};

t.test('levels that are lists', (t) => {
  checkSame(t, LISTS, { side: makeSide(listLevel), write: (bids, asks) => `"b":${bids},"a":${asks}` });
  t.end();
});

t.test('levels that are objects, their members in any order', (t) => {
  checkSame(t, NAMED, { side: makeSide(namedLevel), write: (bids, asks) => `"a":${asks},"b":${bids}` });
  t.end();
});

t.test('levels of the other form, or of both, are read by the scan as without it', (t) => {
  const side = makeSide(fc.oneof(listLevel, namedLevel));
  const pair = `[${[1, 2].map((price) => `["${price}","5"]`).join()}]`;
  const named = pair.replaceAll(/\["(\d)","5"\]/g, '{"p":"$1","s":"5"}');
  const mixed = `${pair.slice(0, -1)},{"p":"3","s":"5"}]`;
  for (const [what, { cut, read }] of [
    ['lists', { ...NAMED, read: LISTS.read }],
    ['objects', NAMED],
  ] as const) {
    const form: Form = { cut, sidesOf: readBoth, read };
    const readCut = createMessageReader('"kind":"', cut);
    for (const levels of [pair, named, mixed, '[]']) {
      const text = makeMessage(`"b":${levels},"a":[]`);
      t.equal(runForm(text, form, readCut), runForm(text, form), `${what}: ${levels}`);
    }
    const isSame = (bids: string, asks: string): boolean => {
      const text = makeMessage(`"b":${bids},"a":${asks}`);
      return runForm(text, form, readCut) === runForm(text, form);
    };
    t.doesNotThrow(() => fc.assert(fc.property(side, side, isSame), { numRuns: 500 }), what);
  }
  t.end();
});

t.test('levels that start with a word', (t) => {
  const word = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom('"new"', '"change"', '"delete"') },
    { weight: 1, arbitrary: fc.constantFrom('"New"', 'new', '1', '""') },
  );
  const change = fc
    .tuple(word, fc.array(written, { minLength: 2, maxLength: 3 }), space)
    .map(([first, figures, gap]) => `[${[first, ...figures].join(`,${gap}`)}]`);
  checkSame(t, CHANGES, { side: makeSide(change), write: (bids, asks) => `"b":${bids},"a":${asks}` });
  t.end();
});

t.test('both sides in one member', (t) => {
  checkSame(t, PAIRED, { side: makeSide(namedLevel), write: (bids, asks) => `"levels":[${bids},${asks}]` });
  t.end();
});

t.test('what could be another member is left to JSON.parse', (t) => {
  const one = '[["1","2"]]';
  for (const members of [
    `"b":${one},"b":[["3","4"]],"a":${one}`,
    `"x":{"b":${one}},"b":[["3","4"]],"a":${one}`,
    `"b":${one},"\\u0062":[["3","4"]],"a":${one}`,
    `"b":${one},"a":null`,
    `"b":${one},"a":${one},"b":null`,
    `"b":null,"b":${one},"a":${one}`,
    `"x":{"b":null,"a":"\\u0000"},"b":${one},"a":${one}`,
    `"x":"\\",\\"b\\":[[]]","b":${one},"a":${one}`,
    `"x\\"b":${one},"b":[],"a":[]`,
    `"x":"\\u0000","b":${one},"a":${one}`,
    `"b":${one},"a":${one},"\\u0000":1`,
    `"x":"\\"\\u0000","b":${one},"a":[]`,
    `"b":[["1.50",2.50]],"a":[["1.50","2.50"]]`,
    `"b":${one},"a":[["1","2"]`,
    `"b":${one},"a":${one},"x":{"b":[["3","4"]]},"x":{}`,
    `"x":{"b":[["3","4"]]},"x":1,"b":${one},"a":${one}`,
  ]) {
    const text = makeMessage(members);
    const readCut = createMessageReader('"kind":"', LISTS.cut);
    for (const time of ['for the first time', 'again'])
      t.equal(runForm(text, LISTS, readCut), runForm(text, LISTS), `${members} ${time}`);
  }
  t.end();
});
