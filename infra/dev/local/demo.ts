/** `npm run demo`: the whole service on embedded engines and simulated venues; needs no network once installed. */
import { simulatedVenues } from '../simulator/venues/index.ts';
import { runService } from './run-service.ts';

const venues = simulatedVenues.map(({ id }) => id);

/** Fifty listings in total, three frames a second each: two cores keep them fresh beside the engines, with spare capacity for clients. */
const LISTINGS_A_VENUE = 10;
const FRAMES_A_LISTING = 3;

const { SIM_LISTINGS = String(LISTINGS_A_VENUE) } = process.env;
const { SIM_RATE = String(venues.length * Number(SIM_LISTINGS) * FRAMES_A_LISTING) } = process.env;

runService({ venues, source: 'simulated', settings: { SIM_LISTINGS, SIM_RATE }, defaultDir: 'demo', past: true });
