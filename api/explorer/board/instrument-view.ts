// The page of an instrument as an address: which stretch of time, whose candles and book; read from it and written back the same.

export const RANGES = [
  { id: '15m', label: '15 min', spanMs: 900_000, intervalMs: 10_000, interval: '10s', timeframe: '1m' },
  { id: '1h', label: '1 hour', spanMs: 3_600_000, intervalMs: 30_000, interval: '30s', timeframe: '1m' },
  { id: '6h', label: '6 hours', spanMs: 21_600_000, intervalMs: 60_000, interval: '1m', timeframe: '5m' },
  { id: '24h', label: '24 hours', spanMs: 86_400_000, intervalMs: 300_000, interval: '5m', timeframe: '15m' },
  { id: '7d', label: '7 days', spanMs: 604_800_000, intervalMs: 1_800_000, interval: '30m', timeframe: '1h' },
] as const;
type RangeId = (typeof RANGES)[number]['id'];
export type HistoryRange = (typeof RANGES)[number];

export const parseRange = (id: string | null | undefined): HistoryRange =>
  RANGES.find((range) => range.id === id) ?? RANGES[0];

/** The sampling window of stored history of a layer: no interval is shorter. */
export const WINDOW_MS: Readonly<Record<string, number>> = { mark: 10_000, funding: 60_000, oi: 10_000, book: 10_000 };

/** Every stored row of a longer range is more than an answer may hold. */
export const RAW_SPAN_MS = 3_600_000;

export type InstrumentView = {
  readonly range: RangeId;
  /** Every stored row, with those that came late; otherwise one a period. */
  readonly isRaw: boolean;
  /** `venue|symbol` of candles and book; null: the first. */
  readonly listing: string | null;
  readonly price: 'trade' | 'mark' | 'index';
};

const PRICES = ['trade', 'mark', 'index'] as const;

export const readInstrumentView = (query: URLSearchParams): InstrumentView => {
  const range = parseRange(query.get('range'));
  return {
    range: range.id,
    isRaw: query.get('rows') === 'stored' && range.spanMs <= RAW_SPAN_MS,
    listing: query.get('listing'),
    price: PRICES.find((price) => price === query.get('price')) ?? 'trade',
  };
};

/** The shortest address of a view of the page at `path`. */
export const toInstrumentAddress = (path: string, { range, isRaw, listing, price }: InstrumentView): string => {
  const query = new URLSearchParams();
  if (range !== RANGES[0].id) query.set('range', range);
  if (isRaw) query.set('rows', 'stored');
  if (listing !== null) query.set('listing', listing);
  if (price !== 'trade') query.set('price', price);
  const text = String(query);
  return text === '' ? path : `${path}?${text}`;
};

export type ChartSpec = {
  readonly id: string;
  readonly label: string;
  readonly layer: 'mark' | 'funding' | 'oi' | 'book';
  readonly member: string;
  /** Of quantities, so that the lines of venues with other units share an axis. */
  readonly units?: 'base';
  /** A price of what the listing is of: of 1000PEPE it is a thousand times that of PEPE. */
  readonly isPrice?: true;
};

export const CHARTS: readonly ChartSpec[] = [
  { id: 'mark', label: 'Mark price', layer: 'mark', member: 'mark', isPrice: true },
  { id: 'index', label: 'Index price', layer: 'mark', member: 'index', isPrice: true },
  { id: 'funding', label: 'Funding, 8 h', layer: 'funding', member: 'funding_8h' },
  { id: 'oi', label: 'Open interest', layer: 'oi', member: 'oi', units: 'base' },
  { id: 'spread', label: 'Spread', layer: 'book', member: 'spread' },
];
