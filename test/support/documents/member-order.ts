// The documented order of a record's members (N-01), maps keyed by data by bytes (H-16a), and what of a record departs from it.
import { isJsonObject } from '../../../schemas/json-object.ts';

const COMMON = ['layer', 'venue', 'venue_symbol', 'venue_ts', 'received_at', 'values', 'src'];

/** Members of `values`, as the page on records lists them; the listing's are the interface's. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  ticker: ['last'],
  mark: ['mark', 'index'],
  funding: ['funding', 'funding_interval_ms', 'next_funding_at'],
  oi: ['oi', 'oi_unit'],
  book: ['kind', 'bids', 'asks', 'sequence'],
  assembled: ['bids', 'asks', 'sequence', 'collected_levels', 'bands'],
  stats: ['volume_24h', 'volume_unit', 'turnover_24h', 'change_24h'],
  trade: ['id', 'side', 'price', 'quantity', 'quantity_unit'],
  liquidation: ['id', 'side', 'price', 'price_kind', 'quantity', 'quantity_unit'],
  candle: [
    'open_time',
    'price_type',
    'timeframe',
    'open',
    'high',
    'low',
    'close',
    'volume',
    'volume_unit',
    'turnover',
    'trades',
    'closed',
  ],
  listing: [
    'instrument',
    'venue_symbol',
    'base',
    'quote',
    'base_venue_alias',
    'kind',
    'venue_kind',
    'pair',
    'post_only',
    'status',
    'contract_size',
    'multiplier',
    'tick_size',
    'lot_size',
    'min_qty',
    'min_notional',
    'price_decimals',
    'qty_decimals',
    'units',
    'quantity_unit',
    'funding_interval',
    'funding_interval_source',
    'funding_normalisation',
    'rules_normalisation',
    'candles',
    'not_published',
    'bands',
    'oi_sides',
    'listed_at',
    'delisted_at',
  ],
  gap: ['scope', 'cause', 'of'],
};

/** Objects within `values`. `null`: a map keyed by data. */
const NESTED: Readonly<Record<string, readonly string[] | null>> = {
  units: ['tick_size', 'lot_size', 'min_qty', 'min_notional', 'contract_size'],
  funding_normalisation: ['venue_field', 'transform'],
  rules_normalisation: null,
  'rules_normalisation.': ['venue_field', 'transform'],
  candles: ['base_timeframe', 'price_types', 'timeframes'],
  collected_levels: ['bids', 'asks'],
  bands: null,
  'bands.': ['reference', 'bid', 'ask', 'bid_value', 'ask_value', 'bid_levels', 'ask_levels', 'complete'],
  'bands..complete': ['bid', 'ask'],
};

type Printed = Readonly<Record<string, unknown>>;

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const findDisorder = (value: Printed, documented: readonly string[] | null, path: string): string | null => {
  const keys = Object.keys(value);
  const wanted = documented ?? keys.toSorted(byBytes);
  if (keys.join() !== wanted.join()) return `${path || 'the record'} has ${keys.join()} and not ${wanted.join()}`;
  return null;
};

const findNestedDisorder = (value: Printed, path: string): string | null => {
  for (const [key, member] of Object.entries(value)) {
    if (!isJsonObject(member)) continue;
    const isKeyedByData = path !== '' && NESTED[path.slice(0, -1)] === null;
    const name = `${path}${isKeyedByData ? '' : key}`;
    const documented = NESTED[name];
    if (documented === undefined) return `${name} is not documented`;
    const found = findDisorder(member, documented, name) ?? findNestedDisorder(member, `${name}.`);
    if (found !== null) return found;
  }
  return null;
};

/** The part of a printed line that is not in the documented order; null when none. */
export const findLineDisorder = (line: string): string | null => {
  const record = JSON.parse(line) as Printed;
  if (record.layer === 'error') return findDisorder(record, ['layer', 'venue', 'code', 'message'], '');
  const values = record.values as Printed;
  return (
    findDisorder(record, COMMON, '') ??
    findDisorder(record.src as Printed, ['file', 'line'], 'src') ??
    findValuesDisorder(String(record.layer), values) ??
    findNestedDisorder(values, '')
  );
};

/** The same of a record's values as a mapper gives them. */
export const findValuesDisorder = (layer: string, values: object): string | null => {
  const kind = layer === 'book' && 'bands' in values ? 'assembled' : layer;
  return findDisorder(values as Printed, VALUES[kind] ?? [], kind);
};
