// Layer `liquidation`: positions closed by the venue, each an event; the table is `liquidations`.
import type { Digits, QuantityUnit } from '../scalars.ts';
import { declareEvent, type RecordOf } from './layer.ts';

export type LiquidationRecord = RecordOf<
  'liquidation',
  {
    readonly id: string | null;
    /** The side of the position that was closed. */
    readonly side: 'long' | 'short';
    readonly price: Digits;
    readonly price_kind: 'fill' | 'order' | 'bankruptcy' | 'mark';
    readonly quantity: Digits;
    readonly quantity_unit: QuantityUnit;
  }
>;

export const liquidation = declareEvent<LiquidationRecord>()({
  kind: 'event',
  name: 'liquidation',
  recordName: 'liquidation',
  record: 'liquidation',
  aliases: ['liquidations'],
  table: 'liquidations',
  members: {
    side: { unit: 'code', sentence: 'The position that was closed: a `long` is closed by a sell.' },
    price: { unit: 'quote', sentence: 'Price. `price_kind` says which price it is.' },
    price_kind: {
      unit: 'code',
      sentence: 'Which price it is: of the `fill`, of the `order`, of the `bankruptcy`, or the `mark`.',
    },
    quantity: { unit: 'quantity', sentence: 'Quantity closed.' },
  },
  anchored: { side: 'text', price: 'figure', price_kind: 'text', quantity: 'figure', quantity_unit: 'text' },
  endpoint: 'POST /v2/liquidations',
  isAnswered: true,
});
