// The one stream of a page: opens, watches and reopens it; puts its readings into a picture and counts its events.
import { type LayerUpdate, Picture } from '../board/picture.ts';
import { ServerClock } from '../board/server-clock.ts';
import { callApi, openStream, Refused } from './call.ts';

/**
 * `lost`: it reconnects by itself; `refused`: the service does not accept it now; `paused`: the user pressed the button; `resting`: nobody sees the
 * page.
 */
export type FeedState = 'connecting' | 'live' | 'lost' | 'refused' | 'paused' | 'resting' | 'ended';

type FeedCounts = { snapshots: number; updates: number; connections: number };

type Hello = {
  readonly evaluated_at: string;
  readonly resumed: boolean;
  readonly heartbeat_ms: number;
  readonly freshness: Readonly<Record<string, string>>;
};

type FeedEvents = {
  /** Keys of listings whose readings changed; everything, when it is null. */
  readonly onTold: (told: LayerUpdate | null) => void;
  readonly onState: (state: FeedState, words: string) => void;
};

const HEARTBEATS_MISSED = 3;
const FIRST_SILENCE_MS = 45_000;
const WAITS_MS = [1_000, 2_000, 5_000, 10_000, 30_000];
/** Used until `hello` has sent the bounds: none is wider. */
const SECONDS = /^(\d+)s$/;

export class LiveFeed {
  readonly picture = new Picture();
  readonly clock = new ServerClock();
  /** Milliseconds to add to the browser's clock until the stream has stated the time. */
  clockErrorMs = 0;
  readonly counts: FeedCounts = { snapshots: 0, updates: 0, connections: 0 };
  readonly #query: Readonly<Record<string, string>>;
  readonly #events: FeedEvents;
  #source: EventSource | null = null;
  #state: FeedState = 'connecting';
  #lostSinceMs: number | null = null;
  #bounds: Readonly<Record<string, string>> = {};
  #silenceMs = FIRST_SILENCE_MS;
  #receivedMs = 0;
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Requests the reason for which the stream was refused; any action of the user ends it. */
  #asking: AbortController | null = null;

  constructor(query: Readonly<Record<string, string>>, events: FeedEvents) {
    this.#query = { ...query, number_format: 'string' };
    this.#events = events;
  }

  get state(): FeedState {
    return this.#state;
  }
  /** By the service's clock; null while the stream is received. */
  get lostSinceMs(): number | null {
    return this.#lostSinceMs;
  }

  nowMs(): number {
    return this.clock.nowMs(performance.now()) ?? Date.now() + this.clockErrorMs;
  }

  /** Freshness bound of a layer, as `hello` states it. */
  boundMs(layer: string): number {
    const seconds = SECONDS.exec(this.#bounds[layer] ?? '')?.[1];
    return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1_000;
  }

  open(): void {
    this.close();
    this.#receivedMs = performance.now();
    this.#setState('connecting', 'Connecting');
    const source = openStream(this.#query);
    this.#source = source;
    const on = (name: string, handle: (data: never) => void): void =>
      source.addEventListener(name, (event) => {
        this.#receivedMs = performance.now();
        handle(JSON.parse((event as MessageEvent<string>).data) as never);
      });
    on('hello', (hello: Hello) => this.#greet(hello));
    on('snapshot', (told: LayerUpdate) => this.#take(told, 'snapshots'));
    on('update', (told: LayerUpdate) => this.#take(told, 'updates'));
    on('heartbeat', ({ at }: { readonly at: string }) => this.clock.note(Date.parse(at), performance.now()));
    on('gap', () => this.picture.excuse());
    on('bye', ({ reconnect }: { readonly reconnect: boolean }) => (reconnect ? undefined : this.#end()));
    source.addEventListener('error', (event) => this.#fail(source, event));
    this.#watch();
  }

  /** The picture is not changed; the caller stops its clock. */
  pause(): void {
    this.close();
    this.#setState('paused', 'Paused');
  }

  /** Nothing is known from now on. */
  rest(): void {
    this.close();
    this.#setState('resting', 'Not received while the page is not seen');
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#asking = null;
    this.#source?.close();
    this.#source = null;
  }

  #setState(state: FeedState, words: string): void {
    const isHeard = state === 'live' || state === 'connecting';
    if (!isHeard) this.#lostSinceMs ??= this.nowMs();
    else if (state === 'live') this.#lostSinceMs = null;
    this.#state = state;
    this.#events.onState(state, words);
    this.#events.onTold(null);
  }

  #greet({ evaluated_at: at, resumed, heartbeat_ms: beat, freshness }: Hello): void {
    this.clock.note(Date.parse(at), performance.now());
    this.counts.connections += 1;
    this.#tries = 0;
    this.#silenceMs = HEARTBEATS_MISSED * beat;
    this.#bounds = freshness;
    // Without resumption the stream sends everything again.
    if (!resumed) this.picture.clear();
    this.#setState('live', 'Live');
  }

  #take(told: LayerUpdate, kind: 'snapshots' | 'updates'): void {
    const { received_at: received, age_ms: age } = told.state;
    if (received !== null && age !== null) this.clock.note(Date.parse(received) + age, performance.now());
    if (kind === 'snapshots') this.picture.replace(told);
    else this.picture.apply(told);
    this.counts[kind] += 1;
    this.#events.onTold(told);
  }

  #end(): void {
    this.close();
    this.#setState('ended', 'The service has ended the stream. Load the page again.');
  }

  #fail(source: EventSource, event: Event): void {
    if (source !== this.#source) return;
    if ('data' in event) return this.#end();
    if (source.readyState !== EventSource.CLOSED)
      return this.#setState('lost', 'The stream was lost; connecting again');
    return void this.#findRefusal();
  }

  /** The browser does not report why a stream was refused: the same call without the stream does. */
  async #findRefusal(): Promise<void> {
    this.close();
    const stop = new AbortController();
    this.#asking = stop;
    let words = 'The stream was refused';
    try {
      await callApi(`/stream?${new URLSearchParams(this.#query)}`, { signal: stop.signal });
    } catch (error) {
      if (error instanceof Refused) words = error.message;
    }
    if (stop.signal.aborted) return;
    this.#asking = null;
    stop.abort();
    this.#setState('refused', words);
    const waitMs = WAITS_MS[Math.min(this.#tries++, WAITS_MS.length - 1)] ?? 30_000;
    this.#timer = setTimeout(() => this.open(), waitMs);
  }

  /** Three heartbeats missed: the connection is broken, even if the browser has not noticed it. */
  #watch(): void {
    this.#timer = setTimeout(() => {
      if (performance.now() - this.#receivedMs <= this.#silenceMs) return this.#watch();
      this.#setState('lost', 'The stream is silent; connecting again');
      return this.open();
    }, 1_000);
  }
}
