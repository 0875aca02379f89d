// The one table of fields and candle sources (interface, DQL fields and DQL candle sources).
import type { MemberUnit, ReadingLayer } from '../../schemas/layers.ts';
import type { PriceType } from '../../schemas/records.ts';

export type Scope = 'instrument' | 'venue';
export type FieldType = 'code' | 'number' | 'duration';
export type FieldLayer = ReadingLayer | 'reference';

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

const rows = (same: Same, table: readonly Row[]): Field[] =>
  table.map(([name, unit, description]) => ({ name, unit, description, needs: [name], ...same }));

const reference = { layer: 'reference', sampleable: false, additive: false } as const;
const reading = (layer: ReadingLayer): Same => ({
  scope: 'venue',
  layer,
  type: 'number',
  sampleable: true,
  additive: false,
});
const additive = (layer: ReadingLayer): Same => ({ ...reading(layer), additive: true });
const moment = { ...reading('funding'), type: 'duration', sampleable: false } as const;

const TABLE: readonly Field[] = [
  ...rows({ ...reference, scope: 'instrument', type: 'code' }, [
    ['instrument', 'code', 'Market code, such as BTC-PERP.'],
    ['base', 'code', 'Base asset code.'],
  ]),
  ...rows({ ...reference, scope: 'instrument', type: 'number' }, [
    ['venues_listed', 'count', 'Number of selected listings of the instrument.'],
    ['venues_answered', 'count', 'Number of selected listings whose mark is present.'],
  ]),
  ...rows({ ...reference, scope: 'venue', type: 'code' }, [
    ['venue', 'code', 'Venue code.'],
    ['quote', 'code', 'Quote currency code.'],
  ]),
  ...rows({ ...reference, scope: 'venue', type: 'number' }, [
    ['tick_size', 'quote', 'Smallest step of the price.'],
    ['lot_size', 'quantity', 'Smallest step of the quantity.'],
    ['min_qty', 'quantity', 'Smallest quantity of an order.'],
  ]),
  ...rows(reading('ticker'), [['last', 'quote', 'Price of the last trade.']]),
  ...rows(reading('mark'), [
    ['mark', 'quote', 'Mark price.'],
    ['index', 'quote', 'Index price.'],
    ['basis', 'fraction', '(mark - index) / index.'],
  ]),
  ...rows(reading('funding'), [['funding', 'fraction', 'Published rate for the next settlement, per interval.']]),
  ...rows(moment, [['funding_interval', 'ms', 'Time between two settlements.']]),
  ...rows(reading('funding'), [['funding_8h', 'fraction', 'funding x 8h / funding_interval.']]),
  ...rows(moment, [['time_to_funding', 'ms', 'Next funding time minus the evaluation instant.']]),
  ...rows(additive('oi'), [['oi', 'quantity', 'Open interest.']]),
  ...rows(reading('book'), [
    ['bid', 'quote', 'Best bid price.'],
    ['ask', 'quote', 'Best ask price.'],
    ['mid', 'quote', '(bid + ask) / 2.'],
    ['spread', 'fraction', '(ask - bid) / mid.'],
  ]),
  ...rows(additive('book'), [
    ['bid_size', 'quantity', 'Quantity at the best bid.'],
    ['ask_size', 'quantity', 'Quantity at the best ask.'],
  ]),
  ...rows(additive('stats'), [
    ['volume_24h', 'quantity', 'Quantity traded in 24 hours, as published.'],
    ['turnover_24h', 'quote', 'Value traded in 24 hours, as published.'],
  ]),
  ...rows(reading('stats'), [['change_24h', 'fraction', 'Price change over 24 hours, as published.']]),
];

/** What a derived field is made of. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  basis: ['basis', 'mark', 'index'],
  funding_8h: ['funding_8h', 'funding', 'funding_interval'],
  time_to_funding: ['time_to_funding', 'next_funding_at'],
  mid: ['mid', 'bid', 'ask'],
  spread: ['spread', 'bid', 'ask'],
};

export const FIELDS: ReadonlyMap<string, Field> = new Map(
  TABLE.map((field) => [field.name, { ...field, needs: NEEDS[field.name] ?? field.needs }]),
);

export type CandleSource = {
  readonly name: string;
  readonly priceType: PriceType;
  /** The candle's member. */
  readonly member: 'open' | 'high' | 'low' | 'close' | 'volume';
  readonly unit: MemberUnit;
  readonly description: string;
  readonly additive: boolean;
};

const MEMBERS = ['open', 'high', 'low', 'close', 'volume'] as const;
const PRICES: readonly (readonly [PriceType, string])[] = [
  ['trade', ''],
  ['mark', 'mark_'],
  ['index', 'index_'],
];

export const SOURCES: ReadonlyMap<string, CandleSource> = new Map(
  PRICES.flatMap(([priceType, prefix]) =>
    MEMBERS.map((member): [string, CandleSource] => {
      const isVolume = member === 'volume';
      const name = `${prefix}${member}`;
      const title = `${member[0]?.toUpperCase()}${member.slice(1)}`;
      const description = `${title} of the ${priceType} candle${isVolume ? ', as published' : ''}.`;
      return [
        name,
        { name, priceType, member, unit: isVolume ? 'quantity' : 'quote', description, additive: isVolume },
      ];
    }),
  ),
);
