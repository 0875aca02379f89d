/** `npm start`: the whole service on the live venues; a venue that cannot be reached is down, never simulated. */
import { venues as known } from '../../../ingest/venues/index.ts';
import { runService } from './run-service.ts';

const named = (process.env.VENUES ?? '').split(',').map((venue) => venue.trim());
const chosen = named.filter((venue) => venue !== '');

runService({ venues: chosen.length > 0 ? chosen : [...known.keys()], source: 'live', defaultDir: 'live' });
