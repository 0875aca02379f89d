// The first ten lines: what BTC costs on each venue now, how old that is, and its funding.
import { createClient } from 'perp-market-data-client';

const perp = createClient(); // PERP_API_KEY, PERP_BASE_URL
const { items } = await perp.snapshots({ where: 'base = BTC', layers: ['mark', 'funding'] });
for (const { venue, venue_symbol, layers } of items) {
  const { mark, funding } = layers;
  console.log(venue, venue_symbol, mark?.values['mark'] ?? mark?.reason, mark?.age_ms, funding?.values['funding_8h']);
}
