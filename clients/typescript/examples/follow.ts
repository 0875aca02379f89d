// Marks of the last ten minutes and from now on, in one loop; gaps and stale readings are reported beside it.
import { ApiError, createClient, figuresOf } from 'perp-market-data-client';

const perp = createClient({ numberFormat: 'string' });
const since = new Date(Date.now() - 600_000);
let left = Number(process.argv[2] ?? 100);
try {
  const readings = perp.follow(
    { where: 'base = BTC and quote = USDT', layers: ['mark'], since },
    {
      onGap: (gap) => console.error('gap', gap.from, gap.to, gap.source === 'history' ? gap.cause : gap.reason),
      onStale: ({ venue, reason }) => console.error('stale', venue, reason),
    },
  );
  for await (const { source, venue, received_at, reading } of readings) {
    console.log(source, venue, received_at, reading.status, figuresOf(reading)['mark']);
    left -= 1;
    if (left === 0) break;
  }
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  console.error(`${error.code}: ${error.message} ${error.hint ?? ''}`);
}
