// Ids of streams that have received everything: the part that streams of the same tasks share is printed once per step.
import type { Place } from '../../schemas/topics.ts';
import { type EventId, printMoment, printPlaces } from './positions.ts';
import type { Stream } from './stream.ts';

type Sent = Pick<EventId, 'sentAt' | 'lagging'>;
/** The end of the last id that was printed, and what it is of. */
type Moment = Sent & { readonly tasksKey: string; readonly text: string };

export class IdPrinter {
  readonly #places: ReadonlyMap<string, Place>;
  /** Printed places by task list, until a place moves. */
  readonly #printed = new Map<string, string>();
  #moment: Moment | null = null;

  constructor(places: ReadonlyMap<string, Place>) {
    this.#places = places;
  }

  /** The id of a stream that has received everything up to the places, and of time's changes those up to `sentAt`. */
  print({ tasks, tasksKey, request }: Stream, { sentAt, lagging }: Sent): string {
    let moment = this.#moment;
    if (moment?.sentAt !== sentAt || moment.tasksKey !== tasksKey || moment.lagging !== lagging) {
      const places = this.#printed.get(tasksKey) ?? printPlaces(tasks, this.#places);
      this.#printed.set(tasksKey, places);
      moment = { sentAt, tasksKey, lagging, text: printMoment({ sentAt, lagging }, places) };
      this.#moment = moment;
    }
    return request.selection + moment.text;
  }

  /** A place has moved. */
  forget(): void {
    this.#printed.clear();
    this.#moment = null;
  }
}
