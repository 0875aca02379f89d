// Two venues that mark no minute as closed, collected from their simulators: every layer present soon, minutes known.
import t from 'tap';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { deribit } from '../../../ingest/venues/deribit/index.ts';
import { hyperliquid } from '../../../ingest/venues/hyperliquid/index.ts';
import { checkMinute, checkReadable, checkTrades, collectAll, nothingMissing } from '../../support/venues/collected.ts';

const VENUES: readonly Venue[] = [hyperliquid, deribit];
/** ADA among them, which trades in one minute of three. */
const LISTINGS = 10;
/** The first minute ends this long after the start. */
const FIRST_MINUTE_MS = 26_000;
const CUT_BEFORE_MS = 1_000;
const CUT_FOR_MS = 2_500;

const { simulator, all, nameAll, reachInstant, minuteEndMs } = await collectAll(t, VENUES, {
  listings: LISTINGS,
  levels: 25,
  firstMinuteMs: FIRST_MINUTE_MS,
});
const isFilling = (request: string | null): boolean =>
  /get_tradingview_chart_data|#candleSnapshot\?/.test(request ?? '');

t.test('every layer of every listing is present soon', async (t) => {
  await nothingMissing('present', () => nameAll((collected) => collected.absent()));
  for (const { venue } of all)
    t.same(
      Object.entries(venue.layers).filter(([, { policy }]) => policy === 'off'),
      [],
      `${venue.id} collects all it publishes`,
    );
});

t.test('every minute of trades is known, by the next one on its connection or after a cut by asking', async (t) => {
  await reachInstant('the end of the minute', minuteEndMs - CUT_BEFORE_MS);
  simulator.inject({ kind: 'disconnect', venue: hyperliquid.id, durationMs: CUT_FOR_MS });
  await nothingMissing('known', () => nameAll((collected) => collected.withoutMinute(minuteEndMs)));
  for (const collected of all) {
    const { venue, symbols, memory } = collected;
    const lost = memory.of('lost').map(({ payload }) => String(payload));
    t.equal(lost.length > 0, venue === hyperliquid, `${venue.id} was cut: ${lost.join(' ')}`);
    const asked = memory.of('response').filter(({ request }) => isFilling(request));
    t.ok(asked.length >= symbols.length, `${venue.id}: ${asked.length} answers`);
    checkMinute(t, collected, minuteEndMs);
  }
  await nothingMissing('present again', () => nameAll((collected) => collected.absent()));
});

t.test('each trade is published once, as it was made; liquidations are those of the market', (t) => {
  for (const collected of all) {
    const { host, rows, symbols } = collected;
    checkTrades(t, collected, 100);
    for (const symbol of symbols) {
      const forced = new Map(
        [...host.truth.rows({ symbol, layer: 'liquidations' })].map((row) => [row.values.id, row.values]),
      );
      for (const { texts, figures } of rows.filter((row) => row.table === 'liquidations' && row.symbol === symbol)) {
        const one = forced.get(texts.id ?? '');
        t.same([texts.side, figures.price, figures.quantity], [one?.side, one?.price, one?.quantity], symbol);
      }
    }
  }
  t.ok(
    all[1]?.rows.some(({ table }) => table === 'liquidations'),
    'there were some',
  );
  t.end();
});

t.test('nothing that came is unreadable', (t) => {
  for (const collected of all) checkReadable(t, collected);
  t.end();
});
