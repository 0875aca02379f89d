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
import type { Cell, Row } from './output.ts';

type Values = { readonly [name: string]: string | null };
const COUNT = 3;

export const seconds = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)}s`;

const why = ({ reason, gap_cause }: { readonly reason?: string; readonly gap_cause?: string }): Cell =>
  gap_cause ?? reason ?? null;

export const venueRows = (items: readonly Venue[]): Row[] =>
  items.map(({ venue, name, state, state_since, listings, listings_collected }) => ({
    ...{ venue, name, state, since: state_since, listings, collected: listings_collected },
  }));

export const listingRows = (items: readonly Listing<string>[]): Row[] =>
  items.map((one) => ({
    ...{ venue: one.venue, symbol: one.venue_symbol, instrument: one.instrument, quote: one.quote, status: one.status },
    ...{
      tick_size: one.tick_size,
      lot_size: one.lot_size,
      quantity_unit: one.quantity_unit,
      contract_size: one.contract_size,
    },
    funding_interval: one.funding_interval,
  }));

/** One row a listing and layer. */
export const snapshotRows = ({ items }: SnapshotsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, instrument, layers }) =>
    Object.entries(layers).map(([layer, one]) => ({
      ...{
        venue,
        symbol,
        instrument,
        layer,
        status: one.status,
        why: why(one),
        age: seconds(one.venue_age_ms ?? one.age_ms),
      },
      ...figuresOf(one),
    })),
  );

export const historyRows = ({ items }: HistoryAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, layers }) =>
    Object.entries(layers).flatMap(([layer, { rows }]) =>
      rows.map((one) => ({
        ...{ at: one.at, venue, symbol, layer, status: one.status, why: why(one), received_at: one.received_at },
        ...figuresOf(one),
      })),
    ),
  );

export const candleRows = ({ items }: CandlesAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, rows }) =>
    rows.map(({ open_time, status, open, high, low, close, volume, trades, ...one }) => ({
      ...{ open_time, venue, symbol, status, why: why(one), open, high, low, close, volume, trades },
    })),
  );

export const liquidationRows = ({ items }: LiquidationsAnswer<string>): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, rows }) =>
    rows.map(({ received_at, side, price, price_kind, quantity, value, id }) => ({
      ...{ received_at, venue, symbol, side, price, price_kind, quantity, value, id },
    })),
  );

/** One row a level, the best ones first. */
export const bookRows = (items: readonly Book<string>[]): Row[] =>
  items.flatMap(({ venue, venue_symbol: symbol, status, bids, asks, ...one }) => {
    const levels = Math.max(bids.length, asks.length, 1);
    return Array.from({ length: levels }, (_, at) => ({
      ...{ venue, symbol, status, why: why(one), age: seconds(one.venue_age_ms ?? one.age_ms) },
      ...{ bid_size: bids[at]?.[1], bid: bids[at]?.[0], ask: asks[at]?.[0], ask_size: asks[at]?.[1] },
    }));
  });

const toCell = (one: { readonly [name: string]: unknown }): Cell =>
  one['value'] === null || one['value'] === undefined
    ? String(one['reason'] ?? one['status'] ?? '')
    : String(one['value']);
const toRow = (values: { readonly [name: string]: { readonly [name: string]: unknown } }): Row =>
  Object.fromEntries(Object.entries(values).map(([name, one]) => [name, toCell(one)]));

/** One row a listing of each instrument that holds. */
export const screenRows = ({ instruments }: ScreenAnswer): Row[] =>
  instruments.flatMap(({ instrument, result, values, venues }) =>
    venues.map(({ venue, symbol, quote, values: own }) => ({
      ...{ instrument, result, venue, symbol, quote },
      ...toRow(values),
      ...toRow(own),
    })),
  );

export const fileRows = (items: readonly ArchiveFile[]): Row[] =>
  items.map(({ listing, layer, day, rows, bytes, final, anchored, price_usdc, included }) => ({
    ...{ listing, layer, day, rows, bytes, final, anchored, price_usdc, included },
  }));

export const ruleRows = (rules: AgentStateAnswer['rules']): Row[] =>
  rules.map(({ rule_id, name, state, reason, previous_state: before, since, matched_total: instruments, query }) => ({
    ...{ rule_id, name, state, reason, before, since, instruments, query },
  }));

export const catalogueRows = ({ fields, sources, functions }: DqlCatalogueAnswer): Row[] => [
  ...fields.map(({ name, scope, unit, description }) => ({ kind: 'field', name, scope, unit, description })),
  ...sources.map(({ name, unit, description }) => ({ kind: 'source', name, unit, description })),
  ...functions.map(({ name, signature, description }) => ({ kind: 'function', name, signature, description })),
];

/** Members of a document, one a row. */
export const factRows = (facts: object): Row[] =>
  Object.entries(facts).map(([fact, value]) => ({ fact, value: value as Cell }));

/** A count with its noun in singular or plural, for notes. */
export const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

export const shortValues = (values: Values): string =>
  Object.entries(values)
    .slice(0, COUNT)
    .map(([name, value]) => `${name} ${value ?? '-'}`)
    .join('  ');
