// Unknown codes of a selection: the first twenty are told, and only those cost a search for what was meant (S-04, E-05).
import t from 'tap';
import { readSelectionText } from '../../../api/language/where-text.ts';
import { type Directory, findDirectory } from '../../../api/selection/directory.ts';
import { resolveNames } from '../../../api/selection/resolve.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { Feed, listing, listingValues } from '../../support/apps/live-fixture.ts';

/** Counts the names that are looked up in it. */
class CountedMap extends Map<string, string> {
  looked = 0;
  override get(name: string): string | undefined {
    this.looked += 1;
    return super.get(name);
  }
}

const makeDirectory = () => {
  // For each unknown base whose error is written, one instrument is looked for.
  const instrument = new CountedMap([['BTC-PERP', 'BTC-PERP']]);
  const [base, venue, quote] = ['BTC', 'binance', 'USDT'].map((code) => new Map([[code, code]]));
  const directory = { version: 1, codes: { instrument, base, venue, quote }, listings: [] } as unknown as Directory;
  return { directory, instrument };
};

const listErrors = (text: string, directory: Directory) => {
  try {
    resolveNames(readSelectionText(text).selection, directory);
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.errors;
  }
};

t.test('a list of a thousand unknown codes costs what its first twenty cost', async (t) => {
  const { directory, instrument } = makeDirectory();
  const codes = Array.from({ length: 1_000 }, (_, i) => `X${i}`);
  const errors = listErrors(`base in (BTC, ${codes.join(', ')})`, directory);
  t.same(
    errors.map(({ message }) => message.split(' ')[0]),
    codes.slice(0, 20).map((code) => `"${code}"`),
  );
  t.equal(instrument.looked, 20);
});

t.test('of several keys the first in the text are told, whatever the order of keys', async (t) => {
  const { directory } = makeDirectory();
  const many = Array.from({ length: 15 }, (_, i) => `X${i}`).join(', ');
  const errors = listErrors(`quote in (${many}) and instrument in (${many})`, directory);
  t.same(
    errors.map(({ code }) => code),
    [...Array(15).fill('DQL_UNKNOWN_CURRENCY'), ...Array(5).fill('DQL_UNKNOWN_INSTRUMENT')],
  );
});

t.test('known codes have the spelling of the catalogue', async (t) => {
  const { directory } = makeDirectory();
  const { selection } = readSelectionText('venue = BINANCE and base = btc');
  const names = resolveNames(selection, directory);
  t.same([names.venue?.[0]?.code, names.base?.[0]?.code, names.quote], ['binance', 'BTC', undefined]);
});

t.test('listings are in the order of venue and symbol by bytes, however they came (N-09)', async (t) => {
  const inOrder = ['1000PEPEUSDT', 'BTCUSDC', 'BTCUSDT', 'ETHUSDT', 'btcusdt', '\uff61USDT', '\u{1f600}USDT'];
  const feed = new Feed(['okx', 'binance']);
  for (const venue of ['okx', 'binance'])
    for (const venue_symbol of inOrder.toReversed()) feed.list(listing(venue, listingValues({ venue_symbol })));
  t.same(
    findDirectory(feed.memory).listings.map(({ venue, venueSymbol }) => [venue, venueSymbol]),
    ['binance', 'okx'].flatMap((venue) => inOrder.map((symbol) => [venue, symbol])),
  );
});
