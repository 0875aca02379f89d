// The collector's clock: wall time at start plus the monotonic clock, slewed towards the wall, never backwards (design section 5).
import type { Micros } from '../../../schemas/records.ts';

type Clock = {
  /** Never less than an earlier result. */
  readonly nowMicros: () => Micros;
};

type ClockSources = {
  /** Wall time in microseconds since 1970; may jump. */
  readonly wallMicros: () => number;
  /** Any origin, never backwards. */
  readonly monotonicMicros: () => number;
};

const SLEW = 500e-6;
/** Date.now() counts whole milliseconds: smaller differences are its rounding. */
const DEADBAND_MICROS = 1_000;

const machine: ClockSources = {
  wallMicros: () => Date.now() * 1_000 + 500,
  monotonicMicros: () => performance.now() * 1_000,
};

export const createClock = ({ wallMicros, monotonicMicros }: ClockSources = machine): Clock => {
  let now = wallMicros();
  let last = monotonicMicros();
  let answered = 0;
  const nowMicros = (): Micros => {
    const monotonic = monotonicMicros();
    const elapsed = monotonic - last;
    last = monotonic;
    now += elapsed;
    const error = wallMicros() - now;
    const limit = elapsed * SLEW;
    if (Math.abs(error) > DEADBAND_MICROS) now += Math.max(-limit, Math.min(limit, error));
    answered = Math.max(answered, Math.floor(now));
    return answered;
  };
  return { nowMicros };
};
