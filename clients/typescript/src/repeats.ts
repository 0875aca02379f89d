// Removes what a resumed stream sends a second time: a connection may break between two events of one step, which is then sent again (ST-05).
import type { StreamEvent } from './api-types.ts';

type Listed = { readonly venue: string; readonly venue_symbol: string };

const toPlace = ({ venue, venue_symbol }: Listed): string => `${venue}|${venue_symbol}`;

/** Names of an event's content; an event without one is delivered as often as it comes. */
const listNames = (event: StreamEvent): readonly string[] => {
  switch (event.event) {
    case 'update': {
      const { layer, rev, change, state } = event.data;
      return [
        `update|${toPlace(event.data)}|${layer}|${rev}|${change === 'status' ? `${state.status}|${state.reason}` : ''}`,
      ];
    }
    case 'event':
      return event.data.rows.map(({ id }) => `row|${toPlace(event.data)}|${event.data.layer}|${id}`);
    case 'candle': {
      const { timeframe, price_type, row } = event.data;
      return [`candle|${toPlace(event.data)}|${timeframe}|${price_type}|${row.open_time}`];
    }
    case 'listing':
      return [`listing|${toPlace(event.data)}|${event.data.change}|${event.data.record.received_at}`];
    default:
      return [];
  }
};

/** Remembers what was delivered since the last place that the stream can be resumed at. */
export class Repeats {
  #delivered = new Set<string>();
  #isResumed = false;

  /** The stream was resumed: what was delivered since its last place may come again. */
  resume(): void {
    this.#isResumed = true;
  }

  /** The stream can be resumed after everything that was delivered, or begins anew, where everything is sent again on purpose. */
  forget(): void {
    this.#delivered.clear();
    this.#isResumed = false;
  }

  /** The event without what was delivered before; null when nothing is left of it. */
  without<Event extends StreamEvent>(event: Event): Event | null {
    const names = listNames(event as StreamEvent);
    if (!this.#isResumed || !names.some((name) => this.#delivered.has(name))) return event;
    if (event.event !== 'event') return null;
    const rows = event.data.rows.filter((_, at) => !this.#delivered.has(names[at] ?? ''));
    return rows.length === 0 ? null : ({ ...event, data: { ...event.data, rows } } as Event);
  }

  /** The event was given to the caller, and the stream cannot be resumed after it. */
  note(event: StreamEvent): void {
    for (const name of listNames(event)) this.#delivered.add(name);
  }
}
