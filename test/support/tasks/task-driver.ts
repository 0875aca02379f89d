// Synchronous driver of a task: raw messages in, outputs out, with a log whose clock the test holds.
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { Outputs } from '../../../processors/task/outputs.ts';
import { type LogRecord, Task, type TaskSpec } from '../../../processors/task/task.ts';
import type { OpenBody, RawMessage } from '../../../schemas/topics.ts';
import { openFrozenStore } from './frozen-store.ts';

/** The start of every test's log, in microseconds; another one by LOG_START, as of a run over a midnight of `history-oracle`. */
export const START = Date.parse(process.env['LOG_START'] ?? '2026-01-15T12:00:00Z') * 1_000;
export const SECOND = 1_000_000;

export type Appended = LogRecord & { readonly message: RawMessage };

/** A log under construction: every append is 1 ms after its receipt unless the test sets another time. */
export class TestLog {
  readonly records: Appended[] = [];
  readonly #seqs = new Map<string, number>();
  now = START;

  append(
    message: Omit<RawMessage, 'seq' | 'received_at'> & { seq?: number; received_at?: number },
    recordedAt?: number,
  ): Appended {
    const receivedAt = message.received_at ?? this.now;
    const timed = message.kind === 'tick' || message.kind === 'capability';
    const seq = message.seq ?? (timed ? 0 : (this.#seqs.get(message.conn_id) ?? 0) + 1);
    if (!timed) this.#seqs.set(message.conn_id, seq);
    const record = {
      offset: this.records.length,
      timestampMs: Math.ceil((recordedAt ?? receivedAt + 1_000) / 1000),
      message: { ...message, seq, received_at: receivedAt },
    };
    this.records.push(record);
    return record;
  }

  json(
    kind: RawMessage['kind'],
    slot: string,
    connId: string,
    body: unknown,
    extra: { request?: string; recordedAt?: number } = {},
  ): Appended {
    const payload = Buffer.from(JSON.stringify(body));
    return this.append({ kind, slot, conn_id: connId, request: extra.request ?? null, payload }, extra.recordedAt);
  }

  open(connId: string, slot: string, covers: OpenBody['covers']): Appended {
    return this.json('open', slot, connId, { opened_at: this.now, url: 'wss://test', covers } satisfies OpenBody);
  }

  tick(connections: readonly string[], collector: string | null = 'c1'): Appended {
    const named = connections.map((conn_id) => ({ conn_id, opened_at: START }));
    return this.json('tick', collector === null ? 'owner' : 'collector', collector ?? 'owner', {
      collector,
      connections: named,
    });
  }

  capability(venue: Venue): Appended {
    return this.json('capability', 'collector', 'c1', toCapability(venue));
  }

  /** Moves the clock and ticks every `everyMs` on the way. */
  run(forUs: number, connections: readonly string[], everyUs = 250_000, collector: string | null = 'c1'): void {
    const end = this.now + forUs;
    while (this.now + everyUs <= end) {
      this.now += everyUs;
      this.tick(connections, collector);
    }
    this.now = end;
  }
}

/** The state is frozen between changes: a change around the store fails the test. */
export const runTask = (
  spec: TaskSpec,
  records: readonly LogRecord[],
): { readonly task: Task; readonly outputs: readonly Outputs[] } => {
  const task = new Task({ openStore: openFrozenStore, ...spec });
  return { task, outputs: records.map((record) => task.process(record)) };
};

export const listRows = (outputs: readonly Outputs[], table?: string) =>
  outputs.flatMap((o) => o.rows.flatMap((r) => (r.row && (!table || r.row.table === table) ? [r.row] : [])));
export const listReadings = (outputs: readonly Outputs[], layer?: string) =>
  outputs.flatMap((o) =>
    o.live.flatMap((e) => (e.reading && (!layer || e.reading.layer === layer) ? [e.reading] : [])),
  );
