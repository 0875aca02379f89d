// The timeframe of a request for candles: any spelling of a period that is stored, and its faults (H-16d).
import { formatDuration, parseDuration } from '../../schemas/durations.ts';
import { type ApiError, makeShapeFault } from '../../schemas/errors.ts';
import { clip } from '../contract/sent-text.ts';
import { TIMEFRAMES, type Timeframe } from '../language/limits.ts';

/** The timeframe meant, in catalogue spelling; null when it is not offered. */
export const readTimeframe = (text: string): Timeframe | null => {
  const ms = parseDuration(text);
  const spelt = ms === null || ms === 0 ? null : formatDuration(ms);
  return TIMEFRAMES.find((timeframe) => timeframe === spelt) ?? null;
};

/** A text that is no duration: a fault of shape that the schema cannot express. */
export const findTimeframeShapeFaults = (text: string | undefined): ApiError[] => {
  if (text === undefined || parseDuration(text) !== null) return [];
  return [makeShapeFault('/timeframe', `"${clip(text)}" is not a duration.`, 'Write one unit, such as 1h.')];
};

/** A period that is not stored. */
export const findTimeframeFaults = (text: string | undefined): ApiError[] => {
  if (text === undefined || readTimeframe(text) !== null) return [];
  const message = `"${clip(text)}" is not a timeframe that is stored: stored are ${TIMEFRAMES.join(', ')}.`;
  const hint = `Send one of ${TIMEFRAMES.join(', ')}.`;
  return [{ code: 'DQL_TIMEFRAME_UNSUPPORTED', message, hint, path: '/timeframe' }];
};
