// A listening app whose clock only the test moves, for tests of GET /v2/stream: its clients, and every event they were sent judged by the schema.
import type { Test } from 'tap';
import { StreamHub } from '../../../api/stream/hub.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Reading } from '../../../schemas/topics.ts';
import {
  type Feed,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
  type TestApp,
  testApp,
} from '../../support/apps/live-fixture.ts';
import { invalidEvent } from '../../support/documents/valid-answer.ts';
import { StreamClient, type StreamEvent } from '../../support/services/stream-client.ts';

export const SECOND: Micros = 1_000_000;

type StreamApp = TestApp & { readonly hub: StreamHub };

/** A listening app with a clock that only the test moves; the watermarks follow it by default. */
export class Bench {
  readonly feed: Feed;
  readonly test: StreamApp;
  readonly url: string;
  now: Micros;
  readonly #clients: StreamClient[] = [];

  private constructor(feed: Feed, test: StreamApp, clock: { bench: Bench | null }, url: string) {
    this.feed = feed;
    this.test = test;
    this.url = url;
    this.now = NOW;
    clock.bench = this;
  }

  static async open(t: Test, feed: Feed = market(), waits: { aheadWithinMs?: number } = {}): Promise<Bench> {
    const clock: { bench: Bench | null } = { bench: null };
    const nowMicros = () => clock.bench?.now ?? NOW;
    const hub = new StreamHub({ live: feed.memory, nowMicros, ...waits });
    const test = await testApp(feed, { nowMicros, hub });
    const url = await test.app.listen({ host: '127.0.0.1', port: 0 });
    const bench = new Bench(feed, { ...test, hub }, clock, url);
    t.teardown(() => bench.close());
    return bench;
  }

  async stream(query: string, headers: Record<string, string> = this.test.as('pro_plus')): Promise<StreamClient> {
    const client = await StreamClient.open(`${this.url}/v2/stream?${query}`, headers);
    this.#clients.push(client);
    return client;
  }

  /** A stream whose picture is complete. */
  async ready(query: string, headers?: Record<string, string>): Promise<StreamClient> {
    const client = await this.stream(query, headers);
    await client.untilCount('ready', 1);
    return client;
  }

  resume(query: string, id: string): Promise<StreamClient> {
    return this.ready(query, { ...this.test.as('pro_plus'), 'last-event-id': id });
  }

  /** Moves the clock; the pipeline keeps up with it. */
  pass(time: Micros): void {
    this.now += time;
    for (const venue of ['binance', 'okx']) this.feed.watermark(venue, this.now - 190_000);
  }

  mark(symbol: string, rev: number, over: Partial<Reading> = {}): void {
    const at = { venue_ts: this.now - 20_000, received_at: this.now - 10_000, recorded_at: this.now };
    this.feed.read('binance', symbol, markReading(String(60_000 + rev), { rev, ...at, ...over }));
  }

  /** Judges every event that was sent, whatever the test checked. */
  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.test.app.close();
    const faults = this.#clients.flatMap(({ events }) => events.flatMap(invalidEvent));
    if (faults.length > 0) throw new Error([...new Set(faults)].slice(0, 5).join('; '));
  }
}

export const state = (event: StreamEvent | undefined): Record<string, unknown> => (event?.data.state ?? {}) as never;

export const BTC = 'where=symbol%20%3D%20%22BTCUSDT%22&layers=mark';

/** More listings than the plan Free allows a stream to follow, of one instrument more than it covers. */
export const crowd = (): Feed => {
  const feed = market();
  for (let i = 0; i < 9; i++) {
    const names = { instrument: `A${i}-PERP`, venue_symbol: `A${i}USDT`, base: `A${i}` };
    feed.list(listing('binance', listingValues(names)));
  }
  return feed;
};

/** Status and faults of a request that was refused. */
export const refusal = async (client: StreamClient): Promise<unknown[]> => {
  await client.ended();
  const { errors } = JSON.parse(client.text) as { errors: { code: string; path?: string }[] };
  return [client.status, ...errors.map(({ code, path }) => `${code} ${path}`)];
};
