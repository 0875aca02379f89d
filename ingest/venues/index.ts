// The registry of venues: adding one is its file and its line here.
import type { Venue } from '../venue.ts';
import { aster } from './aster/index.ts';
import { binance } from './binance/index.ts';
import { bitget } from './bitget/index.ts';
import { bitmex } from './bitmex/index.ts';
import { bybit } from './bybit/index.ts';
import { deribit } from './deribit/index.ts';
import { dydx } from './dydx/index.ts';
import { gate } from './gate/index.ts';
import { htx } from './htx/index.ts';
import { hyperliquid } from './hyperliquid/index.ts';
import { krakenFutures } from './kraken-futures/index.ts';
import { kucoin } from './kucoin/index.ts';
import { mexc } from './mexc/index.ts';
import { okx } from './okx/index.ts';

export const venues: ReadonlyMap<string, Venue> = new Map(
  [aster, binance, bitget, bitmex, bybit, deribit, dydx, gate, htx, hyperliquid, krakenFutures, kucoin, mexc, okx].map(
    (venue) => [venue.id, venue],
  ),
);
