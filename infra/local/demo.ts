/** `npm run demo`: the whole service on embedded engines and simulated venues; needs no network once installed. */
import { runService } from './run-service.ts';

runService({ venues: ['binance'], source: 'simulated', defaultDir: 'demo' });
