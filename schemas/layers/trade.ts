// Layer `trades`: public trades, each an event (`trade`).
import type { Digits, QuantityUnit } from '../scalars.ts';
import { declareEvent, type RecordOf } from './layer.ts';

export type TradeRecord = RecordOf<
  'trade',
  {
    readonly id: string | null;
    /** The taker's side. */
    readonly side: 'buy' | 'sell';
    readonly price: Digits;
    readonly quantity: Digits;
    readonly quantity_unit: QuantityUnit;
  }
>;

export const trade = declareEvent<TradeRecord>()({
  kind: 'event',
  name: 'trades',
  recordName: 'trades',
  record: 'trade',
  aliases: ['trade'],
  table: 'trades',
  members: {
    side: { unit: 'code', sentence: 'The side of the taker: `buy` or `sell`.' },
    price: { unit: 'quote', sentence: 'Price.' },
    quantity: { unit: 'quantity', sentence: 'Quantity traded.' },
  },
  anchored: { side: 'text', price: 'figure', quantity: 'figure', quantity_unit: 'text' },
  endpoint: 'GET /v2/stream with layers=trade',
  isAnswered: false,
});
