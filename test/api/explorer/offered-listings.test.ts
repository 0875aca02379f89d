// What the proof page says of the listings of a day, of which a page of the archive may have a part.
import t from 'tap';
import { describeOffered, listOffered } from '../../../api/explorer/islands/offered-listings.ts';

const items = ['okx:BTC-USDT-SWAP', 'binance:BTCUSDT', 'binance:BTCUSDT'].map((listing) => ({
  listing,
  layer: 'mark',
}));

t.test('a page of the archive that others follow is not said to be all listings of the day', async (t) => {
  t.same(listOffered({ items, page: { next_cursor: null } }), ['binance:BTCUSDT', 'okx:BTC-USDT-SWAP']);
  t.equal(describeOffered({ items, page: { next_cursor: null } }), '2 of this table on this day.');
  t.match(
    describeOffered({ items, page: { next_cursor: 'c' } }),
    /^The first 2 of this table on this day are offered;/,
  );
});
