// One client of the stream: its selection, what it has received, and the frames on their way to it (ST-02 to ST-06).
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { writeJson } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Account, KeyAnswer } from '../access/key-store.ts';
import { printErrors } from '../contract/errors-text.ts';
import type { Selected } from '../live/listing-book.ts';
import { type Frame, Outbox, type OutboxDeps } from './outbox.ts';
import { makeStartId, toPartId } from './positions.ts';
import type { StreamRequest } from './request.ts';
import type { Track } from './track.ts';

type Reason = 'rotate' | 'shutdown' | 'key_ended' | 'plan_changed';
/** The part that is left out: nothing named means everything selected. */
export type Gap = {
  readonly from: Micros | null;
  readonly to: Micros;
  readonly reason: 'resume_expired' | 'slow_reader' | 'pipeline_restart';
  /** Updates left out; null when they cannot be counted. */
  readonly dropped: number | null;
  readonly scope: { readonly venue?: string; readonly venue_symbol?: string; readonly layer?: string };
};

export const formatGap = ({ from, to, reason, dropped, scope }: Gap): string =>
  writeJson({ from: formatInstantOrNull(from), to: formatInstant(to), reason, dropped, scope });

type StreamDeps = {
  readonly id: string;
  readonly account: Account;
  readonly request: StreamRequest;
  readonly out: OutboxDeps['out'];
  readonly nowMicros: () => Micros;
  /** The key as the store knows it now (E-03). */
  readonly findKey: () => Promise<KeyAnswer>;
  /** Whether the plan still narrows to what the request was read with. */
  readonly isInScope: () => boolean;
  readonly onEnd: (stream: Stream) => void;
};

type Draft = Omit<Frame, 'id'> & { readonly isStatus: boolean };

const putStatusesFirst = (drafts: readonly Draft[]): readonly Draft[] => [
  ...drafts.filter(({ isStatus }) => isStatus),
  ...drafts.filter(({ isStatus }) => !isStatus),
];

export class Stream {
  readonly id: string;
  readonly account: Account;
  readonly request: StreamRequest;
  readonly findKey: () => Promise<KeyAnswer>;
  readonly isInScope: () => boolean;
  readonly openedAt: Micros;
  /** Listings it follows, by `venue|venue_symbol`. */
  readonly selected = new Map<string, Selected>();
  readonly tracks = new Map<string, Track<Stream>>();
  /** Tasks of its venues, in the order of its ids. */
  readonly tasks: readonly string[];
  readonly tasksKey: string;
  heartbeatAt: Micros;
  readonly #outbox: Outbox;
  readonly #onEnd: (stream: Stream) => void;
  #drafts: Draft[] = [];
  #frames: Frame[] = [];
  #gatheredLength = 0;
  #lastId: string;
  #isEnded = false;

  constructor(deps: StreamDeps, tasks: readonly string[]) {
    const { id, account, request, out, nowMicros, findKey, isInScope, onEnd } = deps;
    this.id = id;
    this.account = account;
    this.request = request;
    this.findKey = findKey;
    this.isInScope = isInScope;
    this.openedAt = nowMicros();
    this.heartbeatAt = this.openedAt;
    this.tasks = tasks;
    this.tasksKey = tasks.join();
    this.#onEnd = onEnd;
    this.#lastId = makeStartId(request.selection);
    const merged: OutboxDeps['gapData'] = (gap) => formatGap({ ...gap, reason: 'slow_reader', scope: {} });
    const outboxDeps = { out, nowMicros, gapData: merged, onOverflow: () => this.#giveUp() };
    this.#outbox = new Outbox(outboxDeps, this.#lastId);
  }

  get hasDrafts(): boolean {
    return this.#drafts.length > 0;
  }

  /** Characters of data in the frames since they were last handed over. */
  get gatheredLength(): number {
    return this.#gatheredLength;
  }

  /** Id of the newest frame. */
  get lastId(): string {
    return this.#lastId;
  }

  get waitingBytes(): number {
    return this.#outbox.waitingBytes;
  }

  /** Puts an event into the step under way; `key` names listing and layer when a newer event may replace it. */
  add(event: string, data: string, key: string | null = null): void {
    this.addDraft({ event, data, key, isStatus: false });
  }

  /** One draft may be put into the steps of many streams. */
  addDraft(draft: Draft): void {
    if (!this.#isEnded) this.#drafts.push(draft);
  }

  /**
   * Ends a step: its last event acknowledges everything up to `id`, those before it no more than before. Statuses go first: a client whose
   * connection broke in between receives them again as of then, whatever they are by now, and the reading of the step for the first time.
   */
  commit(id: string): void {
    const drafts = this.#drafts.length > 1 ? putStatusesFirst(this.#drafts) : this.#drafts;
    this.#drafts = [];
    const last = drafts.length - 1;
    const partId = last > 0 && drafts[0]?.isStatus === true ? toPartId(this.#lastId) : this.#lastId;
    if (last >= 0) this.#lastId = id;
    for (const [i, { event, data, key }] of drafts.entries()) {
      this.#frames.push({ id: i === last ? id : partId, event, data, key });
      this.#gatheredLength += data.length;
    }
  }

  /** Hands the events of all steps since the last time to the client. */
  flush(): void {
    if (this.#frames.length === 0) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#gatheredLength = 0;
    this.#outbox.send(frames);
  }

  /** Calls back once, when the socket has taken everything that was handed over. */
  whenTaken(onTaken: () => void): void {
    this.#outbox.whenTaken(onTaken);
  }

  /** Merges what waits for too long; called by the clock. */
  merge(): void {
    this.#outbox.merge();
  }

  /** The last event; `errors` are the faults of the key. */
  end(reason: Reason, errors: readonly ApiError[] = []): void {
    if (this.#isEnded) return;
    if (errors.length > 0) this.add('error', printErrors(errors));
    this.commit(this.#lastId);
    this.flush();
    this.#finish(reason, { drop: false });
  }

  /** The client has disconnected. */
  drop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnd(this);
  }

  /** Too slow to be served: waiting events are discarded, and the client may connect again (ST-06). */
  #giveUp(): void {
    if (!this.#isEnded) this.#finish('rotate', { drop: true });
  }

  #finish(reason: Reason, { drop }: { readonly drop: boolean }): void {
    this.#isEnded = true;
    const data = writeJson({ reason, reconnect: reason !== 'key_ended' });
    this.#outbox.end({ id: this.#lastId, event: 'bye', data, key: null }, { drop });
    this.#onEnd(this);
  }
}
