// The simulated venues: one line each.
import type { SimulatedVenue } from '../venue.ts';
import { binance } from './binance/binance.ts';
import { bybit } from './bybit/bybit.ts';
import { deribit } from './deribit/deribit.ts';
import { hyperliquid } from './hyperliquid/hyperliquid.ts';
import { okx } from './okx/okx.ts';

export const simulatedVenues: readonly SimulatedVenue[] = [binance, bybit, okx, hyperliquid, deribit];
