// The directory of the explorer over an API of one page: how long what was read is kept.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Site } from '../../../api/account-app/site.ts';
import { openDirectory } from '../../../api/explorer/directory.ts';

const LISTING = {
  ...{ instrument: 'BTC-PERP', base: 'BTC', quote: 'USDT', venue: 'binance', venue_symbol: 'BTCUSDT' },
  ...{ base_venue_alias: null, multiplier: 1, status: 'trading' },
};
const LISTINGS = [
  LISTING,
  { ...LISTING, venue_symbol: 'XBTUSDT', base_venue_alias: 'XBT' },
  { ...LISTING, base: 'PEPE', venue_symbol: '1000PEPEUSDT', base_venue_alias: '1000PEPE', multiplier: 1000 },
  { ...LISTING, base: 'MOG', venue_symbol: 'MOGUSDT', multiplier: null },
];

const startApi = async (t: { teardown: (end: () => void) => void }) => {
  let pages = 0;
  const server = createServer(({ url = '' }, response) => {
    const isListings = url.startsWith('/v2/instruments');
    if (isListings) pages += 1;
    const items = isListings ? LISTINGS : [{ venue: 'binance', name: 'Binance' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ items, page: { next_cursor: null } }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return { api: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, readPages: () => pages };
};

t.test('it is read anew after a minute, and after the clock was set back', async (t) => {
  const { api, readPages } = await startApi(t);
  let nowMs = 1_000_000_000;
  const read = openDirectory({ urls: { api }, nowMs: () => nowMs } as unknown as Site);
  t.match(await read(), { listings: [{ instrument: 'BTC-PERP' }] });
  nowMs += 59_999;
  await read();
  t.equal(readPages(), 1, 'kept for a minute');
  nowMs += 1;
  await read();
  t.equal(readPages(), 2);
  nowMs -= 3_600_000;
  await read();
  t.equal(readPages(), 3, 'what was read an hour from now may be of any age');
});

t.test('a quantity is a number of the base only where one listed unit is one of it (V-04, N-07)', async (t) => {
  const { api } = await startApi(t);
  const { listings } = await openDirectory({ urls: { api }, nowMs: () => 0 } as unknown as Site)();
  t.same(
    listings.map(({ asset }) => asset),
    ['BTC', 'BTC', '1000PEPE', 'MOGUSDT'],
  );
});
