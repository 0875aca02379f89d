// The element that `include_raw` shows of a listing is the venue's own text of it (V-02), for every listing of the recorded reference answers.
import fc from 'fast-check';
import t from 'tap';
import type { ReferenceAnswer, VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { splitElements } from '../../../ingest/venues/shared/elements.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';
import { readAnswers, readReference } from '../../support/venues/venue-seeds.ts';

const valuesAt = (value: unknown, path: string): readonly unknown[] =>
  path
    .split('.')
    .filter((step) => step !== '')
    .reduce<readonly unknown[]>(
      (held, step) =>
        held
          .filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
          .flatMap((one) => (step === '*' ? Object.values(one) : [one[step]])),
      [value],
    );

/** The parsed element of a listing, found the slow way. */
const elementIn = (venue: Venue, raw: string, symbol: string): unknown => {
  const { paths, name } = factsAbout(venue).elements;
  const body: unknown = JSON.parse(raw);
  return paths
    .flatMap((path) => valuesAt(body, path))
    .find((one) => typeof one === 'object' && one !== null && (one as Record<string, unknown>)[name] === symbol);
};

type Answered = { readonly message: VenueMessage; readonly answer: ReferenceAnswer };

const listReferences = (venue: Venue): readonly Answered[] =>
  readAnswers(venue).flatMap((message) => {
    const answer = readReference(venue, message);
    return answer === null ? [] : [{ message, answer }];
  });

/** The fault of a listing's element; null when there is none. */
const findFault = (venue: Venue, { message, answer }: Answered, symbol: string): string | null => {
  const text = answer.elements().get(symbol);
  if (text === undefined) return `${symbol} has no element`;
  if (!text.startsWith('{') || !text.endsWith('}')) return `${symbol} is cut wrongly`;
  const raw = Buffer.from(message.payload).toString();
  if (!raw.includes(text)) return `${symbol} is not the text of the answer`;
  const expected = elementIn(venue, raw, symbol);
  return JSON.stringify(JSON.parse(text)) === JSON.stringify(expected) ? null : `${symbol} is another element`;
};

/** Each listing parses its whole answer again: of many a few are looked at. */
const chooseSample = <T>(all: readonly T[]): readonly T[] => all.filter((_, i) => i % Math.ceil(all.length / 12) === 0);

for (const venue of venues.values())
  t.test(`${venue.id}: the element of a listing is exactly its text in the answer`, (t) => {
    const answers = listReferences(venue);
    const symbols = answers.flatMap((answered) => answered.answer.listings.map(({ venue_symbol }) => venue_symbol));
    t.ok(symbols.length > 0, 'there are listings');
    for (const answered of answers) {
      const faults = chooseSample(answered.answer.listings).map(({ venue_symbol }) =>
        findFault(venue, answered, venue_symbol),
      );
      t.same(
        faults.filter((fault) => fault !== null),
        [],
        answered.message.request ?? answered.message.kind,
      );
    }
    t.end();
  });

t.test('bybit: a listing before its launch keeps the element of its own answer until the market has one', (t) => {
  const bybit = venues.get('bybit') as Venue;
  const [recorded] = listReferences(bybit);
  const url = 'GET https://api.bybit.com/v5/market/instruments-info?category=linear';
  const state = {};
  const readAnswer = (symbols: readonly string[], query: string): ReferenceAnswer | null => {
    const text = recorded?.answer.elements().get('BTCUSDT') ?? '';
    const list = symbols.map((symbol) => text.replace('"symbol":"BTCUSDT"', `"symbol" : "${symbol}"`)).join();
    const payload = Buffer.from(`{"retCode":0,"result":{"category":"linear","list":[${list}]},"time":1672712495660}`);
    return bybit.mapReference(state, { kind: 'response', received_at: 0, request: `${url}${query}`, payload });
  };
  t.equal(readAnswer(['EARLYUSDT', 'BTCUSDT'], '&status=PreLaunch'), null);
  const kept = JSON.parse(JSON.stringify(state));
  t.same(kept, state, 'what is held is plain data');
  const answer = readAnswer(['BTCUSDT'], '');
  t.same(
    answer?.listings.map(({ venue_symbol }) => venue_symbol),
    ['BTCUSDT', 'EARLYUSDT'],
  );
  t.match(answer?.elements().get('EARLYUSDT'), '{"symbol" : "EARLYUSDT",');
  t.end();
});

t.test("digits, spaces and the order of members are the venue's", (t) => {
  const one = '{ "price" : 0.10,\n\t"size": 1e-7, "id":12345678901234567890, "name": "A\\"}{B" }';
  const two = '{"name":"B","inner":{"name":"C","levels":[{"size":1.0}]}}';
  const payload = Buffer.from(`{"list":[${one},${two},{"name":7},{"other":"name"}],"name":"whole"}`);
  const found = splitElements(payload, 'name');
  t.same([...found.keys()].toSorted(), ['A"}{B', 'B', 'C', 'whole']);
  t.equal(found.get('A"}{B'), one);
  t.equal(found.get('B'), two);
  t.equal(found.get('C'), '{"name":"C","levels":[{"size":1.0}]}');
  t.equal(found.get('whole'), payload.toString(), 'each object that contains a name');
  t.end();
});

t.test('of objects with the same name the outermost is the element, of those the first', (t) => {
  const inner = '{"of":{"name":"A"},"name":"A"}';
  t.equal(splitElements(Buffer.from(`[${inner},{"name":"A","n":2}]`), 'name').get('A'), inner);
  t.end();
});

t.test('a part of a bigger buffer is read as what it is', (t) => {
  const bytes = new Uint8Array(Buffer.from('xx[{"name":"é"}]yy')).subarray(2, -2);
  t.same([...splitElements(bytes, 'name')], [['é', '{"name":"é"}']]);
  t.end();
});

t.test('any answer gives each element as it was written', (t) => {
  const member = fc.tuple(fc.string(), fc.json({ maxDepth: 3 })).map(([key, text]) => [`k${key}`, text] as const);
  const spaces = fc.constantFrom('', ' ', '\n  ');
  const elements = fc.uniqueArray(fc.tuple(fc.string(), fc.array(member, { maxLength: 3 }), spaces, fc.nat(3)), {
    selector: ([name]) => name,
  });
  fc.assert(
    fc.property(elements, (made) => {
      const texts = made.map(([name, members, space, at]) => {
        const written = members.map(([key, text]) => `${JSON.stringify(key)}${space}:${text}`);
        return `{${written.toSpliced(at, 0, `"name"${space}:${space}${JSON.stringify(name)}`).join(`,${space}`)}}`;
      });
      const found = splitElements(Buffer.from(`{"data" : [${texts.join(', ')}]}`), 'name');
      return made.every(([name], i) => found.get(name) === texts[i]);
    }),
    { numRuns: 500 },
  );
  t.end();
});
