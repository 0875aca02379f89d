// One task: a pure machine over one raw partition. Records in, outputs out; time comes only from the records (design section 5).
import { completeWork, type Interruptible } from '../../infra/runtime/process/steps.ts';
import type { MappedVenue } from '../../ingest/venues/contract/mapping.ts';
import type { Micros } from '../../schemas/records.ts';
import { formatTask, type RawMessage } from '../../schemas/topics.ts';
import { computeWatermark, pushDeadLetter, type TaskContext } from './context.ts';
import { applyMessage } from './intake.ts';
import { createOutputs, type Outputs } from './outputs.ts';
import { countPresences, type Presences } from './presence.ts';
import { beginRecovered, resumePublishing } from './recovery-start.ts';
import { createState, type TaskState, type TaskView } from './state.ts';
import { createStore, type Snapshot, type Store } from './store.ts';
import { advanceTime, beginLog, publishTime } from './time.ts';

export type LogRecord = {
  readonly offset: number;
  readonly timestampMs: number;
  /** Null when the record is no raw message; it becomes a dead letter with its bytes. */
  readonly message: RawMessage | null;
  readonly payload?: Uint8Array;
};

export type TaskSpec = {
  readonly venue: MappedVenue;
  readonly partition: number;
  /** Number of partitions of the raw topic: a task maps only the listings of its own partition. */
  readonly shards: number;
  /** A restored state; without it the task starts empty. */
  readonly state?: TaskState;
  /** Creates the store of that state; tests pass one that also detects changes around it. */
  readonly openStore?: (state: TaskState) => Store;
};

/** Runs at the first record of a life. */
const begin = (context: TaskContext): void => {
  const { store, state } = context;
  beginLog(store);
  if (state.recovery !== null) beginRecovered(context, state.recovery);
};

export class Task {
  readonly #context: TaskContext;

  constructor({ venue, partition, shards, state: begun = createState(), openStore = createStore }: TaskSpec) {
    const store = openStore(begun);
    const { state } = store;
    const waiting = [...state.books].filter(([, book]) => book.pending !== null);
    waiting.sort(([, a], [, b]) => (a.pending ?? 0) - (b.pending ?? 0));
    this.#context = {
      id: formatTask(venue.id, partition),
      venue,
      partition,
      shards,
      store,
      state,
      listings: new Map([...state.listings.values()].map((l) => [l.symbol, l.version.record])),
      owned: new Map(),
      pending: new Set(waiting.map(([key]) => key)),
      advancedTo: -1,
      out: createOutputs(-1),
    };
  }

  get id(): string {
    return this.#context.id;
  }

  get state(): TaskView {
    return this.#context.state;
  }

  /** W: everything recorded up to here has been applied. */
  get watermark(): Micros {
    return computeWatermark(this.#context.state);
  }

  /** Counts of valid values as of the last applied record. */
  presences(): Presences {
    return countPresences(this.#context);
  }

  /** Starts a checkpoint: its items keep their current state, whatever is processed before they are saved. */
  beginSnapshot(): Snapshot {
    return this.#context.store.beginSnapshot();
  }

  /** Applies one raw record and returns its outputs. A record at or below the last applied offset has none. */
  process(record: LogRecord): Outputs {
    return completeWork(this.apply(record));
  }

  /** As `process`, with pauses. Until it is complete, no checkpoint may begin with the state, and no other record may be applied. */
  *apply({ offset, timestampMs, message, payload = new Uint8Array() }: LogRecord): Interruptible<Outputs> {
    const context = this.#context;
    const { store, state } = context;
    context.out = createOutputs(offset);
    if (offset <= state.offset) return context.out;
    store.changeCore((core) => {
      core.offset = offset;
      core.recordedAt = Math.max(core.recordedAt, timestampMs * 1000);
    });
    if (state.startedAt === null) begin(context);
    const { recovery } = state;
    const isUnpublished = recovery !== null && offset > recovery.spokenTo;
    if (isUnpublished)
      resumePublishing(context, recovery, Math.min(message?.received_at ?? Infinity, state.recordedAt));
    yield* advanceTime(context);
    if (isUnpublished) {
      store.changeCore((core) => {
        core.recovery = null;
      });
    }
    if (message === null) pushDeadLetter(context, { code: 'RAW_BAD_RECORD', text: 'no raw message', payload });
    else yield* applyMessage(context, message);
    yield* publishTime(context);
    return context.out;
  }
}
