// Names of lanes that are too long for their place: cut so that no two listings read alike.
import t from 'tap';
import { shortenNames } from '../../../../api/explorer/chart/lane-names.ts';

/** As many letters as a phone has room for. */
const fitsPhone = (text: string): boolean => text.length <= 16;

t.test('a name that fits stays, and a longer one keeps the beginning of its venue and the end of its symbol', (t) => {
  t.same(shortenNames(['okx BTC-USD-SWAP', 'hyperliquid hyna:BTC', 'binance BTCUSD_PERP'], fitsPhone), [
    'okx BTC-USD-SWAP',
    'hyp…uid hyna:BTC',
    'bin… BTCUSD_PERP',
  ]);
  t.end();
});

t.test('names that would be cut alike keep the beginning of their symbol', (t) => {
  const names = ['deribit BTC-PERPETUAL', 'deribit BTC_USDC-PERPETUAL', 'okx BTC-USD-SWAP'];
  t.same(
    shortenNames(names, (text) => text.length <= 13),
    ['der BTC-PERP…', 'der BTC_USDC…', 'okx…-USD-SWAP'],
  );
  t.end();
});

t.test('venues that begin alike are told apart', (t) => {
  const names = ['bitget BTCUSDT', 'bitmex BTCUSDT', 'binance BTCUSDT', 'okx BTC-USDT-SWAP'];
  for (const room of [10, 11, 12, 13, 14]) {
    const shown = shortenNames(names, (text) => text.length <= room);
    t.equal(new Set(shown).size, names.length, `${room}: ${shown.join(', ')}`);
    t.same(
      shown.filter((text) => text.length > room),
      [],
    );
  }
  t.end();
});

t.test('where nothing fits, one letter of the symbol is left', (t) => {
  t.same(
    shortenNames(['okx BTC-USDT-SWAP', 'okx ETH-USDT-SWAP'], () => false),
    ['okx B…', 'okx E…'],
  );
  t.end();
});
