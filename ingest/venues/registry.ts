// The list of venues: a new venue needs its folder and a line here.
export { aster } from './aster/index.ts';
export { binance } from './binance/index.ts';
export { bitget } from './bitget/index.ts';
export { bitmex } from './bitmex/index.ts';
export { bybit } from './bybit/index.ts';
export { deribit } from './deribit/index.ts';
export { dydx } from './dydx/index.ts';
export { gate } from './gate/index.ts';
export { htx } from './htx/index.ts';
export { hyperliquid } from './hyperliquid/index.ts';
export { krakenFutures } from './kraken-futures/index.ts';
export { kucoin } from './kucoin/index.ts';
export { mexc } from './mexc/index.ts';
export { okx } from './okx/index.ts';
