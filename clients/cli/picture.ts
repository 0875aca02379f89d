// What the live stream has sent so far, as the rows of a terminal: pure, so that a test can look at it.
import { figuresOf, type LiveEvent, type StreamState } from '../typescript/src/index.ts';
import { clipLine, colourText, formatSeconds, listTableLines, type Row, type Streams } from './output.ts';
import { formatCount, formatShortValues } from './rows.ts';

type Held = {
  readonly venue: string;
  readonly symbol: string;
  readonly layer: string;
  readonly state: StreamState<string>;
};

export class Picture {
  readonly #held = new Map<string, Held>();
  #connections: Readonly<Record<string, 'up' | 'down'>> = {};
  #updates = 0;
  #gaps = 0;
  /** Offset of the service's clock from this machine's: ages are by the service's. */
  #aheadMs = 0;
  /** The state of the connection. */
  connection = 'connecting';

  take(event: LiveEvent<string>, nowMs: number): void {
    if (event.event === 'hello') {
      this.#aheadMs = Date.parse(event.data.evaluated_at) - nowMs;
      // Everything there is comes again; what went meanwhile does not.
      if (!event.data.resumed) this.#held.clear();
    }
    if (event.event === 'snapshot' || event.event === 'update') {
      const { venue, venue_symbol: symbol, layer, state } = event.data;
      this.#held.set(`${venue}|${symbol}|${layer}`, { venue, symbol, layer, state });
      if (event.event === 'update') this.#updates += 1;
    } else if (event.event === 'heartbeat') {
      this.#connections = event.data.connections;
      this.#aheadMs = Date.parse(event.data.at) - nowMs;
    }
    if (event.event === 'gap') this.#gaps += 1;
    if (event.event === 'listing' && event.data.change === 'delisted') this.#forget(event.data);
  }

  #forget({ venue, venue_symbol: symbol }: { readonly venue: string; readonly venue_symbol: string }): void {
    for (const [place, one] of this.#held) if (one.venue === venue && one.symbol === symbol) this.#held.delete(place);
  }

  #rows(nowMs: number): Row[] {
    const held = [...this.#held].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
    return held.map(({ venue, symbol, layer, state }) => {
      const { status, reason, received_at } = state;
      const age = received_at === null ? null : Math.max(0, nowMs + this.#aheadMs - Date.parse(received_at));
      const figures = figuresOf(state);
      const values = Object.keys(figures).length > 0 ? formatShortValues(figures, state.units) : (reason ?? '');
      return { venue, symbol, layer, status, age: formatSeconds(age), values };
    });
  }

  /** As many lines as fit, each of them cut to the width, the last one about the stream. */
  lines(stream: Streams['out'], nowMs: number): readonly string[] {
    // A terminal that does not know its size reports 0.
    const room = Math.max(3, (stream.rows || 24) - 1);
    const lines = listTableLines(this.#rows(nowMs), stream);
    const shown = lines.slice(0, room - 1);
    const hidden = lines.length - shown.length;
    const down = Object.entries(this.#connections).flatMap(([venue, state]) => (state === 'down' ? [venue] : []));
    const note = [
      this.connection,
      formatCount(this.#updates, 'update'),
      ...(this.#gaps === 0 ? [] : [formatCount(this.#gaps, 'gap')]),
      ...(down.length === 0 ? [] : [`${colourText('down', stream)}: ${down.join(', ')}`]),
      ...(hidden === 0 ? [] : [`${hidden} more, narrow --where`]),
    ].join(' · ');
    // A line that wraps would move all those below it.
    return [...shown, note].map((line) => clipLine(line, stream.columns || 80));
  }
}
