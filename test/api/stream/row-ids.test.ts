// Rows gather until the end of a turn of the loop: no id passes one that has not been sent, whatever is told meanwhile (ST-05, D-37).
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { readRequest } from '../../../api/stream/request.ts';
import type { LiveEntry } from '../../../schemas/topics.ts';
import { listing, listingValues, market, NOW } from '../../support/apps/live-fixture.ts';
import { collectEvents, type StreamEvent } from '../../support/services/stream-client.ts';
import { SECOND } from './bench.ts';

const createWorld = () => {
  const feed = market();
  const clock = { now: NOW };
  const hub = new StreamHub({ live: feed.memory, nowMicros: () => clock.now });
  const input = { where: 'venue = binance', layers: 'mark,trade', freshness: '5s' };
  const choice = { venues: null, instruments: null };
  const request = readRequest(
    { input, names: readNames(input.where, feed.memory) },
    { live: feed.memory, plan: PLANS.pro_plus, choice, at: NOW },
  );
  const open = (lastEventId: string | null): StreamEvent[] => {
    const { out, events } = collectEvents();
    const findKey = async () => 'unreachable' as const;
    const account = { keyId: 'key', plan: PLANS.pro_plus };
    hub.open({ account, request, lastEventId, out, findKey, isInScope: () => true });
    return events;
  };
  const publish = (entry: Partial<LiveEntry> & Pick<LiveEntry, 'kind'>): void =>
    feed.entry('binance', { recorded_at: clock.now, ...entry });
  return {
    hub,
    open,
    publish,
    pass(seconds: number): void {
      clock.now += seconds * SECOND;
    },
    reach: (): void => publish({ kind: 'watermark', watermark: clock.now }),
    endIn(symbol: string, seconds: number): void {
      const values = listingValues({ instrument: 'ETH-PERP', venue_symbol: symbol, base: 'ETH' });
      const version = listing('binance', values, { writtenAt: clock.now, delistedAt: clock.now + seconds * SECOND });
      publish({ kind: 'listing', symbol, listing: version });
    },
    trade: (id: string): void =>
      publish({
        kind: 'event',
        symbol: 'BTCUSDT',
        row: {
          table: 'trades',
          at: clock.now,
          texts: { venue: 'binance', side: 'buy', id, quantity_unit: 'base' },
          figures: { price: '60000', quantity: '1' },
          instants: { recorded_at: clock.now },
          integers: { src_offset: Number(id) },
          flags: {},
        },
      }),
  };
};
type World = ReturnType<typeof createWorld>;

const tradesOf = (events: readonly StreamEvent[]): string[] =>
  events
    .filter(({ event }) => event === 'event')
    .flatMap(({ data }) => (data.rows as { id: string }[]).map(({ id }) => id));

/** What is told in the turn in which trades come: by time alone, by a venue that catches up, by an end that was known ahead. */
const TURNS: Readonly<Record<string, { readonly told: string; readonly perform: (world: World) => void }>> = {
  'a bound that is over': {
    told: 'update',
    perform: ({ pass, reach, trade }) => {
      pass(4);
      reach();
      pass(2);
      trade('1');
      trade('2');
    },
  },
  'a venue that catches up': {
    told: 'update',
    perform: ({ pass, open, trade, reach }) => {
      pass(6);
      open(null);
      trade('1');
      reach();
      trade('2');
    },
  },
  'the end of another listing': {
    told: 'listing',
    perform: ({ endIn, pass, trade, reach }) => {
      endIn('ETHUSDT', 2);
      trade('1');
      pass(3);
      reach();
      trade('2');
    },
  },
};

for (const [name, { told, perform }] of Object.entries(TURNS)) {
  t.test(`${name} is told without passing a trade`, async (t) => {
    const world = createWorld();
    const events = world.open(null);
    const first = events.length - 1;
    perform(world);
    await new Promise((resume) => setImmediate(resume));
    t.same(tradesOf(events), ['1', '2']);
    t.ok(events.slice(first).some(({ event }) => event === told));
    for (const [i, { id, event }] of events.entries()) {
      if (i < first) continue;
      const again = world.open(id);
      t.equal(again[0]?.data.resumed, true);
      const given = [...tradesOf(events.slice(0, i + 1)), ...tradesOf(again)];
      t.same(given, ['1', '2'], `a client that resumes after ${event} number ${i} has each trade once`);
    }
    world.hub.close();
  });
}
