// A client of the live stream that keeps a picture of what it received and reconnects, with its last id, to any available node.
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseFrames, type StreamEvent } from './stream-client.ts';

type Held = { rev: number; state: Record<string, unknown>; isUnsure: boolean };

const RETRY_MS = 100;

type Scope = { readonly venue?: string; readonly venue_symbol?: string; readonly layer?: string };

/** One stream over any number of connections; `faults` names every reading that was skipped, came twice or went back. */
export class ResumingClient {
  /** By `venue|venue_symbol|layer`. */
  readonly picture = new Map<string, Held>();
  readonly faults: string[] = [];
  /** Milliseconds from a reading's venue stamp to its arrival. */
  readonly delaysMs: number[] = [];
  readonly gaps: string[] = [];
  readonly listingsAdded: string[] = [];
  connections = 0;
  resumed = 0;
  events = 0;
  updates = 0;
  isReady = false;
  lastId = '';
  readonly query: string;
  readonly #headers: Record<string, string>;
  readonly #nodes: () => readonly string[];
  #stop: (() => void) | null = null;
  #isClosed = false;
  #running: Promise<void>;

  constructor(query: string, headers: Record<string, string>, nodes: () => readonly string[]) {
    this.query = query;
    this.#headers = headers;
    this.#nodes = nodes;
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop?.();
    await this.#running;
  }

  /** Ends the connection from this side; it reconnects. */
  cut(): void {
    this.#stop?.();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const nodes = this.#nodes();
      const node = nodes[this.connections % nodes.length];
      this.connections += 1;
      if (node !== undefined) await this.#read(node);
      this.isReady = false;
      if (!this.#isClosed) await pause(RETRY_MS);
    }
  }

  /** One connection, until it ends. */
  #read(node: string): Promise<void> {
    const headers = { ...this.#headers, ...(this.lastId === '' ? {} : { 'last-event-id': this.lastId }) };
    return new Promise((done) => {
      const call = request(`${node}/v2/stream?${this.query}`, { headers, agent: false }, (answer) => {
        let rest = '';
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => {
          if (answer.statusCode !== 200) return;
          const frames = (rest + text).split('\n\n');
          rest = frames.pop() ?? '';
          for (const event of parseFrames(frames.join('\n\n'))) this.#take(event);
        });
        answer.once('close', done);
        answer.once('error', () => done());
      });
      this.#stop = () => call.destroy();
      call.once('error', () => done());
      call.end();
    });
  }

  #take({ id, event, data }: StreamEvent): void {
    this.events += 1;
    this.lastId = id;
    if (event === 'hello' && data.resumed === true) this.resumed += 1;
    if (event === 'ready') this.isReady = true;
    if (event === 'listing') this.listingsAdded.push(`${data.change} ${data.venue_symbol}`);
    if (event === 'gap') this.#doubt(String(data.reason), data.scope as Scope);
    if (event === 'snapshot' || event === 'update') this.#keep(event, data);
  }

  /** The subject of a gap may be skipped once. */
  #doubt(reason: string, { venue, venue_symbol: symbol, layer }: Scope): void {
    this.gaps.push(reason);
    for (const [key, held] of this.picture) {
      const [v, s, l] = key.split('|');
      if ((venue ?? v) === v && (symbol ?? s) === s && (layer ?? l) === l) held.isUnsure = true;
    }
  }

  #keep(event: string, data: Record<string, unknown>): void {
    const key = `${data.venue}|${data.venue_symbol}|${data.layer}`;
    const [rev, state] = [data.rev as number, data.state as Record<string, unknown>];
    const held = this.picture.get(key);
    if (event === 'update') {
      this.updates += 1;
      const wanted = data.change === 'status' ? (held?.rev ?? 0) : (held?.rev ?? 0) + 1;
      const isWanted = held?.isUnsure ? rev >= wanted : rev === wanted;
      if (held === undefined || !isWanted) this.faults.push(`${key}: ${String(data.change)} ${rev} after ${held?.rev}`);
      if (data.change !== 'status' && typeof state.venue_ts === 'string')
        this.delaysMs.push(Date.now() - Date.parse(state.venue_ts));
    } else if (held !== undefined && rev < held.rev) {
      this.faults.push(`${key}: sent again with ${rev} after ${held.rev}`);
    }
    this.picture.set(key, { rev, state, isUnsure: false });
  }
}
