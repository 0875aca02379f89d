// The registry of venues: adding one is its file and its line here.
import type { Venue } from '../venue.ts';
import { binance } from './binance.ts';
import { bybit } from './bybit.ts';
import { deribit } from './deribit.ts';
import { hyperliquid } from './hyperliquid.ts';
import { krakenFutures } from './kraken-futures.ts';
import { okx } from './okx.ts';

export const venues: ReadonlyMap<string, Venue> = new Map(
  [binance, bybit, deribit, hyperliquid, krakenFutures, okx].map((venue) => [venue.id, venue]),
);
