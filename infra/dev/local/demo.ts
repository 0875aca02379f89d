/** `npm run demo`: the whole service on embedded engines and simulated venues; needs no network once installed. */
import { FEW_ARENAS } from '../engines/java.ts';
import { simulatedVenues } from '../simulator/venues/index.ts';
import { SMALL_YOUNG_GENERATION } from './processes.ts';
import { runService } from './run-service.ts';

const venues = simulatedVenues.map(({ id }) => id);

/** Fifty listings in total, three frames a second each: two cores keep them fresh beside the engines, with spare capacity for clients. */
const LISTINGS_A_VENUE = 10;
const FRAMES_A_LISTING = 3;

/** Eight minutes of truth: the default would take 100 MB more after an hour. */
const TRUTH_ROWS = 30_000;

const { SIM_TRUTH_ROWS = String(TRUTH_ROWS), SIM_LISTINGS = String(LISTINGS_A_VENUE) } = process.env;
const { SIM_RATE = String(venues.length * Number(SIM_LISTINGS) * FRAMES_A_LISTING) } = process.env;
/** At these rates a small one takes as much processor time. */
const NODE_OPTIONS = [process.env['NODE_OPTIONS'], SMALL_YOUNG_GENERATION].join(' ').trimStart();

const settings = { SIM_LISTINGS, SIM_RATE, SIM_TRUTH_ROWS, NODE_OPTIONS, ...FEW_ARENAS };
runService({ venues, source: 'simulated', settings, defaultDir: 'demo', past: true });
