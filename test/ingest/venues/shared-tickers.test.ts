// A coin and a share that have one ticker are two instruments (V-04, D-1177). The rows are those the venues published in September 2026, their rules
// left out: https://github.com/belyjelli/ai-rates (`packages/adapters/__fixtures__`).
import t from 'tap';
import { aster } from '../../../ingest/venues/aster/index.ts';
import { binance } from '../../../ingest/venues/binance/index.ts';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { gate } from '../../../ingest/venues/gate/index.ts';
import { htx } from '../../../ingest/venues/htx/index.ts';
import { kucoin } from '../../../ingest/venues/kucoin/index.ts';
import { okx } from '../../../ingest/venues/okx/index.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const listCodes = (venue: Venue, url: string, body: unknown): readonly unknown[] =>
  (venue.mapReference({}, venueBench(venue).answer(`GET ${url}`, body))?.listings ?? []).map(
    ({ venue_symbol, values: { instrument, base, base_venue_alias, multiplier } }) => [
      venue_symbol,
      instrument,
      base,
      base_venue_alias,
      multiplier,
    ],
  );

/** A row of Binance and Aster, whose base is quoted in USDT. */
const toUsdt = (base: string, members: object) => ({
  symbol: `${base}USDT`,
  status: 'TRADING',
  contractType: 'PERPETUAL',
  baseAsset: base,
  quoteAsset: 'USDT',
  ...members,
});

t.test('Binance has Caterpillar and a thousand CAT, Aster the coin RTX and no shared ticker of a share', (t) => {
  const symbols = [
    toUsdt('CAT', { contractType: 'TRADIFI_PERPETUAL', underlyingType: 'EQUITY', underlyingSubType: ['TradFi'] }),
    toUsdt('1000CAT', { underlyingType: 'COIN', underlyingSubType: ['Meme', 'Crypto'] }),
    toUsdt('BB', { underlyingType: 'COIN', underlyingSubType: ['Layer-1', 'Crypto'] }),
    toUsdt('TSLA', { contractType: 'TRADIFI_PERPETUAL', underlyingType: 'EQUITY', underlyingSubType: ['TradFi'] }),
  ];
  t.same(listCodes(binance, 'https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols }), [
    ['CATUSDT', 'CAT2-PERP', 'CAT2', 'CAT', '1'],
    ['1000CATUSDT', 'CAT-PERP', 'CAT', '1000CAT', '1000'],
    ['BBUSDT', 'BB-PERP', 'BB', null, '1'],
    ['TSLAUSDT', 'TSLA-PERP', 'TSLA', null, '1'],
  ]);
  const ofAster = [
    toUsdt('RTX', { underlyingType: 'COIN', underlyingSubType: [], symbolType: 0 }),
    toUsdt('BBX', { underlyingType: 'COIN', underlyingSubType: ['STOCK'], symbolType: 1 }),
    toUsdt('CAT', { underlyingType: 'COIN', underlyingSubType: ['STOCK'], symbolType: 1 }),
  ];
  t.same(listCodes(aster, 'https://fapi.asterdex.com/fapi/v3/exchangeInfo', { symbols: ofAster }), [
    ['RTXUSDT', 'RTX-PERP', 'RTX', null, '1'],
    ['BBXUSDT', 'BBX-PERP', 'BBX', null, '1'],
    ['CATUSDT', 'CAT2-PERP', 'CAT2', 'CAT', '1'],
  ]);
  t.end();
});

t.test('BB and ON are shares at OKX, ON is one at Bybit, where BB is the coin', (t) => {
  const toSwap = (base: string, instCategory: string) => ({
    instId: `${base}-USDT-SWAP`,
    instFamily: `${base}-USDT`,
    ctVal: '1',
    ctValCcy: base,
    ctMult: '1',
    instCategory,
    category: '1',
    state: 'live',
  });
  const data = [toSwap('BB', '3'), toSwap('ON', '3'), toSwap('STX', '1'), toSwap('US500', '3'), toSwap('XAU', '4')];
  t.same(listCodes(okx, 'https://www.okx.com/api/v5/public/instruments?instType=SWAP', { code: '0', msg: '', data }), [
    ['BB-USDT-SWAP', 'BB2-PERP', 'BB2', 'BB', '1'],
    ['ON-USDT-SWAP', 'ON2-PERP', 'ON2', 'ON', '1'],
    ['STX-USDT-SWAP', 'STX-PERP', 'STX', null, '1'],
    ['US500-USDT-SWAP', 'US500-PERP', 'US500', null, '1'],
    ['XAU-USDT-SWAP', 'XAU-PERP', 'XAU', null, '1'],
  ]);
  const toLinear = (baseCoin: string, symbolType: string) => ({
    symbol: `${baseCoin}USDT`,
    contractType: 'LinearPerpetual',
    status: 'Trading',
    baseCoin,
    quoteCoin: 'USDT',
    symbolType,
  });
  const list = [toLinear('BB', ''), toLinear('ON', 'stock'), toLinear('PURR', 'stock'), toLinear('XAU', 'commodity')];
  const answer = { retCode: 0, retMsg: 'OK', result: { category: 'linear', list } };
  t.same(listCodes(bybit, 'https://api.bybit.com/v5/market/instruments-info?category=linear&limit=1000', answer), [
    ['BBUSDT', 'BB-PERP', 'BB', null, '1'],
    ['ONUSDT', 'ON2-PERP', 'ON2', 'ON', '1'],
    ['PURRUSDT', 'PURR2-PERP', 'PURR2', 'PURR', '1'],
    ['XAUUSDT', 'XAU-PERP', 'XAU', null, '1'],
  ]);
  t.end();
});

t.test('the other venues that name the class of a base', (t) => {
  const contracts = [
    { name: 'BB_USDT', type: 'direct', quanto_multiplier: '1', contract_type: '' },
    { name: 'CAT_USDT', type: 'direct', quanto_multiplier: '0.01', contract_type: 'stocks' },
  ];
  t.same(listCodes(gate, 'https://api.gateio.ws/api/v4/futures/usdt/contracts', contracts), [
    ['BB_USDT', 'BB-PERP', 'BB', null, '1'],
    ['CAT_USDT', 'CAT2-PERP', 'CAT2', 'CAT', '1'],
  ]);
  const toContract = (baseCoin: string, symbolType: string) => ({
    symbol: `${baseCoin}USDT`,
    category: 'USDT-FUTURES',
    baseCoin,
    quoteCoin: 'USDT',
    symbolType,
    type: 'perpetual',
    status: 'online',
  });
  const data = [toContract('ON', 'crypto'), toContract('RTX', 'stock')];
  const ofBitget = { code: '00000', msg: 'success', requestTime: 1789337067089, data };
  t.same(listCodes(bitget, 'https://api.bitget.com/api/v3/market/instruments?category=USDT-FUTURES', ofBitget), [
    ['ONUSDT', 'ON-PERP', 'ON', null, '1'],
    ['RTXUSDT', 'RTX2-PERP', 'RTX2', 'RTX', '1'],
  ]);
  const toFuture = (base: string, assetClass: string) => ({
    symbol: `${base}USDTM`,
    type: 'FFWCSX',
    status: 'Open',
    isInverse: false,
    baseCurrency: base,
    quoteCurrency: 'USDT',
    settleCurrency: 'USDT',
    multiplier: 10,
    assetClass,
  });
  const ofKucoin = {
    code: '200000',
    data: [toFuture('ON', 'CRYPTO'), toFuture('QNT', 'STOCK'), toFuture('BBX', 'STOCK')],
  };
  t.same(listCodes(kucoin, 'https://api-futures.kucoin.com/api/v1/contracts/active', ofKucoin), [
    ['ONUSDTM', 'ON-PERP', 'ON', null, '1'],
    ['QNTUSDTM', 'QNT2-PERP', 'QNT2', 'QNT', '1'],
    ['BBXUSDTM', 'BBX-PERP', 'BBX', null, '1'],
  ]);
  const toCode = (base: string, labels: readonly string[]) => ({
    contract_code: `${base}-USDT`,
    contract_size: 0.01,
    price_tick: 0.01,
    contract_status: 1,
    labels,
  });
  const ofHtx = {
    status: 'ok',
    data: [toCode('CAT', ['common']), toCode('ON', ['tradfi', 'stock'])],
    ts: 1789336869510,
  };
  t.same(listCodes(htx, 'https://api.hbdm.com/linear-swap-api/v1/swap_contract_info', ofHtx), [
    ['CAT-USDT', 'CAT-PERP', 'CAT', null, '1'],
    ['ON-USDT', 'ON2-PERP', 'ON2', 'ON', '1'],
  ]);
  t.end();
});
