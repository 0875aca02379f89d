// The one table of fields and candle sources (interface, DQL fields and DQL candle sources).
import { CANDLE_PRICES, PRICE_TYPES, type PriceType } from '../../schemas/layers/candle.ts';
import { CANDLES, READINGS, type ReadingLayer } from '../../schemas/layers/index.ts';
import type { LayerField, MemberUnit, ReadingDeclaration } from '../../schemas/layers/layer.ts';

type Scope = 'instrument' | 'venue';
type FieldType = 'code' | 'number' | 'duration';
type FieldLayer = ReadingLayer | 'reference';

export type Field = {
  readonly name: string;
  readonly scope: Scope;
  readonly layer: FieldLayer;
  readonly type: FieldType;
  readonly unit: MemberUnit;
  readonly description: string;
  /** Readable as a series of snapshots. */
  readonly sampleable: boolean;
  /** May be summed across venues (DQL-24). */
  readonly additive: boolean;
  /** Names in a listing's `not_published` without which the field does not exist. */
  readonly needs: readonly string[];
};

type Row = readonly [name: string, unit: MemberUnit, description: string];
type Same = Pick<Field, 'scope' | 'layer' | 'type' | 'sampleable' | 'additive'>;

const makeFields = (same: Same, table: readonly Row[]): Field[] =>
  table.map(([name, unit, description]) => ({ name, unit, description, needs: [name], ...same }));

const reference = { layer: 'reference', sampleable: false, additive: false } as const;

/** A field as the file of its layer declares it: a member, or a computed field. */
const toField = (layer: ReadingDeclaration<ReadingLayer>, name: string, declared: LayerField): Field => {
  const member = declared.computed ?? layer.members[name];
  if (member === undefined) throw new Error(`field ${name} of layer ${layer.name} is not a member and is not computed`);
  return {
    name,
    scope: 'venue',
    layer: layer.name,
    type: declared.type ?? 'number',
    unit: member.unit,
    description: member.sentence,
    sampleable: declared.isSampleable ?? true,
    additive: declared.isAdditive ?? false,
    needs: [name, ...(member.from ?? [])],
  };
};

const TABLE: readonly Field[] = [
  ...makeFields({ ...reference, scope: 'instrument', type: 'code' }, [
    ['instrument', 'code', 'Market code, such as BTC-PERP.'],
    ['base', 'code', 'Base asset code.'],
  ]),
  ...makeFields({ ...reference, scope: 'instrument', type: 'number' }, [
    ['venues_listed', 'count', 'Number of selected listings of the instrument.'],
    ['venues_answered', 'count', 'Number of selected listings whose mark is present.'],
  ]),
  ...makeFields({ ...reference, scope: 'venue', type: 'code' }, [
    ['venue', 'code', 'Venue code.'],
    ['quote', 'code', 'Quote currency code.'],
  ]),
  ...makeFields({ ...reference, scope: 'venue', type: 'number' }, [
    ['tick_size', 'quote', 'Smallest step of the price.'],
    ['lot_size', 'quantity', 'Smallest step of the quantity.'],
    ['min_qty', 'quantity', 'Smallest quantity of an order.'],
  ]),
  ...READINGS.flatMap((layer) => Object.entries(layer.fields).map(([name, field]) => toField(layer, name, field))),
];

export const FIELDS: ReadonlyMap<string, Field> = new Map(TABLE.map((field) => [field.name, field]));

export type CandleSource = {
  readonly name: string;
  readonly priceType: PriceType;
  /** The candle's member. */
  readonly member: (typeof MEMBERS)[number];
  readonly unit: MemberUnit;
  readonly description: string;
  readonly additive: boolean;
};

const MEMBERS = [...CANDLE_PRICES, 'volume'] as const;
/** Sources of the venue's trades have no prefix. */
const toPrefix = (priceType: PriceType): string => (priceType === 'trade' ? '' : `${priceType}_`);

export const SOURCES: ReadonlyMap<string, CandleSource> = new Map(
  PRICE_TYPES.flatMap((priceType) =>
    MEMBERS.map((member): [string, CandleSource] => {
      const isVolume = member === 'volume';
      const name = `${toPrefix(priceType)}${member}`;
      const unit = CANDLES.members[member]?.unit ?? 'quote';
      const title = `${member[0]?.toUpperCase()}${member.slice(1)}`;
      const description = `${title} of the ${priceType} candle${isVolume ? ', as published' : ''}.`;
      return [name, { name, priceType, member, unit, description, additive: isVolume }];
    }),
  ),
);
