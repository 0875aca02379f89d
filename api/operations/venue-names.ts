// Public names of venues by code (V-01): what an answer calls a venue; everything else about it stands in its own file.
const NAMES: Readonly<Record<string, string>> = {
  ascendex: 'AscendEX',
  aster: 'Aster',
  binance: 'Binance',
  bingx: 'BingX',
  bitfinex: 'Bitfinex',
  bitget: 'Bitget',
  bitmex: 'BitMEX',
  blofin: 'BloFin',
  bullish: 'Bullish',
  bybit: 'Bybit',
  'coinbase-intl': 'Coinbase International',
  coinex: 'CoinEx',
  cryptocom: 'Crypto.com',
  delta: 'Delta Exchange',
  deribit: 'Deribit',
  dydx: 'dYdX',
  gate: 'Gate',
  htx: 'HTX',
  hyperliquid: 'Hyperliquid',
  'kraken-futures': 'Kraken Futures',
  kucoin: 'KuCoin',
  lighter: 'Lighter',
  mexc: 'MEXC',
  okx: 'OKX',
  phemex: 'Phemex',
  whitebit: 'WhiteBIT',
  woox: 'WOO X',
  xt: 'XT.COM',
};

/** The public name; the code itself for a venue without one. */
export const venueName = (code: string): string => (Object.hasOwn(NAMES, code) ? NAMES[code] : undefined) ?? code;
