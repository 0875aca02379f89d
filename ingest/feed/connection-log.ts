// Writes the records about connections: unique names, rising seq, monotone receipt, open and lost, ticks, capabilities.
import type { Micros } from '../../schemas/records.ts';
import { listShards } from '../../schemas/shards.ts';
import type { CapabilityBody, LostBody, OpenBody, RawMessage, TickBody } from '../../schemas/topics.ts';
import type { RawWriter } from '../outlet/raw-writer.ts';
import type { Cover } from '../venues/contract/feed.ts';
import type { LossCause } from './loss-cause.ts';
import type { VenueMeters } from './meters.ts';

/** Anything whose messages have a `conn_id`: a socket, a poll slot, the reference requests. */
export type Source = {
  readonly connId: string;
  readonly openedAt: Micros;
  /** Instant since which the log names it without a pause, as tasks count its alive span; null once it has ended. */
  readonly aliveFrom: () => Micros | null;
  readonly frame: (payload: Uint8Array) => void;
  /** `shards` narrows an answer that concerns one listing. */
  readonly response: (request: string, payload: Uint8Array, shards?: readonly number[]) => void;
  /** Ends the connection. Later calls do nothing. */
  readonly lost: (cause: LossCause, detail: string) => void;
};

type SourceNames = { readonly slot: string; readonly shards: readonly number[] };
type Attempt = SourceNames & { readonly covers: readonly Cover[] };
type Opening = Attempt & { readonly url: string };

export type ConnectionLog = {
  /** Writes `open`; ticks name the connection until it is lost. */
  readonly open: (opening: Opening) => Source;
  /** A source of answers without a connection: neither `open` nor ticks name it. */
  readonly attach: (names: SourceNames) => Source;
  /** Records an attempt that never opened, under its own `conn_id`. */
  readonly failed: (attempt: Attempt, cause: LossCause, detail: string) => void;
  /** Writes one tick a shard, naming the open connections that write to it. Writes nothing while Kafka accepts nothing more. */
  readonly tick: () => void;
  readonly capability: (body: CapabilityBody) => void;
  /** How often this process stood still so far: an answer to a request of before came at an instant that nobody knows. */
  readonly countStandstills: () => number;
  readonly isFull: () => boolean;
  readonly ready: () => Promise<void>;
};

type ConnectionLogOptions = {
  readonly writer: RawWriter;
  readonly nowMicros: () => Micros;
  /** Id of this collector; its `conn_id`s begin with it. */
  readonly collector: string;
  readonly shards: number;
  readonly meters: VenueMeters;
  /** Called when this process stood still for longer than `STANDSTILL`: every connection must end before the data that waited in it is written. */
  readonly onStandstill?: (duration: Micros) => void;
};

const COLLECTOR_SLOT = 'collector';

/**
 * A task treats a connection as out 3 s after the last record that names it (F-02). A record may be appended up to 1.6 s after its write, or be
 * taken back then and follow with the next one (`Outlet`): with a pause of 1.4 s here the log may have one of 3 s. The rest is a reserve.
 */
const PAUSE: Micros = 1_250_000;

/**
 * Tasks count every connection of a silent collector as lost after this time (F-02). Data that a venue sent meanwhile waited in the buffers of this
 * machine: its instant of receipt is unknown, and with the instant at which it is read as `received_at` it would be `present`.
 */
export const STANDSTILL: Micros = 3_000_000;

type SourceOptions = Pick<ConnectionLogOptions, 'writer' | 'nowMicros' | 'meters'> & {
  readonly connId: string;
  readonly names: SourceNames;
  readonly onLost: (source: LoggedSource) => void;
  /** Called before a message or the end is written; may end this source. */
  readonly checkStandstill: () => void;
};

const toBytes = (body: OpenBody | LostBody | TickBody | CapabilityBody): Buffer => Buffer.from(JSON.stringify(body));

/** Messages of one `conn_id`: rising seq, monotone receipt, and the span in which the log names it without a pause. */
class LoggedSource implements Source {
  readonly connId: string;
  readonly openedAt: Micros;
  readonly names: SourceNames;
  readonly #options: SourceOptions;
  #ended = false;
  #seq = 0;
  #lastReceipt: Micros;
  #namedAt: Micros;
  #aliveFrom: Micros;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.connId = options.connId;
    this.names = options.names;
    this.openedAt = options.nowMicros();
    this.#lastReceipt = this.openedAt;
    this.#namedAt = this.openedAt;
    this.#aliveFrom = this.openedAt;
  }

  aliveFrom(): Micros | null {
    return this.#ended ? null : this.#aliveFrom;
  }

  opened(url: string, covers: readonly Cover[]): void {
    this.#write({ kind: 'open', request: null, payload: toBytes({ opened_at: this.openedAt, url, covers }) });
  }

  frame(payload: Uint8Array): void {
    this.#options.checkStandstill();
    if (!this.#ended) this.#write({ kind: 'frame', request: null, payload });
  }

  response(request: string, payload: Uint8Array, shards: readonly number[] = this.names.shards): void {
    this.#options.checkStandstill();
    if (this.#ended) return;
    this.#options.meters.message(this.names.slot, 'response', payload.byteLength);
    this.#write({ kind: 'response', request, payload }, shards);
  }

  lost(cause: LossCause, detail: string, covers?: readonly Cover[]): void {
    // After a standstill a timer, as that of an answer that did not come, may run before the tick.
    if (!this.#ended) this.#options.checkStandstill();
    if (this.#ended) return;
    this.#ended = true;
    const lostAt = Math.max(this.#lastReceipt, this.#options.nowMicros());
    this.#write({
      kind: 'lost',
      request: null,
      payload: toBytes({ lost_at: lostAt, cause, detail, ...(covers && { covers }) }),
    });
    this.#options.meters.lost(cause);
    this.#options.onLost(this);
  }

  /** Every shard has a record of this instant that names the connection. */
  named(at: Micros): void {
    if (at - this.#namedAt > PAUSE) this.#aliveFrom = at;
    this.#namedAt = at;
  }

  #write(message: Pick<RawMessage, 'kind' | 'request' | 'payload'>, shards = this.names.shards): void {
    const { writer, nowMicros } = this.#options;
    this.#seq += 1;
    this.#lastReceipt = Math.max(this.#lastReceipt, nowMicros());
    const received = { slot: this.names.slot, conn_id: this.connId, seq: this.#seq, received_at: this.#lastReceipt };
    const isWritten = writer.write(shards, { ...received, ...message });
    if (isWritten && shards === this.names.shards) this.named(this.#lastReceipt);
  }
}

export const createConnectionLog = (options: ConnectionLogOptions): ConnectionLog => {
  const { writer, nowMicros, collector, shards, meters, onStandstill } = options;
  const everyShard = listShards(shards);
  const open = new Set<LoggedSource>();
  const startedAt = nowMicros();
  let count = 0;
  let checkedAt = startedAt;
  let standstills = 0;

  const checkStandstill = (): void => {
    const at = nowMicros();
    const duration = at - checkedAt;
    checkedAt = at;
    if (duration <= STANDSTILL) return;
    standstills += 1;
    onStandstill?.(duration);
  };
  const onLost = (source: LoggedSource): void => {
    if (open.delete(source)) meters.connections(open.size);
  };
  const startSource = (names: SourceNames): LoggedSource => {
    count += 1;
    // The start instant keeps the name unique across restarts with the same collector id.
    const connId = `${collector}.${names.slot}.${count}.${startedAt}`;
    return new LoggedSource({ writer, nowMicros, meters, connId, names, onLost, checkStandstill });
  };
  const writeOwn = (shard: number, kind: 'tick' | 'capability', body: TickBody | CapabilityBody): boolean => {
    const own = { slot: COLLECTOR_SLOT, conn_id: collector, seq: 0, received_at: nowMicros() };
    return writer.write([shard], { ...own, kind, request: null, payload: toBytes(body) });
  };

  return {
    open: ({ url, covers, ...names }) => {
      const source = startSource(names);
      source.opened(url, covers);
      open.add(source);
      meters.connections(open.size);
      return source;
    },
    attach: startSource,
    failed: ({ covers, ...names }, cause, detail) => startSource(names).lost(cause, detail, covers),
    tick: () => {
      checkStandstill();
      if (writer.isFull()) return meters.tickSkipped();
      const written = everyShard.filter((shard) => writeOwn(shard, 'tick', toTick(collector, open, shard)));
      if (written.length === shards) for (const source of open) source.named(nowMicros());
    },
    capability: (body) => {
      for (const shard of everyShard) writeOwn(shard, 'capability', body);
    },
    countStandstills: () => {
      checkStandstill();
      return standstills;
    },
    isFull: () => writer.isFull(),
    ready: () => writer.ready(),
  };
};

const toTick = (collector: string, open: Iterable<LoggedSource>, shard: number): TickBody => ({
  collector,
  connections: [...open]
    .filter((source) => source.names.shards.includes(shard))
    .map(({ connId, openedAt }) => ({ conn_id: connId, opened_at: openedAt })),
});
