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
import { type Cell, NULL_REASON_OF, REASON_OF, type Row, UNIT_OF } from './output.ts';

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

type Why = { readonly reason?: string; readonly gap_cause?: string };
/** Why figures that a row does not have are null, in columns as the tables of the API have them. */
const listNullReasons = ({ null_reasons = {} }: { readonly null_reasons?: { readonly [name: string]: string } }): Row =>
  Object.fromEntries(Object.entries(null_reasons).map(([name, reason]) => [`${NULL_REASON_OF}${name}`, reason]));

/** Both are columns, whether or not a row has them. */
const listWhy = ({ reason, gap_cause }: Why): Row => ({ reason, gap_cause });

export const toVenueRows = (items: readonly Venue[]): Row[] =>
  items.map(({ venue, name, state, state_since, listings, listings_collected }) => ({
    ...{ venue, name, state, state_since, listings, listings_collected },
  }));

export const toListingRows = (items: readonly Listing<string>[]): Row[] =>
  items.map(({ venue, venue_symbol, instrument, quote, status, units, ...one }) => {
    const { tick_size, lot_size, quantity_unit, contract_size, funding_interval } = one;
    return withUnits(
      {
        ...{ venue, venue_symbol, instrument, quote, status },
        ...{ tick_size, lot_size, quantity_unit, contract_size, funding_interval },
      },
      units,
    );
  });

/** One row a listing and layer. */
export const toSnapshotRows = ({ items }: SnapshotsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol, instrument, layers }) =>
    Object.entries(layers).map(([layer, one]) => {
      const { status, age_ms, venue_age_ms } = one;
      const names = { venue, venue_symbol, instrument, layer, status, ...listWhy(one), age_ms, venue_age_ms };
      return { ...withUnits({ ...names, ...figuresOf(one) }, one.units), ...listNullReasons(one) };
    }),
  );

export const toHistoryRows = ({ items }: HistoryAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol, layers }) =>
    Object.entries(layers).flatMap(([layer, { rows, units }]) =>
      rows.map((one) => {
        const names = { at: one.at, venue, venue_symbol, layer, status: one.status, ...listWhy(one) };
        const row = withUnits({ ...names, received_at: one.received_at, ...figuresOf(one) }, units);
        return { ...row, ...listNullReasons(one) };
      }),
    ),
  );

export const toCandleRows = ({ items }: CandlesAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol, units, rows }) =>
    rows.map(({ open_time, status, open, high, low, close, volume, turnover, trades, ...one }) => {
      const names = { open_time, venue, venue_symbol, status, ...listWhy(one) };
      const row = withUnits({ ...names, open, high, low, close, volume, turnover, trades }, units);
      return { ...row, ...listNullReasons(one) };
    }),
  );

export const toLiquidationRows = ({ items }: LiquidationsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol, completeness, units, rows }) =>
    rows.map(({ received_at, side, price, price_kind, quantity, value, id }) => {
      const names = {
        received_at,
        venue,
        venue_symbol,
        status: 'present',
        gap_cause: null,
        gap_to: null,
        completeness,
      };
      return withUnits({ ...names, side, price, price_kind, quantity, value, id }, units);
    }),
  );

/** Stretches in which some may be missing, each a row at its beginning. A page has those that begin on it. */
export const toLiquidationGapRows = ({ items }: LiquidationsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol, completeness, gaps }) =>
    gaps.map(({ from, to, gap_cause }) => ({
      ...{ received_at: from, venue, venue_symbol, status: 'missing', gap_cause, gap_to: to, completeness },
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
  items.flatMap(({ venue, venue_symbol, status, bids, asks, size_unit: size, ...one }) => {
    const { age_ms, venue_age_ms } = one;
    const names = { venue, venue_symbol, status, ...listWhy(one), age_ms, venue_age_ms };
    const units = { bid_size: size, bid: 'quote', ask: 'quote', ask_size: size };
    return Array.from({ length: Math.max(bids.length, asks.length, 1) }, (_, at) => {
      const level = { bid_size: bids[at]?.[1], bid: bids[at]?.[0], ask: asks[at]?.[0], ask_size: asks[at]?.[1] };
      return withUnits({ ...names, ...level }, units);
    });
  });

type ShownValues = { readonly [name: string]: { readonly [name: string]: unknown } };
const hasValue = ({ value }: ShownValues[string]): boolean => value !== null && value !== undefined;
const toRow = (values: ShownValues): Row =>
  Object.fromEntries(Object.entries(values).map(([name, one]) => [name, hasValue(one) ? String(one['value']) : null]));
/** Why the values that are none are none. */
const listReasons = (values: ShownValues): Row =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, one]) =>
      hasValue(one) ? [] : [[REASON_OF + name, String(one['reason'] ?? one['status'] ?? '')]],
    ),
  );
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
      const all = { ...values, ...own };
      return { ...withUnits({ ...names, ...toRow(all) }, listUnits(all)), ...listReasons(all) };
    }),
  );

export const toFileRows = (items: readonly ArchiveFile[]): Row[] =>
  items.map(({ listing, layer, day, rows, bytes, final, anchored, price_usdc, included }) => ({
    ...{ listing, layer, day, rows, bytes, final, anchored, price_usdc, included },
  }));

export const toRuleRows = (rules: AgentStateAnswer['rules']): Row[] =>
  rules.map(({ rule_id, name, state, reason, previous_state, since, matched_total, query }) => ({
    ...{ rule_id, name, state, reason, previous_state, since, matched_total, query },
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
