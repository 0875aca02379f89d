// A replay of more than a client's socket takes at once: sent whole as fast as it is read, others in between, and given up only when the log
// it goes through is no longer held (ST-05, ST-06).
import { Writable } from 'node:stream';
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { readRequest, type StreamRequest } from '../../../api/stream/request.ts';
import type { Stream } from '../../../api/stream/stream.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import {
  type Feed,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
  reading,
} from '../../support/apps/live-fixture.ts';
import { parseFrames, type StreamEvent } from '../../support/services/stream-client.ts';
import { waitFor } from '../../support/wait.ts';

const SECOND: Micros = 1_000_000;
/** Updates of some 1,200 characters: this many are more than 4 MiB (ST-06). */
const MISSED = 3_600;
/** Characters of one. */
const SLICE = 262_144;
/** Some slices. */
const SOME = 600;
const DIGITS = '0'.repeat(390);

/** Numbers of the readings that came as updates of values. */
const listRevs = (events: readonly StreamEvent[]): number[] =>
  events.flatMap(({ event, data }) => (event === 'update' && data.change !== 'status' ? [data.rev as number] : []));

/**
 * A client whose socket takes what it is given at once, and nothing while it rests. No timer runs before a slice is taken: the order of clients and
 * what waits at a tick of the hub do not depend on how busy the machine is.
 */
class Reader {
  readonly events: StreamEvent[] = [];
  length = 0;
  #restsAt: number;
  /** Resolves in the turn in which `ready` arrives. */
  readonly ready = Promise.withResolvers<void>();
  #taken: (() => void) | null = null;
  readonly out = new Writable({
    highWaterMark: 16_384,
    write: (text, _encoding, done) => {
      const take = (): void => {
        this.length += text.length;
        const arrived = parseFrames(String(text));
        this.events.push(...arrived);
        if (arrived.some(({ event }) => event === 'ready')) this.ready.resolve();
        done();
      };
      if (this.isResting) this.#taken = take;
      else take();
    },
  });

  /** It rests when it has taken so many characters. */
  constructor(restsAt = Number.POSITIVE_INFINITY) {
    this.#restsAt = restsAt;
  }

  get isResting(): boolean {
    return this.length >= this.#restsAt;
  }

  read(): void {
    const take = this.#taken;
    this.#restsAt = Number.POSITIVE_INFINITY;
    this.#taken = null;
    take?.();
  }

  has(event: string): boolean {
    return this.events.some((each) => each.event === event);
  }

  get revs(): number[] {
    return listRevs(this.events);
  }
}

class World {
  readonly feed: Feed = market();
  now: Micros = NOW;
  rev = 1;
  readonly hub = new StreamHub({ live: this.feed.memory, nowMicros: () => this.now });
  readonly #request: StreamRequest;

  constructor(layers = 'mark') {
    this.#request = this.#readRequest(layers);
  }

  #readRequest(layers: string): StreamRequest {
    const input = { where: 'symbol = "BTCUSDT"', layers, freshness: '600s' };
    const choice = { venues: null, instruments: null };
    return readRequest(
      { input, names: readNames(input.where, this.feed.memory) },
      { live: this.feed.memory, plan: PLANS.pro_plus, choice, at: NOW },
    );
  }

  open(lastEventId: string | null, reader = new Reader()): { reader: Reader; stream: Stream } {
    const findKey = async () => 'unreachable' as const;
    const account = { keyId: 'key', plan: PLANS.pro_plus };
    const opening = { account, request: this.#request, lastEventId, out: reader.out, findKey };
    return { reader, stream: this.hub.open({ ...opening, isInScope: () => true }) };
  }

  mark(): void {
    this.rev++;
    this.now += 10_000;
    const at = { venue_ts: this.now - 2_000, received_at: this.now - 1_000, recorded_at: this.now };
    const figure = `${60_000 + this.rev}.${DIGITS}1`;
    const read = markReading(figure, { rev: this.rev, ...at });
    this.feed.entry('binance', { kind: 'reading', symbol: 'BTCUSDT', recorded_at: this.now, reading: read });
  }

  /** An id, and so many readings after it. */
  async away(missed: number): Promise<string> {
    const { reader, stream } = this.open(null);
    await waitFor('the picture', () => reader.has('ready'));
    stream.drop();
    for (let i = 0; i < missed; i++) this.mark();
    return reader.events.at(-1)?.id ?? '';
  }
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

t.test('a client that reads what it is sent gets every reading, also those that come meanwhile', async (t) => {
  const world = new World();
  const id = await world.away(MISSED);
  const { reader } = world.open(id);
  t.notOk(reader.has('ready'), 'the first slice is not all');
  const others = world.open(null).reader;
  await others.ready.promise;
  t.notOk(reader.has('ready'), 'others have their turn before it is over');
  world.mark();
  await waitFor('the present', () => reader.has('ready'));
  world.mark();
  await waitFor('the newest reading', () => reader.revs.at(-1) === world.rev);
  t.equal(reader.events[0]?.data.resumed, true);
  t.notOk(reader.has('gap'), 'it was never slow');
  t.ok(reader.length > 4 * 1_048_576, `${reader.length} characters`);
  t.same(reader.revs, range(2, world.rev));
  t.same(others.revs, range(world.rev - 1, world.rev));
});

t.test('what first comes of a layer while its client is on the way is sent too', async (t) => {
  const world = new World('mark,funding');
  const id = await world.away(SOME);
  const { reader } = world.open(id);
  t.notOk(reader.has('ready'), 'the replay is under way');
  world.feed.read('binance', 'BTCUSDT', reading({ rev: 2, received_at: world.now, recorded_at: world.now }));
  await reader.ready.promise;
  const came = reader.events.filter(
    ({ event, data }) => event === 'update' && data.layer === 'funding' && data.change !== 'status',
  );
  t.same(
    came.map(({ data }) => [data.rev, data.change]),
    [[2, 'value']],
  );
});

t.test('of several that come at once one after the other gets to the present, in their order', async (t) => {
  const world = new World();
  const id = await world.away(MISSED);
  const readers = [0, 1, 2].map(() => world.open(id).reader);
  for (const [i, reader] of readers.entries()) {
    await reader.ready.promise;
    for (const later of readers.slice(i + 1))
      t.ok(later.length < 2 * SLICE, `client ${i} is there when a later one has ${later.length} characters`);
  }
  for (const reader of readers) t.same(reader.revs, range(2, world.rev));
});

t.test(
  'one that pauses in between is waited for, with no more than a slice in store, while others go on',
  async (t) => {
    const world = new World();
    const id = await world.away(MISSED);
    const pausing = new Reader(4 * SLICE);
    const { reader } = world.open(id, pausing);
    await waitFor('some slices', () => reader.isResting);
    const later = world.open(id).reader;
    await later.ready.promise;
    t.notOk(reader.has('ready'));
    t.ok(world.hub.sizes().waitingBytes < 2 * SLICE, `${world.hub.sizes().waitingBytes} bytes wait for it`);
    pausing.read();
    await reader.ready.promise;
    t.notOk(reader.has('gap'));
    t.same(reader.revs, range(2, world.rev));
  },
);

t.test(
  'one that breaks off within a replay, also after an event beside it, has every reading in the end',
  async (t) => {
    const world = new World();
    const id = await world.away(SOME);
    const first = new Reader(0);
    const { stream } = world.open(id, first);
    world.hub.sendBeside(stream, 'rule', '{}');
    first.read();
    await waitFor('the event beside the replay', () => first.has('rule'));
    stream.drop();
    t.equal(stream.tracks.size, 0, 'it follows nothing any more');
    const upTo = first.events.findIndex(({ event }) => event === 'rule');
    t.ok(upTo < SOME / 2, 'the replay was under way');
    const kept = first.events.slice(0, upTo + 1);
    const { reader: second } = world.open(kept.at(-1)?.id ?? '');
    await waitFor('the present', () => second.has('ready'));
    t.same([...listRevs(kept), ...second.revs], range(2, world.rev));
  },
);

t.test('one that rests until what follows is no longer held gets a gap and the picture', async (t) => {
  const world = new World();
  const id = await world.away(SOME);
  const resting = new Reader(0);
  const { reader } = world.open(id, resting);
  world.now += 400 * SECOND;
  world.mark();
  resting.read();
  await waitFor('the picture', () => reader.has('ready'));
  const names = reader.events.map(({ event }) => event);
  t.same(names.slice(names.indexOf('gap')), ['gap', 'snapshot', 'ready']);
  const gap = reader.events.find(({ event }) => event === 'gap')?.data;
  t.match(gap, { reason: 'slow_reader', dropped: null, scope: {} });
  const passed = (reader.revs.at(-1) ?? 0) - 1;
  t.equal(gap?.from, formatInstant(NOW + passed * 10_000), 'since the last reading that was sent on');
  t.equal(gap?.to, formatInstant(world.now));
  t.equal(reader.events.find(({ event }) => event === 'snapshot')?.data.rev, world.rev);
  world.mark();
  await waitFor('the newest reading', () => reader.revs.at(-1) === world.rev);
});

t.test('a heartbeat on the way states how far its client has come, then how far the service has', async (t) => {
  const world = new World();
  const id = await world.away(SOME);
  for (const venue of ['binance', 'okx']) world.feed.watermark(venue, world.now);
  const resting = new Reader(0);
  const { reader, stream } = world.open(id, resting);
  world.now += 15 * SECOND;
  await waitFor('the tick', () => stream.heartbeatAt === world.now);
  resting.read();
  await reader.ready.promise;
  const beat = reader.events.findIndex(({ event }) => event === 'heartbeat');
  const passed = (listRevs(reader.events.slice(0, beat)).at(-1) ?? 0) - 1;
  t.ok(passed > 0 && passed < SOME, `it came after ${passed} of ${SOME} readings`);
  t.match(reader.events[beat]?.data, {
    at: formatInstant(world.now),
    served_at: formatInstant(NOW + passed * 10_000),
    lag_ms: 15_000 + (SOME - passed) * 10,
  });
  world.now += 15 * SECOND;
  await waitFor('a heartbeat in the present', () => reader.events.at(-1)?.event === 'heartbeat');
  t.match(reader.events.at(-1)?.data, { served_at: formatInstant(NOW + SOME * 10_000), lag_ms: 30_000 });
});

t.test('that picture has nothing of a listing that ended meanwhile', async (t) => {
  const world = new World();
  const id = await world.away(SOME);
  const resting = new Reader(0);
  const { reader, stream } = world.open(id, resting);
  world.now += 400 * SECOND;
  const ended = { writtenAt: world.now, delistedAt: world.now };
  world.feed.list(listing('binance', listingValues({ delisted_at: world.now }), ended));
  resting.read();
  await reader.ready.promise;
  const names = reader.events.map(({ event }) => event);
  t.same(names.slice(names.indexOf('gap')), ['gap', 'ready']);
  t.equal(reader.events.at(-1)?.data.listings, 0);
  t.same([stream.selected.size, stream.tracks.size], [0, 0]);
});
