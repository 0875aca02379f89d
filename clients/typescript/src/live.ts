// The live stream: events in their order, over as many connections as it takes (ST-01 to ST-08).
import type { ByeEvent, Digits, ErrorItem, StreamEvent, StreamRequest } from './api-types.ts';
import { attempt, type Caller } from './call.ts';
import { ApiError, makeUnreachable } from './errors.ts';
import { Repeats } from './repeats.ts';
import { type Frame, readFrames } from './sse.ts';
import { computeReturnMs, computeWaitMs, limitTimer, pause, readLastingWaitS } from './wait.ts';

/** An event with the id after which a stream can be resumed. */
export type LiveEvent<F extends Digits = number> = StreamEvent<F> & { readonly id: string };

/** Without the id to resume from, which is sent in the header. */
export type LiveRequest = Omit<StreamRequest, 'layers' | 'lastEventId'> & {
  /** Layers of the stream, as a list or separated by commas; the first six when left out. */
  readonly layers?: string | readonly string[];
};

export type Connection =
  /** `resumed`: continues without a hole; otherwise the stream sends the whole picture again. */
  | { readonly state: 'open'; readonly resumed: boolean }
  | { readonly state: 'lost'; readonly error: ApiError; readonly waitMs: number }
  /** The service said `bye`, and that another connection is welcome. */
  | { readonly state: 'ended'; readonly reason: ByeEvent['reason']; readonly waitMs: number };

export type LiveOptions = {
  readonly signal?: AbortSignal;
  /** Id of the last event that was worked on, perhaps by another process. */
  readonly lastEventId?: string;
  /** Silence after which the connection counts as broken; default three heartbeats. */
  readonly silenceMs?: number;
  readonly onConnection?: (connection: Connection) => void;
};

const HEARTBEATS_MISSED = 3;
/** Used until the service has sent the interval of its heartbeats. */
const FIRST_SILENCE_MS = 45_000;
/** Used until the service has sent its own (ST-02). */
const FIRST_RETRY_MS = 3_000;
/** As often in a row is a stream that cannot be read opened again. */
const UNREADABLE_TRIES = 5;

/** Typed as a whole record, so that an event the document adds is added here. */
const EVENTS: Readonly<Record<StreamEvent['event'], true>> = {
  ...({ hello: true, snapshot: true, ready: true, update: true, event: true, candle: true, listing: true } as const),
  ...({ rule: true, heartbeat: true, gap: true, error: true, bye: true } as const),
};

const parseEvent = <F extends Digits>({ id, event, data }: Frame): LiveEvent<F> | null => {
  // Names may be added to the stream.
  if (!Object.hasOwn(EVENTS, event)) return null;
  try {
    return { id, event, data: JSON.parse(data) } as LiveEvent<F>;
  } catch (cause) {
    throw new ApiError([{ code: 'BAD_ANSWER', message: `The event ${event} of the stream is not JSON.` }], { cause });
  }
};

/** Rejects after so many milliseconds, and at the signal, unless it is let go. */
const awaitEnd = (ms: number, signal: AbortSignal): { readonly end: Promise<never>; readonly letGo: () => void } => {
  let letGo = (): void => undefined;
  const end = new Promise<never>((_, fail) => {
    const timer = setTimeout(() => fail(new Error(`nothing was received for ${ms} ms`)), limitTimer(ms));
    const stop = (): void => fail(signal.reason);
    signal.addEventListener('abort', stop);
    letGo = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };
  });
  return { end, letGo };
};

type Reading = { readonly silenceMs: () => number; readonly signal: AbortSignal };

/** Bytes of a body; throws when none arrive for `silenceMs`, and at the signal: not every `fetch` ends a body that is read then. */
async function* readChunks(
  body: ReadableStream<Uint8Array>,
  { silenceMs, signal }: Reading,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      signal.throwIfAborted();
      const { end, letGo } = awaitEnd(silenceMs(), signal);
      const { done, value } = await Promise.race([reader.read(), end]).finally(letGo);
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The state of one stream over its connections. */
class Live<F extends Digits> {
  readonly #caller: Caller;
  readonly #request: LiveRequest;
  readonly #options: LiveOptions;
  readonly #repeats = new Repeats();
  #lastId: string;
  #heartbeatMs: number | null = null;
  #retryMs = FIRST_RETRY_MS;
  /** Attempts since the last heartbeat. What comes at the opening proves nothing: a service may end each connection after it. */
  #failures = 0;
  /** Connections in a row that could not be read. */
  #unreadable = 0;
  #wasOpen = false;

  constructor(caller: Caller, request: LiveRequest, options: LiveOptions) {
    this.#caller = caller;
    this.#request = request;
    this.#options = options;
    this.#lastId = options.lastEventId ?? '';
  }

  async *events(): AsyncGenerator<LiveEvent<F>, void, void> {
    while (!this.#isStopped) {
      try {
        const bye = yield* this.#connection();
        if (bye?.reconnect === false) return;
        if (bye !== null) {
          await this.#return(bye);
          continue;
        }
        throw makeUnreachable(this.#caller.baseUrl, new Error('the stream ended'));
      } catch (error) {
        if (this.#isStopped) return;
        if (!(error instanceof ApiError) || !this.#isWorthAgain(error)) throw error;
        await this.#wait(error);
      }
    }
  }

  get #isStopped(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /** A stream that was once open reconnects, however long the service is unavailable; one that never was is given up like a call. */
  #isWorthAgain({ code, status, retryAfter }: ApiError): boolean {
    if ((retryAfter ?? 0) * 1_000 > this.#caller.longestWaitMs) return false;
    // A page in place of the stream: an address of another service, or, where the stream was open before, a proxy's for a while.
    if (code === 'BAD_ANSWER' && status === 200) return this.#wasOpen;
    if (code === 'BAD_ANSWER' && status === 0) return ++this.#unreadable < UNREADABLE_TRIES;
    const mayHelp = code === 'UNREACHABLE' || [429, 502, 503, 504].includes(status);
    return mayHelp && (this.#wasOpen || this.#failures < this.#caller.retries);
  }

  async #wait(error: ApiError): Promise<void> {
    const asked = this.#wasOpen ? readLastingWaitS(error.retryAfter) : error.retryAfter;
    const waitMs =
      this.#wasOpen && asked === null
        ? computeReturnMs(this.#failures, this.#retryMs)
        : computeWaitMs(this.#failures, asked);
    this.#failures += 1;
    this.#options.onConnection?.({ state: 'lost', error, waitMs });
    await pause(waitMs, this.#options.signal ?? null);
  }

  async #return({ reason }: ByeEvent): Promise<void> {
    const waitMs = computeReturnMs(this.#failures, this.#retryMs);
    this.#failures += 1;
    this.#options.onConnection?.({ state: 'ended', reason, waitMs });
    await pause(waitMs, this.#options.signal ?? null);
  }

  async #open(stop: AbortController): Promise<Response> {
    const request = { ...this.#request };
    const headers: Record<string, string> = this.#lastId === '' ? {} : { 'last-event-id': this.#lastId };
    const asked = { operation: 'stream', request, headers, accept: 'text/event-stream', signal: stop.signal } as const;
    const timer = setTimeout(
      () => stop.abort(new DOMException('no answer came', 'TimeoutError')),
      limitTimer(this.#caller.timeoutMs),
    );
    try {
      return await attempt(this.#caller, asked);
    } finally {
      clearTimeout(timer);
    }
  }

  /** One connection, until it ends; returns why the service ended it, null when it did not say so. */
  async *#connection(): AsyncGenerator<LiveEvent<F>, ByeEvent | null, void> {
    const stop = new AbortController();
    const abort = (): void => stop.abort(this.#options.signal?.reason);
    this.#options.signal?.addEventListener('abort', abort);
    try {
      const { body } = await this.#open(stop);
      if (body === null) return null;
      return yield* this.#read(body, stop.signal);
    } finally {
      this.#options.signal?.removeEventListener('abort', abort);
      stop.abort();
    }
  }

  #silenceMs(): number {
    const beats = this.#heartbeatMs === null ? FIRST_SILENCE_MS : HEARTBEATS_MISSED * this.#heartbeatMs;
    return this.#options.silenceMs ?? beats;
  }

  async *#read(
    body: ReadableStream<Uint8Array>,
    signal: AbortSignal,
  ): AsyncGenerator<LiveEvent<F>, ByeEvent | null, void> {
    const chunks = readChunks(body, { silenceMs: () => this.#silenceMs(), signal });
    const noteRetry = (ms: number): void => {
      this.#retryMs = ms;
    };
    try {
      for await (const frame of readFrames(chunks, this.#lastId, noteRetry)) {
        const event = parseEvent<F>(frame);
        if (event === null) continue;
        if (event.event === 'error') throw makeRefusal(event.data.errors);
        const taken = this.#take(event);
        if (taken !== null) yield taken;
        if (event.id === this.#lastId) this.#repeats.note(event as StreamEvent);
        else this.#repeats.forget();
        // Only now has the caller worked on it.
        this.#lastId = event.id;
        if (event.event === 'bye') return event.data;
      }
      return null;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw makeUnreachable(this.#caller.baseUrl, error);
    }
  }

  /** The event as the caller receives it; null when it was delivered before. */
  #take(event: LiveEvent<F>): LiveEvent<F> | null {
    if (event.event === 'hello') {
      this.#heartbeatMs = event.data.heartbeat_ms;
      this.#wasOpen = true;
      if (event.data.resumed) this.#repeats.resume();
      else this.#repeats.forget();
      this.#options.onConnection?.({ state: 'open', resumed: event.data.resumed });
    }
    if (event.event === 'heartbeat') {
      this.#failures = 0;
      this.#unreadable = 0;
    }
    return this.#repeats.without(event as StreamEvent) as LiveEvent<F> | null;
  }
}

const makeRefusal = (errors: readonly ErrorItem[]): ApiError => {
  const [first = { code: 'BAD_ANSWER' as const, message: 'The service ended the stream without a reason.' }, ...rest] =
    errors;
  // As a call with the same fault would be answered.
  return new ApiError([first, ...rest], { status: first.code.startsWith('AUTH') ? 401 : 403 });
};

/** Events from now on, or from after `lastEventId`. Ends when the service reports that a retry is useless, or by the signal. */
export const openLive = <F extends Digits>(
  caller: Caller,
  request: LiveRequest,
  options: LiveOptions,
): AsyncGenerator<LiveEvent<F>, void, void> => new Live<F>(caller, request, options).events();
