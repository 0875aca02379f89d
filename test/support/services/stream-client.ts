// A client of the live stream as a user would write one: fetch, frames split at blank lines, events in the order they came.
import { Writable } from 'node:stream';
import { BOUND_MS } from '../wait.ts';

export type StreamEvent = { readonly id: string; readonly event: string; readonly data: Record<string, unknown> };

const POLL_MS = 5;

const parseFrame = (text: string): StreamEvent | null => {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get('data');
  if (data === undefined) return null;
  return {
    id: fields.get('id') ?? '',
    event: fields.get('event') ?? '',
    data: JSON.parse(data) as Record<string, unknown>,
  };
};

/** Events of whole frames. */
export const parseFrames = (text: string): StreamEvent[] =>
  text.split('\n\n').flatMap((frame) => {
    const event = parseFrame(frame);
    return event === null ? [] : [event];
  });

/** A connection that keeps the events written to it. */
export const collectEvents = (): { readonly out: Writable; readonly events: StreamEvent[] } => {
  const events: StreamEvent[] = [];
  const out = new Writable({
    write(text, _encoding, done) {
      events.push(...parseFrames(String(text)));
      done();
    },
  });
  return { out, events };
};

export class StreamClient {
  readonly events: StreamEvent[] = [];
  readonly status: number;
  readonly headers: Headers;
  /** Every byte received, as text. */
  text = '';
  isEnded = false;
  readonly #stop: AbortController;
  readonly #reading: Promise<void>;

  private constructor(response: Response, stop: AbortController) {
    this.status = response.status;
    this.headers = response.headers;
    this.#stop = stop;
    this.#reading = this.#read(response.body);
  }

  /** Opens a stream; one that was refused has a status other than 200 and its JSON in `text`. */
  static async open(url: string, headers: Record<string, string>): Promise<StreamClient> {
    const stop = new AbortController();
    return new StreamClient(await fetch(url, { headers, signal: stop.signal }), stop);
  }

  /** Events of one name. */
  named(event: string): StreamEvent[] {
    return this.events.filter((e) => e.event === event);
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? '';
  }

  /** Waits until `holds` does; the failure message contains the events so far. */
  async until(holds: (events: readonly StreamEvent[]) => boolean): Promise<void> {
    const end = Date.now() + BOUND_MS;
    while (!holds(this.events)) {
      if (Date.now() > end) throw new Error(`never came; events: ${this.events.map((e) => e.event).join(', ')}`);
      await new Promise((resume) => setTimeout(resume, POLL_MS));
    }
  }

  async untilCount(event: string, count: number): Promise<StreamEvent[]> {
    await this.until((events) => events.filter((e) => e.event === event).length >= count);
    return this.named(event);
  }

  /** Waits until the server has ended the stream. */
  async ended(): Promise<void> {
    await this.#reading;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }

  async #read(body: ReadableStream<Uint8Array> | null): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const bytes of body ?? []) {
        const text = decoder.decode(bytes, { stream: true });
        this.text += text;
        const frames = (rest + text).split('\n\n');
        rest = frames.pop() ?? '';
        this.events.push(...parseFrames(frames.join('\n\n')));
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.text += `\n${String(error)}`;
    }
    this.isEnded = true;
  }
}
