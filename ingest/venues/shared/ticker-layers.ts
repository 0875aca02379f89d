// Layers that most venues send in one form in their tickers: the last price, mark and index, open interest. Null: the message has no figure of the layer.
import type { NormalisedRecord, QuantityUnit } from '../../../schemas/records.ts';
import type { Mapped } from '../contract/mapping.ts';
import { type Fields, readAmountOrNull, readPriceUnlessZero } from './wire.ts';

type ToMapped<S> = <R extends NormalisedRecord>(subject: S, layer: R['layer'], values: R['values']) => Mapped;

/** `toMapped` builds the records of the venue. A price of zero is none. */
export const bindTickerLayers = <S>(toMapped: ToMapped<S>) => ({
  toLast: (subject: S, fields: Fields, name: string): Mapped | null => {
    const last = readPriceUnlessZero(fields[name], name);
    return last === null ? null : toMapped(subject, 'ticker', { last });
  },
  toMark: (
    subject: S,
    fields: Fields,
    [markName, indexName]: readonly [mark: string, index: string],
  ): Mapped | null => {
    const mark = readPriceUnlessZero(fields[markName], markName);
    const index = readPriceUnlessZero(fields[indexName], indexName);
    return mark === null && index === null ? null : toMapped(subject, 'mark', { mark, index });
  },
  toOi: (subject: S, fields: Fields, [name, oi_unit]: readonly [name: string, unit: QuantityUnit]): Mapped | null => {
    const oi = readAmountOrNull(fields[name], name);
    return oi === null ? null : toMapped(subject, 'oi', { oi, oi_unit });
  },
});
