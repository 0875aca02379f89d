// A market of the slow evaluator as the product takes it: facts of each listing at T.
import { SOURCES } from '../../../api/language/fields.ts';
import { makeBounds } from '../../../api/live/bounds.ts';
import { NewestReadings } from '../../../api/live/live-message.ts';
import type { Captured, Windows } from '../../../api/screen/capture.ts';
import type { Facts, LayerStates } from '../../../api/screen/facts.ts';
import type { Plan } from '../../../api/screen/plan.ts';
import { REASONS } from '../../../api/screen/series.ts';
import type { Need } from '../../../api/series/cache.ts';
import { toSpecId } from '../../../api/series/column-spec.ts';
import { listing, listingValues, NOW, reading } from '../../support/apps/live-fixture.ts';
import type { SlowLayer, SlowListing } from '../../support/screen/slow-evaluator.ts';

const TERMS = { at: NOW, units: 'published', bounds: makeBounds(undefined) } as const;

const toState = (name: string, layer: SlowLayer): LayerStates => {
  const values: Record<string, string> = {};
  const null_reasons: Record<string, string> = {};
  const { time_to_funding, ...members } = layer.values;
  for (const [member, value] of Object.entries(members)) {
    if (typeof value === 'number') values[member] = String(value);
    else null_reasons[member] = value;
  }
  const instants = typeof time_to_funding === 'number' ? { next_funding_at: NOW + time_to_funding * 1_000 } : {};
  const received_at = NOW - (layer.ageMs ?? 0) * 1_000;
  const answer = { gap_cause: null, venue_age_ms: null, valid_until: null };
  return {
    [name]: {
      reading: reading({ layer: name as never, values, null_reasons, instants, received_at, quantity_unit: 'base' }),
      answer: { ...answer, status: layer.status, reason: layer.reason, age_ms: layer.ageMs },
    },
  };
};

const columnName = ({ spec }: Need): string => {
  if (spec.kind === 'layer') return `${spec.member} ${spec.timeframe}`;
  if (spec.member === 'present') return `candles ${spec.timeframe}`;
  const source = [...SOURCES.values()].find((s) => s.priceType === spec.priceType && s.member === spec.member);
  return `${source?.name} ${spec.timeframe}`;
};

const captured = (need: Need, { columns }: SlowListing): Captured => {
  const column = columns[columnName(need)] ?? [];
  if ('status' in column) return { kind: 'unknown', status: column.status as never, reason: column.reason };
  const newestFirst = Array.from({ length: need.bars }, (_, i) => column[i] ?? 'insufficient_history');
  const oldestFirst = newestFirst.reverse();
  return {
    elements: {
      values: Float64Array.from(oldestFirst, (x) => (typeof x === 'number' ? x : Number.NaN)),
      reasons: Uint8Array.from(oldestFirst, (x) => (typeof x === 'number' ? 0 : REASONS.indexOf(x as never))),
    },
    end: NOW,
    receivedAt: null,
    received: null,
    recorded: null,
    units: null,
    digits: null,
    exact: null,
  };
};

/** The members of a listing that the plan reads. */
export const readFacts = (slow: SlowListing, plan: Plan): Facts => {
  const { venue, symbol, base, quote, instrument, tickSize } = slow;
  const rules = { instrument, venue_symbol: symbol, base, quote, tick_size: String(tickSize) };
  const version = listing(venue, listingValues(rules));
  const layers = Object.assign({}, ...Object.entries(slow.layers).map(([name, layer]) => toState(name, layer)));
  const windows: Windows = new Map(plan.needs.map((need) => [toSpecId(need.spec), captured(need, slow)]));
  return {
    listing: { venue, venueSymbol: symbol, versions: [version], readings: new NewestReadings() },
    version,
    terms: TERMS,
    layers,
    windows,
  };
};
