// Mapped records of a message: each has the venue, symbol and stamps of its subject around the mapped values.
import type { Micros, NormalisedRecord, StatsRecord } from '../../../schemas/records.ts';
import type { Mapped } from '../contract/mapping.ts';

/** What a record is about, and the piece of the message that it is read from. */
export type Subject = {
  readonly symbol: string;
  readonly venueTs: Micros | null;
  readonly receivedAt: Micros;
  readonly element: unknown;
};

/** `of(subject, layer, values)` builds a venue's mapped records. */
export const bindMapped =
  (venue: string) =>
  <R extends NormalisedRecord>(
    { symbol, venueTs, receivedAt, element }: Subject,
    layer: R['layer'],
    values: R['values'],
  ): Mapped => ({
    record: {
      layer,
      venue,
      venue_symbol: symbol,
      venue_ts: venueTs,
      received_at: receivedAt,
      values,
    } as NormalisedRecord,
    element,
  });

/** The records that a message has. */
export const listPresent = (mapped: readonly (Mapped | null)[]): readonly Mapped[] =>
  mapped.includes(null) ? mapped.filter((one) => one !== null) : (mapped as readonly Mapped[]);

type Day = Pick<StatsRecord['values'], 'volume_24h' | 'turnover_24h' | 'change_24h'>;

/** Whether no figure of the day was published: then there is no record. */
export const isEmptyDay = ({ volume_24h, turnover_24h, change_24h }: Day): boolean =>
  volume_24h === null && turnover_24h === null && change_24h === null;
