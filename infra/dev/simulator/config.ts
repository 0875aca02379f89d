// Settings of the simulated venues.
import type { ConfigSpec } from '../../runtime/process/config.ts';

export const TRUTH_ROWS = 150_000;

export const SIMULATOR_CONFIG = {
  SIM_PORT: { type: 'integer', default: 0, description: 'Loopback port; 0 takes a free one.' },
  SIM_VENUES: {
    type: 'list',
    default: ['binance'],
    description: 'Venues simulated, by id.',
  },
  SIM_SEED: {
    type: 'integer',
    default: 1,
    description: 'Seed of the market: the same seed and clock give the same frames.',
  },
  SIM_LISTINGS: {
    type: 'integer',
    default: 50,
    description: 'Perpetuals listed on each venue.',
  },
  SIM_RATE: {
    type: 'integer',
    default: null,
    description: 'Frames a second over all streams of all venues; 400 a venue unless set.',
  },
  SIM_STEP_S: {
    type: 'integer',
    default: 1,
    description: 'Seconds between steady frames of a listing; a divisor of 60.',
  },
  SIM_LEVELS: { type: 'integer', default: 300, description: 'Book levels a side.' },
  SIM_WEIGHT: {
    type: 'integer',
    default: 2_400,
    description: 'REST weight a minute; load runs raise it to sync many books at once.',
  },
  SIM_TRUTH_ROWS: {
    type: 'integer',
    default: TRUTH_ROWS,
    description:
      'Rows of truth kept of each kind (books, figures, trades), shared by all listings; each takes some 400 bytes.',
  },
  SIM_LOG: { type: 'string', default: null, description: 'File for every fault and row of truth, one JSON a line.' },
} as const satisfies ConfigSpec;
