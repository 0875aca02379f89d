// From a past instant into the live stream: one iterator with every reading of each listing and layer once and in order.
import type { Digits, GapEvent, HistoryAnswer, HistoryRequest } from './api-types.ts';
import { Marks, toComparable } from './delivered.ts';
import { isApiError } from './errors.ts';
import { type Followed, type FollowOptions, type FollowRequest, type FollowSources, figuresOf } from './followed.ts';
import type { LiveEvent, LiveOptions } from './live.ts';
import { GapRuns, Held, hasFigures, isReading, listSeries, type Row, toAnswerForm, toIso, toPlace } from './past.ts';
import { Queue } from './queue.ts';
import { type Item, type LiveReading, Seam, type Stretch } from './seam.ts';
import { computeWaitMs, pause, readLastingWaitS } from './wait.ts';
import { parseDurationMs } from './windows.ts';

/** Events that wait while history is read, or for it; more wait in the network, and then at the service (ST-06). */
const WAITING_EVENTS = 50_000;
/** History is requested again from so long before the newest reading: a row is written with the end of its window, which is 60 s at most. */
const OVERLAP_MS = 120_000;
/** An answer about instants older than this is settled, unless the service is behind (N-11). */
const UNSETTLED_MS = 150_000;
const MINUTE_MS = 60_000;
const AGAIN_MS = 2_000;
const LONGEST_AGAIN = 16;

/** An item of the queue besides events: the unknown windows are due for another request. */
const AGAIN = { event: 'again' } as const;
type Incoming<F extends Digits> = LiveEvent<F> | typeof AGAIN;
/** A stream that has begun and whose snapshots are still coming. */
type Greeting<F extends Digits> = { readonly from: string; readonly to: string; readonly snapshots: LiveReading<F>[] };

class Follower<F extends Digits> {
  readonly #request: FollowRequest;
  /** Instant from which on readings are delivered. */
  readonly #begin: string;
  readonly #options: FollowOptions;
  readonly #sources: FollowSources<F>;
  readonly #marks = new Marks();
  readonly #gaps: GapRuns;
  /** Waiting items, by place. */
  readonly #seams = new Map<string, Seam<F>>();
  readonly #stop = new AbortController();
  // The stream is read while history is: otherwise the service takes us for slow, and leaves out what waits.
  readonly #queue = new Queue<Incoming<F>>(WAITING_EVENTS);
  #greeting: Greeting<F> | null = null;
  /** Events of the stream in `#seams`. */
  #waiting = 0;
  #isBegun = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(request: FollowRequest, options: FollowOptions, sources: FollowSources<F>) {
    this.#request = { allow_stale: true, ...request };
    const { since } = request;
    this.#begin = typeof since === 'string' ? toAnswerForm(since) : since.toISOString();
    this.#options = options;
    this.#sources = sources;
    this.#gaps = new GapRuns((gap) => options.onGap?.(gap));
  }

  async *readings(): AsyncGenerator<Followed<F>, void, void> {
    const { signal } = this.#options;
    const abort = (): void => this.#stop.abort(signal?.reason);
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    const reading = this.#fill();
    try {
      for await (const event of this.#queue.items()) {
        // What was not requested of history before it would be lost.
        if (this.#stop.signal.aborted) return;
        yield* this.#handle(event);
      }
      if (!this.#stop.signal.aborted) yield* this.#end();
    } finally {
      signal?.removeEventListener('abort', abort);
      clearTimeout(this.#timer);
      this.#stop.abort();
      this.#queue.end();
      await reading;
    }
  }

  async #fill(): Promise<void> {
    const { since: _, interval: __, ...request } = this.#request;
    const { silenceMs, onConnection } = this.#options;
    const options: LiveOptions = {
      signal: this.#stop.signal,
      ...(silenceMs === undefined ? {} : { silenceMs }),
      ...(onConnection === undefined ? {} : { onConnection }),
    };
    try {
      for await (const event of this.#sources.live(request, options)) {
        await this.#queue.push(event);
      }
      this.#queue.end();
    } catch (error) {
      this.#queue.fail(error);
    }
  }

  async *#handle(event: Incoming<F>): AsyncGenerator<Followed<F>, void, void> {
    // Snapshots, and the gap before them, are delivered with the past.
    if (!['snapshot', 'gap', 'again', 'hello'].includes(event.event)) yield* this.#greet();
    switch (event.event) {
      case 'hello':
        if (!event.data.resumed) this.#greeting = { from: this.#since(), to: event.data.evaluated_at, snapshots: [] };
        return;
      case 'gap':
        this.#options.onGap?.({ source: 'live', ...event.data });
        // The expired part is requested with the hello before it.
        if (event.data.reason !== 'resume_expired') yield* this.#lost(event.data);
        return;
      case 'snapshot':
      case 'update':
        if (this.#greeting === null) yield* this.#live(event.data);
        else this.#greeting.snapshots.push(event.data);
        return;
      case 'again':
        yield* this.#requestAgain();
        return;
      default:
        return;
    }
  }

  /** The stream is over: its events are delivered, whatever history may still add. */
  async *#end(): AsyncGenerator<Followed<F>, void, void> {
    yield* this.#greet();
    for (const seam of this.#seams.values()) seam.giveUp();
    yield* this.#release();
    this.#gaps.endAll(() => true);
  }

  /** The start of the next request to history: the beginning, and later a little before the last delivered reading. */
  #since(): string {
    const { newest } = this.#marks;
    return this.#isBegun && newest !== null ? this.#before(newest) : this.#begin;
  }

  /** So long before an instant, at the beginning of a window and a period; no earlier than the request. */
  #before(instant: string, ms = OVERLAP_MS): string {
    const before = Math.floor((Date.parse(instant) - ms) / this.#stepMs) * this.#stepMs;
    return before > Date.parse(this.#begin) ? toIso(before) : this.#begin;
  }

  /** Ends of all windows and periods are multiples of it. */
  get #stepMs(): number {
    const { interval } = this.#request;
    return Math.max(MINUTE_MS, interval === undefined ? 0 : parseDurationMs(interval));
  }

  async *#lost({ from, to }: GapEvent): AsyncGenerator<Followed<F>, void, void> {
    yield* this.#greet();
    yield* this.#past(from === null ? this.#since() : this.#before(from), to, null);
  }

  async *#greet(): AsyncGenerator<Followed<F>, void, void> {
    if (this.#greeting === null) return;
    const { from, to, snapshots } = this.#greeting;
    this.#greeting = null;
    yield* this.#past(from, to, snapshots);
    this.#isBegun = true;
  }

  /**
   * Delivers what is settled as it comes. The rest waits for the stream, which bounds the rows needed, and for what is not known yet.
   * `snapshots` are the first events of the stream; null after a gap, when its next event may come at any time.
   */
  async *#past(
    from: string,
    to: string,
    snapshots: readonly LiveReading<F>[] | null,
  ): AsyncGenerator<Followed<F>, void, void> {
    const held = new Held<F>();
    for (const part of this.#parts(from, to)) {
      for await (const answer of this.#answers(part)) {
        const series = listSeries(answer);
        if (!answer.settled || held.size > 0 || this.#seams.size > 0) held.add(series);
        else yield* this.#deliverAll(series.flatMap(({ rows }) => rows.map((row) => ({ key: row.key, row }))));
      }
    }
    if (this.#stop.signal.aborted) return;
    const stretch: Stretch = { to, tries: 0 };
    for (const [place, { rows, open }] of held) this.#findSeam(place).addStretch(stretch, rows, open);
    for (const event of snapshots ?? []) this.#addLive(event);
    if (snapshots !== null) for (const [place] of held) this.#findSeam(place).end();
    yield* this.#release();
    for (const event of snapshots ?? []) if (!held.has(toPlace(event))) yield* this.#live(event);
    this.#schedule();
  }

  /** What is certainly settled is requested apart: of a long past the rest is little. Parts meet where windows and periods end. */
  #parts(from: string, to: string): HistoryRequest[] {
    const { since: _, depth: __, interval, ...request } = this.#request;
    const mode = interval === undefined ? { raw: true } : { interval };
    const middle = Math.floor((Date.parse(to) - UNSETTLED_MS) / this.#stepMs) * this.#stepMs;
    const instants = middle > Date.parse(from) ? [from, toIso(middle), to] : [from, to];
    return instants.flatMap((end, i) => {
      const begin = instants[i - 1];
      return begin === undefined || Date.parse(begin) >= Date.parse(end)
        ? []
        : [{ ...request, ...mode, from: begin, to: end }];
    });
  }

  /** Answers of history; while the service is unavailable it is requested again, from where it left off. */
  async *#answers(request: HistoryRequest): AsyncGenerator<HistoryAnswer<F>, void, void> {
    let { from } = request;
    for (let failures = 0; !this.#stop.signal.aborted; failures += 1) {
      try {
        const asked = from === undefined ? request : { ...request, from };
        for await (const answer of this.#sources.history(asked, this.#stop.signal)) {
          yield answer;
          from = answer.to ?? from;
          failures = 0;
        }
        return;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (!isApiError(error) || !(error.code === 'UNREACHABLE' || [502, 503, 504].includes(error.status)))
          throw error;
        await pause(computeWaitMs(failures, readLastingWaitS(error.retryAfter)), this.#stop.signal);
      }
    }
  }

  /** Requests the windows that were not known. */
  async *#requestAgain(): AsyncGenerator<Followed<F>, void, void> {
    const asked = new Map<Stretch, { from: string; readonly layers: Set<string> }>();
    for (const [place, seam] of this.#seams) {
      for (const [stretch, open] of seam.open()) {
        const known = asked.get(stretch) ?? { from: open, layers: new Set() };
        if (open < known.from) known.from = open;
        asked.set(stretch, { ...known, layers: known.layers.add(readLayer(place)) });
      }
    }
    for (const [stretch, { from, layers }] of asked) await this.#learn(stretch, from, layers);
    yield* this.#release();
    this.#schedule();
  }

  async #learn(stretch: Stretch, open: string, layers: ReadonlySet<string>): Promise<void> {
    stretch.tries += 1;
    const from = this.#before(open, this.#stepMs);
    const held = new Held<F>();
    for (const part of this.#parts(from, stretch.to)) {
      for await (const answer of this.#answers({ ...part, layers: [...layers] })) held.add(listSeries(answer));
    }
    if (this.#stop.signal.aborted) return;
    for (const [place, seam] of this.#seams) {
      if (layers.has(readLayer(place))) seam.learn(stretch, toComparable(from), held.of(place));
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const tries = [...this.#seams.values()].flatMap((seam) => [...seam.open()].map(([stretch]) => stretch.tries));
    if (tries.length === 0) return;
    const factor = Math.min(2 ** Math.min(...tries), LONGEST_AGAIN);
    this.#timer = setTimeout(() => void this.#queue.push(AGAIN), (this.#options.againMs ?? AGAIN_MS) * factor);
  }

  #findSeam(place: string): Seam<F> {
    const seam = this.#seams.get(place) ?? new Seam<F>();
    this.#seams.set(place, seam);
    return seam;
  }

  /** Puts it behind the waiting items of its place; false when there are none. */
  #addLive(event: LiveReading<F>): boolean {
    const seam = this.#seams.get(toPlace(event));
    if (seam === undefined) return false;
    seam.addLive(event);
    this.#waiting += 1;
    return true;
  }

  async *#live(event: LiveReading<F>): AsyncGenerator<Followed<F>, void, void> {
    if (!this.#addLive(event)) {
      yield* this.#deliverAll([{ key: '', live: event }]);
      return;
    }
    yield* this.#release([toPlace(event)]);
    // The stream is not read any further meanwhile, and flow control of the network slows the service.
    while (this.#waiting > WAITING_EVENTS && !this.#stop.signal.aborted) {
      await pause(this.#options.againMs ?? AGAIN_MS, this.#stop.signal);
      yield* this.#requestAgain();
    }
  }

  /** Delivers what these places can deliver now, all of them in one order. */
  *#release(places: Iterable<string> = [...this.#seams.keys()]): Generator<Followed<F>, void, void> {
    const items: Item<F>[] = [];
    for (const place of places) {
      const seam = this.#seams.get(place);
      const taken = seam?.take() ?? [];
      this.#waiting -= taken.filter((item) => 'live' in item).length;
      if (seam?.isEmpty) this.#seams.delete(place);
      items.push(...taken);
    }
    yield* this.#deliverAll(items);
    this.#gaps.endAll((place) => !this.#seams.has(place));
  }

  *#deliverAll(items: readonly Item<F>[]): Generator<Followed<F>, void, void> {
    for (const item of sortItems(items)) {
      const delivered = 'live' in item ? this.#deliverLive(item.live) : this.#deliverRow(item.row);
      if (delivered !== null) yield delivered;
    }
  }

  #deliverRow(row: Row<F>): Followed<F> | null {
    if (!isReading(row)) {
      this.#gaps.take(row);
      return null;
    }
    const place = toPlace(row.told);
    this.#gaps.end(place);
    const { received_at: receivedAt } = row.told;
    return this.#marks.take({ place, receivedAt, values: figuresOf(row.row), rev: null }) ? row.told : null;
  }

  #deliverLive({ venue, venue_symbol, instrument, layer, rev, state }: LiveReading<F>): Followed<F> | null {
    const { received_at, status, reason = null } = state;
    const names = { venue, venue_symbol, instrument, layer };
    if (status === 'stale') this.#options.onStale?.({ ...names, reason, received_at });
    if (received_at === null || !hasFigures(state)) return null;
    if (!this.#marks.take({ place: toPlace(names), receivedAt: received_at, values: figuresOf(state), rev }))
      return null;
    return { source: 'live', ...names, received_at, reading: state };
  }
}

const readLayer = (place: string): string => place.slice(place.lastIndexOf('|') + 1);

/** Items of one place have ascending keys already, and stay in their order. */
const sortItems = <F extends Digits>(items: readonly Item<F>[]): readonly Item<F>[] =>
  items.length < 2 ? items : items.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));

/** Readings from `since` on, first of history, then live. */
export const follow = <F extends Digits>(
  request: FollowRequest,
  options: FollowOptions,
  sources: FollowSources<F>,
): AsyncGenerator<Followed<F>, void, void> => new Follower<F>(request, options, sources).readings();
