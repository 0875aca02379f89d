// Deribit's instruments as listings (records.md, V-02 to V-04).
import type { ListingRecord, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readListings } from '../shared/listing-rows.ts';
import { makeListingValues } from '../shared/listing-values.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import {
  type Fields,
  isAbsent,
  isFields,
  makeWords,
  parseRequest,
  readCountOrNull,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { isLinear, isPerpetual } from './symbols.ts';

/** An instrument without an end expires in the year 3000; ours end in 2100. */
const NO_END_MS = 4_102_444_800_000;

/** `get_instruments` of a currency, or of `any`, and `get_instrument`; recognised by a row's members, which no other answer has. */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  if (message.kind !== 'response') return null;
  return readMessage(message.payload, (body) => {
    if (!isFields(body)) return null;
    const { result } = body;
    const rows: readonly unknown[] = Array.isArray(result) ? result : [result];
    if (!rows.some(isInstrument)) return null;
    const stamps = { sentAt: readCountOrNull(body.usOut, 'usOut') || null, receivedAt: message.received_at };
    const currency = parseRequest(message.request)?.query.get('currency')?.toUpperCase() ?? 'ANY';
    return {
      scope: isFields(result) ? `instrument ${String(result.instrument_name)}` : currency,
      ...readListings({ rows, name: 'instrument_name' }, (row) => (isListed(row) ? toListing(row, stamps) : null)),
      elements: () => splitElements(message.payload, 'instrument_name'),
    };
  });
};

const isInstrument = (row: unknown): boolean =>
  isFields(row) && 'instrument_name' in row && 'expiration_timestamp' in row && 'tick_size' in row;

/** Kinds other than perpetual; for any other kind, known or not, the name decides. */
const OTHER_KINDS: ReadonlySet<unknown> = new Set(['option', 'spot', 'future_combo', 'option_combo']);
const DATED_PERIODS: ReadonlySet<unknown> = new Set(['day', 'week', 'month']);

const isListed = ({ kind, settlement_period, instrument_name }: Fields): boolean =>
  isPerpetual(String(instrument_name)) && !OTHER_KINDS.has(kind) && !DATED_PERIODS.has(settlement_period);

/** `usOut` is in microseconds. */
type Stamps = { readonly sentAt: Micros | null; readonly receivedAt: Micros };

const toListing = (instrument: Fields, { sentAt, receivedAt }: Stamps): ListingRecord => {
  const venue_symbol = readText(instrument.instrument_name, 'instrument_name');
  return {
    layer: 'listing',
    venue: 'deribit',
    venue_symbol,
    venue_ts: sentAt,
    received_at: receivedAt,
    values: toValues(instrument, venue_symbol),
  };
};

/** The venue's status since 2025; a flag before. A locked book takes cancellations only. */
const STATUSES = makeWords({
  open: 'tradeable',
  locked: 'cancel_only',
  halted: 'halted',
  inactive: 'halted',
  settlement: 'settling',
  delivered: 'delisted',
  closed: 'delisted',
  archivized: 'delisted',
});

const readStatus = ({ kind, settlement_period, state, is_active }: Fields): string => {
  if (kind !== 'future' || settlement_period !== 'perpetual') return 'unknown';
  if (!isAbsent(state)) return STATUSES[String(state)] ?? 'unknown';
  if (is_active === true) return 'tradeable';
  return is_active === false ? 'halted' : 'unknown';
};

const readKind = ({ instrument_type, future_type }: Fields, symbol: string): 'linear' | 'inverse' => {
  const type = instrument_type ?? future_type;
  if (type === 'linear') return 'linear';
  return type === 'reversed' || !isLinear(symbol) ? 'inverse' : 'linear';
};

const toValues = (instrument: Fields, venue_symbol: string): ListingValues => {
  // `1000BONK_USDC-PERPETUAL` is priced and sized in thousands (V-04).
  const asset = readText(instrument.base_currency, 'base_currency').toUpperCase();
  const venue_kind = readKind(instrument, venue_symbol);
  const endMs = readCountOrNull(instrument.expiration_timestamp, 'expiration_timestamp') || NO_END_MS;
  return makeListingValues({
    venue_symbol,
    asset,
    ...splitMultiplier(asset),
    venue_kind,
    contract_size: '1',
    // Amounts are multiples of the venue's contract size: it is the step, not the worth of one unit.
    lot_size: readRuleOrNull('lot_size', instrument.contract_size, 'contract_size'),
    tick_size: readRuleOrNull('tick_size', instrument.tick_size, 'tick_size'),
    min_qty: readRuleOrNull('min_qty', instrument.min_trade_amount, 'min_trade_amount'),
    quote: readText(instrument.quote_currency, 'quote_currency').toUpperCase(),
    pair: isAbsent(instrument.price_index) ? null : readText(instrument.price_index, 'price_index'),
    status: readStatus(instrument),
    quantity_unit: venue_kind === 'linear' ? 'base' : 'quote',
    // Funding accrues continuously; the rate is stated for eight hours.
    funding_interval: '8h',
    funding_interval_source: 'documented',
    funding_normalisation: { venue_field: 'current_funding', transform: 'identity' },
    rules_normalisation: {
      tick_size: { venue_field: 'tick_size', transform: 'identity' },
      lot_size: { venue_field: 'contract_size', transform: 'identity' },
      min_qty: { venue_field: 'min_trade_amount', transform: 'identity' },
    },
    price_types: ['trade'],
    not_published: ['next_funding_at', 'min_notional', 'price_decimals', 'qty_decimals'],
    listed_at: readMsOrNull(instrument.creation_timestamp, 'creation_timestamp'),
    delisted_at: endMs >= NO_END_MS ? null : endMs * 1000,
  });
};
