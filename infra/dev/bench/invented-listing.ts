// A listing that a bench invents: linear, quoted in USDT, counted in its base.
import type { Micros } from '../../../schemas/records.ts';
import type { ListingVersion } from '../../../schemas/topics.ts';

export type Listed = { readonly venue: string; readonly symbol: string; readonly base: string };

/** Its only version, written when it was first seen. */
export const makeInventedVersion = ({ venue, symbol, base }: Listed, writtenAt: Micros): ListingVersion => {
  const values = {
    ...{ instrument: `${base}-PERP`, venue_symbol: symbol, base, quote: 'USDT', base_venue_alias: null },
    ...{ kind: 'perpetual', venue_kind: 'linear', pair: null, post_only: null, status: 'tradeable' },
    ...{ contract_size: '1', multiplier: '1', tick_size: '0.1', lot_size: '0.001', min_qty: '0.001' },
    ...{ min_notional: '5', price_decimals: 1, qty_decimals: 3, quantity_unit: 'base', funding_interval: '8h' },
    units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
    ...{ funding_interval_source: 'venue', funding_normalisation: { venue_field: 'r', transform: 'identity' } },
    ...{ rules_normalisation: {}, not_published: [], bands: [], oi_sides: 'one', listed_at: null, delisted_at: null },
    candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: ['1m'] },
  };
  const record = { layer: 'listing', venue, venue_symbol: symbol, venue_ts: null, received_at: writtenAt, values };
  return {
    venue,
    venue_symbol: symbol,
    written_at: writtenAt,
    first_seen_at: writtenAt,
    delisted_at: null,
    record,
    raw: null,
  } as ListingVersion;
};
