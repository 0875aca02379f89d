// The registry of venues: adding one is its file and its line here.
import type { Venue } from '../venue.ts';
import { aster } from './aster.ts';
import { binance } from './binance.ts';
import { bitget } from './bitget.ts';
import { bitmex } from './bitmex.ts';
import { bybit } from './bybit.ts';
import { deribit } from './deribit.ts';
import { dydx } from './dydx.ts';
import { gate } from './gate.ts';
import { htx } from './htx.ts';
import { hyperliquid } from './hyperliquid.ts';
import { krakenFutures } from './kraken-futures.ts';
import { kucoin } from './kucoin.ts';
import { mexc } from './mexc.ts';
import { okx } from './okx.ts';

export const venues: ReadonlyMap<string, Venue> = new Map(
  [aster, binance, bitget, bitmex, bybit, deribit, dydx, gate, htx, hyperliquid, krakenFutures, kucoin, mexc, okx].map(
    (venue) => [venue.id, venue],
  ),
);
