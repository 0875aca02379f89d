// Clients that come and go for weeks: what they leave behind in a hub is bounded, and what was waited for is still told (ST-03, ST-07).
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { readRequest } from '../../../api/stream/request.ts';
import { listing, listingValues, market, NOW } from '../../support/apps/live-fixture.ts';
import { collectEvents, type StreamEvent } from '../../support/services/stream-client.ts';
import { SECOND } from './bench.ts';

const WEEK = 7 * 86_400 * SECOND;
const ENDING = { venue_symbol: 'ETHUSDT', instrument: 'ETH-PERP', base: 'ETH' };

const openHub = () => {
  const feed = market();
  const { memory: live } = feed;
  let now = NOW;
  const hub = new StreamHub({ live, nowMicros: () => now, aheadWithinMs: 0 });
  const open = (): { readonly events: readonly StreamEvent[]; readonly drop: () => void } => {
    const { out, events } = collectEvents();
    const input = { where: 'venue = binance', layers: 'mark' };
    const at = { live, plan: PLANS.pro_plus, choice: { venues: null, instruments: null }, at: now };
    const request = readRequest({ input, names: readNames(input.where, live) }, at);
    const account = { keyId: 'key', plan: PLANS.pro_plus };
    const findKey = async () => 'unreachable' as const;
    const stream = hub.open({ account, request, lastEventId: null, out, findKey, isInScope: () => true });
    return { events, drop: () => stream.drop() };
  };
  const announce = (delistedAt: number | null, writtenAt: number): void =>
    feed.list(listing('binance', listingValues(ENDING), { writtenAt, delistedAt }));
  const goTo = (at: number): void => {
    now = at;
  };
  return { hub, open, announce, goTo };
};

t.test('an end that is known a week ahead is waited for once, however many clients come until then', async (t) => {
  const { hub, open, announce, goTo } = openHub();
  announce(NOW + WEEK, NOW - SECOND);
  for (let i = 0; i < 5_000; i++) open().drop();
  const { moments, streams } = hub.sizes();
  t.equal(streams, 0);
  t.ok(moments < 1_100, `${moments} moments wait`);
  const { events, drop } = open();
  goTo(NOW + WEEK);
  open().drop();
  await turn();
  const ended = events.filter(({ event }) => event === 'listing');
  t.match(ended, [{ data: { change: 'delisted', venue_symbol: 'ETHUSDT' } }]);
  drop();
});

t.test('an end that is moved, and moved back, is told when it comes', async (t) => {
  const { open, announce, goTo } = openHub();
  announce(NOW + 60 * SECOND, NOW - 3 * SECOND);
  const { events, drop } = open();
  announce(NOW + WEEK, NOW - 2 * SECOND);
  open().drop();
  announce(NOW + 60 * SECOND, NOW - SECOND);
  open().drop();
  goTo(NOW + 61 * SECOND);
  open().drop();
  await turn();
  const changes = events.flatMap(({ event, data }) => (event === 'listing' ? [data.change] : []));
  t.equal(changes.at(-1), 'delisted', changes.join());
  drop();
});
