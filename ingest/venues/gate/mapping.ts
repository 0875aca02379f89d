// Shared by the mappers of Gate's messages: the message's source, its stamps, and the record around its values.
import type { Micros } from '../../../schemas/records.ts';
import type { Mapped } from '../contract/mapping.ts';
import { bindMapped } from '../shared/mapped.ts';
import {
  type Fields,
  isAbsent,
  isFields,
  makeBadFrame,
  makeRefusal,
  readCountOrNull,
  readMsOrNull,
} from '../shared/wire.ts';

export const toMapped = bindMapped('gate');

/** `query` is the request's; empty for frames. */
export type Source = { readonly receivedAt: Micros; readonly query: URLSearchParams };

/** Maps the `result` of a frame; its envelope has the stamp of sending. */
export type Frame = (result: unknown, envelope: Fields, source: Source) => readonly Mapped[];

/** The body of an answer. Throws a refusal when the venue refuses the request. */
export const readAnswer = (body: unknown): unknown => {
  if (isFields(body) && typeof body.label === 'string') throw makeRefusal(body.label);
  return body;
};

/** 2100-01-01, the end of our range (N-03), in seconds. */
const LATEST_SECONDS = 4_102_444_800;

/** Seconds with or without a fraction, as number or text, to microseconds. Zero and absent mean: no stamp. */
export const readSeconds = (value: unknown, name: string): Micros | null => {
  if (isAbsent(value)) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= LATEST_SECONDS)
    return value * 1_000_000;
  const [, seconds, fraction = ''] = /^(\d{1,11})(?:\.(\d+))?$/.exec(String(value)) ?? [];
  if (seconds === undefined || Number(seconds) > LATEST_SECONDS) throw makeBadFrame(`${name} is not an instant`);
  const at = Number(seconds) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
  return at === 0 ? null : at;
};

/** Seconds between settlements of a contract, in milliseconds. */
export const readInterval = ({ funding_interval }: Fields): number | null => {
  const seconds = readCountOrNull(funding_interval, 'funding_interval');
  return seconds === null || seconds === 0 ? null : seconds * 1_000;
};

/** Older envelopes have no milliseconds. */
export const readSentAt = ({ time_ms, time }: Fields): Micros | null =>
  readMsOrNull(time_ms, 'time_ms') ?? readSeconds(time, 'time');
