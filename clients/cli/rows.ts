// Answers of the API as flat rows, for tables and CSV; figures keep their digits.
import {
  type AgentStateAnswer,
  type ArchiveFile,
  type Book,
  type CandlesAnswer,
  type DqlCatalogueAnswer,
  figuresOf,
  type HistoryAnswer,
  type LiquidationsAnswer,
  type Listing,
  type ScreenAnswer,
  type SnapshotsAnswer,
  type Venue,
} from '../typescript/src/index.ts';
import { type Cell, type Row, UNIT_OF } from './output.ts';

type Values = { readonly [name: string]: string | null };
type Units = { readonly [name: string]: string | null | undefined };
const COUNT = 3;

/** A row and the units of its figures, in columns as the tables of the API have them. */
const withUnits = (row: Row, units: Units): Row => ({
  ...row,
  ...Object.fromEntries(
    Object.entries(units)
      .filter(([name]) => name in row)
      .map(([name, unit]) => [`${UNIT_OF}${name}`, unit]),
  ),
});

export const formatSeconds = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)}s`;

const findWhy = ({ reason, gap_cause }: { readonly reason?: string; readonly gap_cause?: string }): Cell =>
  gap_cause ?? reason ?? null;

export const toVenueRows = (items: readonly Venue[]): Row[] =>
  items.map(({ venue, name, state, state_since, listings, listings_collected }) => ({
    ...{ venue, name, state, since: state_since, listings, collected: listings_collected },
  }));

export const toListingRows = (items: readonly Listing<string>[]): Row[] =>
  items.map(({ venue, venue_symbol: symbol, instrument, quote, status, units, ...one }) => {
    const { tick_size, lot_size, quantity_unit, contract_size, funding_interval } = one;
    return withUnits(
      {
        ...{ venue, symbol, instrument, quote, status },
        ...{ tick_size, lot_size, quantity_unit, contract_size, funding_interval },
      },
      units,
    );
  });

/** One row a listing and layer. */
export const toSnapshotRows = ({ items }: SnapshotsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, instrument, layers }) =>
    Object.entries(layers).map(([layer, one]) => {
      const names = { venue, symbol, instrument, layer, status: one.status, why: findWhy(one) };
      return withUnits({ ...names, age: formatSeconds(one.venue_age_ms ?? one.age_ms), ...figuresOf(one) }, one.units);
    }),
  );

export const toHistoryRows = ({ items }: HistoryAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, layers }) =>
    Object.entries(layers).flatMap(([layer, { rows, units }]) =>
      rows.map((one) => {
        const names = { at: one.at, venue, symbol, layer, status: one.status, why: findWhy(one) };
        return withUnits({ ...names, received_at: one.received_at, ...figuresOf(one) }, units);
      }),
    ),
  );

export const toCandleRows = ({ items }: CandlesAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, units, rows }) =>
    rows.map(({ open_time, status, open, high, low, close, volume, turnover, trades, ...one }) => {
      const names = { open_time, venue, symbol, status, why: findWhy(one) };
      return withUnits({ ...names, open, high, low, close, volume, turnover, trades }, units);
    }),
  );

export const toLiquidationRows = ({ items }: LiquidationsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, completeness, units, rows }) =>
    rows.map(({ received_at, side, price, price_kind, quantity, value, id }) => {
      const names = { received_at, venue, symbol, status: 'present', why: null, gap_to: null, completeness };
      return withUnits({ ...names, side, price, price_kind, quantity, value, id }, units);
    }),
  );

/** Stretches in which some may be missing, each a row at its beginning. Every page has those of the whole window. */
export const toLiquidationGapRows = ({ items }: LiquidationsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, completeness, gaps }) =>
    gaps.map(({ from, to, gap_cause }) => ({
      ...{ received_at: from, venue, symbol, status: 'missing', why: gap_cause, gap_to: to, completeness },
    })),
  );

/** Venues that do not publish every liquidation; empty when each does. */
export const describeCompleteness = ({ items }: LiquidationsAnswer<string>): string => {
  const partly = items.filter(({ completeness }) => completeness !== 'full');
  const words = new Set(partly.map(({ venue, completeness }) => `${venue} (${completeness})`));
  return words.size === 0 ? '' : `; not complete: ${[...words].join(', ')}`;
};

/** One row a level, the best ones first. */
export const toBookRows = (items: readonly Book<string>[]): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, status, bids, asks, size_unit: size, ...one }) => {
    const names = { venue, symbol, status, why: findWhy(one), age: formatSeconds(one.venue_age_ms ?? one.age_ms) };
    const units = { bid_size: size, bid: 'quote', ask: 'quote', ask_size: size };
    return Array.from({ length: Math.max(bids.length, asks.length, 1) }, (_, at) => {
      const level = { bid_size: bids[at]?.[1], bid: bids[at]?.[0], ask: asks[at]?.[0], ask_size: asks[at]?.[1] };
      return withUnits({ ...names, ...level }, units);
    });
  });

const toCell = (one: { readonly [name: string]: unknown }): Cell =>
  one['value'] === null || one['value'] === undefined
    ? String(one['reason'] ?? one['status'] ?? '')
    : String(one['value']);
type ShownValues = { readonly [name: string]: { readonly [name: string]: unknown } };
const toRow = (values: ShownValues): Row =>
  Object.fromEntries(Object.entries(values).map(([name, one]) => [name, toCell(one)]));
/** Codes, statuses and results of conditions are texts. */
const listUnits = (values: ShownValues): Units =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, { unit }]) =>
      typeof unit === 'string' && unit !== 'code' ? [[name, unit]] : [],
    ),
  );

/** One row a listing of each instrument that holds. */
export const toScreenRows = ({ instruments }: ScreenAnswer): Row[] =>
  instruments.flatMap(({ instrument, result, values, venues }) =>
    venues.map(({ venue, symbol, quote, values: own }) => {
      const names = { instrument, result, venue, symbol, quote };
      return withUnits({ ...names, ...toRow(values), ...toRow(own) }, { ...listUnits(values), ...listUnits(own) });
    }),
  );

export const toFileRows = (items: readonly ArchiveFile[]): Row[] =>
  items.map(({ listing, layer, day, rows, bytes, final, anchored, price_usdc, included }) => ({
    ...{ listing, layer, day, rows, bytes, final, anchored, price_usdc, included },
  }));

export const toRuleRows = (rules: AgentStateAnswer['rules']): Row[] =>
  rules.map(({ rule_id, name, state, reason, previous_state: before, since, matched_total: instruments, query }) => ({
    ...{ rule_id, name, state, reason, before, since, instruments, query },
  }));

export const toCatalogueRows = ({ fields, sources, functions }: DqlCatalogueAnswer): Row[] => [
  ...fields.map(({ name, scope, unit, description }) => ({ kind: 'field', name, scope, unit, description })),
  ...sources.map(({ name, unit, description }) => ({ kind: 'source', name, unit, description })),
  ...functions.map(({ name, signature, description }) => ({ kind: 'function', name, signature, description })),
];

/** Members of a document, one a row. */
export const toFactRows = (facts: object): Row[] =>
  Object.entries(facts).map(([fact, value]) => ({ fact, value: value as Cell }));

/** A count with its noun in singular or plural, for notes. */
export const formatCount = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

export const formatShortValues = (values: Values, units: Units): string =>
  Object.entries(values)
    .slice(0, COUNT)
    .map(([name, value]) => (value === null ? `${name} -` : `${name} ${value} ${units[name] ?? ''}`.trimEnd()))
    .join('  ');
