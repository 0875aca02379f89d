// Caches the streams of each listing: frames are made far more often than listings.
import type { Instrument } from './market.ts';

/** `name` returns the streams of a listing; it is called once for each. */
export function rememberStreams<T>(name: (instrument: Instrument) => T): (instrument: Instrument) => T {
  const known = new Map<Instrument, T>();
  return (instrument) => {
    const streams = known.get(instrument) ?? name(instrument);
    known.set(instrument, streams);
    return streams;
  };
}
