// Frames of server-sent events, read from bytes as they come (WHATWG HTML, 9.2.6): any line end, any cut, comments, lines of data joined.

export type Frame = { readonly id: string; readonly event: string; readonly data: string };

/** Nothing of the service is near it: what is larger is no stream of events. */
const LARGEST_FRAME = 16 * 1024 * 1024;

/** Lines of one frame as they come. */
class FrameBuilder {
  readonly #noteRetry: (ms: number) => void;
  #lastId: string;
  #event = '';
  #data: string[] = [];

  constructor(lastId: string, noteRetry: (ms: number) => void) {
    this.#lastId = lastId;
    this.#noteRetry = noteRetry;
  }

  /** A frame at its empty line, if it has data. */
  line(line: string): Frame | null {
    if (line === '') return this.#take();
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#lastId = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.#noteRetry(Number(value));
    return null;
  }

  #take(): Frame | null {
    const [event, data] = [this.#event, this.#data];
    this.#event = '';
    this.#data = [];
    return data.length === 0 ? null : { id: this.#lastId, event: event || 'message', data: data.join('\n') };
  }
}

/** Text of whole lines; the rest waits. */
class LineSplitter {
  #rest = '';
  #isFirst = true;

  split(text: string): string[] {
    const whole = this.#rest + (this.#isFirst && text.startsWith('\uFEFF') ? text.slice(1) : text);
    if (text !== '') this.#isFirst = false;
    // A carriage return at the end may be the first half of a line end.
    const end = whole.endsWith('\r') ? whole.length - 1 : whole.length;
    const lines = whole.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? '') + whole.slice(end);
    if (this.#rest.length > LARGEST_FRAME) throw new Error('A line of the stream has no end.');
    return lines;
  }
}

/** The frames of a stream; a frame cut off by the end is dropped. Stops reading when the consumer stops. `noteRetry` gets each `retry`. */
export async function* readFrames(
  chunks: AsyncIterable<Uint8Array>,
  lastId: string,
  noteRetry: (ms: number) => void,
): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  const splitter = new LineSplitter();
  const builder = new FrameBuilder(lastId, noteRetry);
  for await (const bytes of chunks) {
    for (const line of splitter.split(decoder.decode(bytes, { stream: true }))) {
      const frame = builder.line(line);
      if (frame !== null) yield frame;
    }
  }
}
