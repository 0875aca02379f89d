// Records of `md.gap`: what messages prove was missed, and books that are crossed (records.md).
import type { GapCause } from '../../schemas/gap-causes.ts';
import { CANDLES, EVENTS, READINGS } from '../../schemas/layers/index.ts';
import { type CoverName, PRICE_CANDLES, resolveSource } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { TaskContext } from './context.ts';
import { type Provenance, pushMd } from './outputs.ts';
import type { ConnectionView } from './state.ts';

/** Layers of normalised records by what a connection covers, in the order of records.md. */
const RECORDS: readonly (readonly [covered: CoverName, record: string])[] = [
  ...[...READINGS, ...EVENTS, CANDLES].flatMap(({ name, record }) =>
    record === null ? [] : [[name, record] as const],
  ),
  [PRICE_CANDLES, CANDLES.record],
];

const listRecords = (covers: ReadonlySet<string>): readonly string[] => [
  ...new Set(RECORDS.flatMap(([covered, record]) => (covers.has(covered) ? record : []))),
];

type Missed = Provenance & {
  readonly cause: GapCause;
  readonly receivedAt: Micros;
};

/** Records that layers of one listing were missed. */
export const pushListingGap = (
  context: TaskContext,
  { symbol, of }: { readonly symbol: string; readonly of: readonly CoverName[] },
  missed: Missed,
): void => pushGap(context, { symbol, scope: 'symbol', of: listRecords(new Set(of.map(resolveSource))) }, missed);

/** Records that a connection was lost, with the layers that it brought. */
export const pushConnectionGap = (
  context: TaskContext,
  connection: ConnectionView,
  missed: Pick<Missed, 'cause' | 'receivedAt'>,
): void => {
  const of = listRecords(new Set(connection.covers.flatMap(({ layers }) => layers)));
  pushGap(context, { symbol: null, scope: 'connection', of }, { ...missed, connId: connection.conn_id });
};

type Part = { readonly symbol: string | null; readonly scope: 'symbol' | 'connection'; readonly of: readonly string[] };

const pushGap = (
  context: TaskContext,
  { symbol, scope, of }: Part,
  { cause, receivedAt, ...provenance }: Missed,
): void => {
  const record = {
    layer: 'gap' as const,
    venue: context.venue.id,
    venue_symbol: symbol,
    venue_ts: null,
    received_at: receivedAt,
    values: { scope, cause, of },
  };
  pushMd(context, record, provenance);
};
