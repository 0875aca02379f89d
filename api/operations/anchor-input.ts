// Parameters of a proof: their shapes, which of them a table has, and the day they lie in (AN-06).
import Type, { type Static } from 'typebox';
import { ANCHORED_TABLES, type AnchoredTable } from '../../schemas/anchored.ts';
import { type ApiError, makeShapeFault } from '../../schemas/errors.ts';
import { MICROS_PER_MINUTE, parseInstant, toDayOf } from '../../schemas/instants.ts';
import { PRICE_TYPES } from '../../schemas/layers/candle.ts';
import type { Micros } from '../../schemas/records.ts';
import { findKind, type RowKind } from '../anchors/row-choice.ts';
import { ARCHIVE_LAYERS, toArchiveLayer } from '../contract/archive.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import { makeInstantInput } from '../contract/parameters.ts';
import { clip } from '../contract/sent-text.ts';
import { findInstantFaults } from '../history/past.ts';
import { findArchiveLayerFaults, makeArchiveLayerInput } from './archive-input.ts';

export const ProofInput = Type.Object(
  {
    venue: Type.String({ description: 'Venue code.', examples: ['binance'] }),
    symbol: Type.String({
      description: 'Symbol at the venue, byte for byte.',
      minLength: 1,
      maxLength: 200,
      examples: ['BTCUSDT'],
    }),
    layer: makeArchiveLayerInput(`Layer, or the name of its table: ${ARCHIVE_LAYERS.join(', ')}.`),
    at: makeInstantInput(
      'Instant that selects the day and the row. A reading: the newest window that ended by it; 00:00 belongs to the day before. ' +
        'A candle: its minute. A trade or liquidation: the newest row with `id` received by it.',
      '2026-01-10T12:00:00Z',
    ),
    price_type: Type.Optional(
      Type.Enum([...PRICE_TYPES], {
        description: 'Price type, for candles only. Default `trade`.',
        examples: ['mark'],
      }),
    ),
    id: Type.Optional(
      Type.String({
        description: 'Id of the row, for trades and liquidations only. Needed unless `seq` is sent.',
        minLength: 1,
        maxLength: 200,
        examples: ['4611686018427387904'],
      }),
    ),
    seq: Type.Optional(
      Type.Integer({
        description:
          'Selects any row of the day, listing and table by its `seq`, also a late row or a gap. Then `at` selects the day only.',
        minimum: 0,
        examples: [0],
      }),
    ),
  },
  { additionalProperties: false },
);
export type ProofInput = Static<typeof ProofInput>;

/** The table that a layer's name or the table's own means; undefined for none. */
export const findTable = (name: string): AnchoredTable | undefined => {
  const layer = toArchiveLayer(name);
  return ANCHORED_TABLES.find((table) => table.layer === layer);
};

/** The day of an instant among rows of a kind: sampling windows belong to the day they end in, 24:00 included. */
export const toRowDay = (at: Micros, kind: RowKind): string => toDayOf(kind === 'readings' ? at - 1 : at);

const makeStrangeFault = (name: string, layer: string, owner: string): ApiError =>
  makeShapeFault(`/${name}`, `"${name}" is a parameter of ${owner} only, not of "${clip(layer)}".`, `Omit ${name}.`);

/** Parameters of another table, and one that this table needs. */
const findNamingFaults = ({ layer, price_type, id, seq }: Partial<ProofInput>, spoilt: Spoilt): ApiError[] => {
  const table = layer === undefined ? undefined : findTable(layer);
  if (layer === undefined || table === undefined) return [];
  const kind = findKind(table);
  const faults: ApiError[] = [];
  if (price_type !== undefined && kind !== 'candles') faults.push(makeStrangeFault('price_type', layer, 'candles'));
  if (id !== undefined && kind !== 'events') faults.push(makeStrangeFault('id', layer, 'trades and liquidations'));
  const isNamed = [id, seq].some((given) => given !== undefined) || ['id', 'seq'].some((name) => spoilt.has(name));
  if (kind === 'events' && !isNamed)
    faults.push(makeShapeFault('/id', '"id" is missing.', 'Send the id of the row, or its seq.'));
  return faults;
};

const findMinuteFaults = ({ layer, at, seq }: Partial<ProofInput>, spoilt: Spoilt): ApiError[] => {
  const instant = parseInstant(at ?? '');
  if (instant === null || findTable(layer ?? '')?.table !== 'candles') return [];
  if (instant % MICROS_PER_MINUTE === 0 || seq !== undefined || spoilt.has('seq')) return [];
  return [makeShapeFault('/at', `"${at}" is not a full minute.`, 'Send the minute in which the candle opens.')];
};

export const findProofFaults = (input: Partial<ProofInput>, spoilt: Spoilt): ApiError[] => [
  ...findArchiveLayerFaults(input.layer),
  ...findInstantFaults(input.at, '/at'),
  ...findNamingFaults(input, spoilt),
  ...findMinuteFaults(input, spoilt),
];
