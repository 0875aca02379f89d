// What the log says about connections: names that are unique for ever, rising seq, monotone receipt, open and lost, ticks, capabilities.
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityBody, LostBody, OpenBody, RawMessage, TickBody } from '../../schemas/topics.ts';
import type { RawWriter } from '../publish.ts';
import type { Cover } from '../venues/contract/feed.ts';
import type { VenueMeters } from './meters.ts';

/** Causes a collector may give (decision L-08). */
export type LossCause =
  | 'connection_lost'
  | 'venue_down'
  | 'venue_rate_limit'
  | 'sequence_break'
  | 'collector_down'
  | 'storage_failure';

/** Anything whose messages have a `conn_id`: a socket, a poll slot, the reference requests. */
export type Source = {
  readonly connId: string;
  readonly openedAt: Micros;
  /** Since when it is named without a pause, as tasks count its alive span; null when it is over. */
  readonly aliveFrom: () => Micros | null;
  readonly frame: (payload: Uint8Array) => void;
  /** `shards` narrows an answer that concerns one listing. */
  readonly response: (request: string, payload: Uint8Array, shards?: readonly number[]) => void;
  /** Ends it, once; later calls do nothing. */
  readonly lost: (cause: LossCause, detail: string) => void;
};

type SourceNames = { readonly slot: string; readonly shards: readonly number[] };
type Opening = SourceNames & { readonly url: string; readonly covers: readonly Cover[] };

export type ConnectionLog = {
  /** Writes `open`; the connection is in the ticks until it is lost. */
  readonly open: (opening: Opening) => Source;
  /** A source of answers that is no connection: neither `open` nor ticks name it. */
  readonly attach: (names: SourceNames) => Source;
  /** An attempt that never opened, under a `conn_id` of its own. */
  readonly failed: (names: SourceNames, cause: LossCause, detail: string) => void;
  /** One tick a shard, naming the open connections that write to it. Says nothing while Kafka takes no more. */
  readonly tick: () => void;
  readonly capability: (body: CapabilityBody) => void;
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
  readonly onTickSkipped: () => void;
};

const COLLECTOR_SLOT = 'collector';

/** To a task a connection is out 3 s after the last record that names it (F-02); records take a while to be appended. */
const PAUSE: Micros = 2_000_000;

type Open = Source & SourceNames & { readonly named: (at: Micros) => void };

const toBytes = (body: OpenBody | LostBody | TickBody | CapabilityBody): Buffer => Buffer.from(JSON.stringify(body));

export const createConnectionLog = (options: ConnectionLogOptions): ConnectionLog => {
  const { writer, nowMicros, collector, shards, meters, onTickSkipped } = options;
  const everyShard = Array.from({ length: shards }, (_, shard) => shard);
  const open = new Map<string, Open>();
  const startedAt = nowMicros();
  let count = 0;

  const start = (names: SourceNames) => {
    count += 1;
    // The start instant keeps the name unique over restarts of a collector that keeps its id.
    const connId = `${collector}.${names.slot}.${count}.${startedAt}`;
    const openedAt = nowMicros();
    let seq = 0;
    let last = openedAt;
    let namedAt = openedAt;
    let aliveFrom = openedAt;
    const named = (at: Micros): void => {
      if (at - namedAt > PAUSE) aliveFrom = at;
      namedAt = at;
    };
    const write = (
      message: Pick<RawMessage, 'kind' | 'request' | 'payload'>,
      to: readonly number[] = names.shards,
    ): void => {
      seq += 1;
      last = Math.max(last, nowMicros());
      const isWritten = writer.write(to, { slot: names.slot, conn_id: connId, seq, received_at: last, ...message });
      if (isWritten && to === names.shards) named(last);
    };
    const lastReceipt = (): Micros => Math.max(last, nowMicros());
    return { connId, openedAt, write, named, lastReceipt, aliveFrom: () => aliveFrom };
  };

  const toSource = (names: SourceNames, started: ReturnType<typeof start>): Source => {
    const { connId, openedAt, write, lastReceipt } = started;
    let ended = false;
    return {
      connId,
      openedAt,
      aliveFrom: () => (ended ? null : started.aliveFrom()),
      frame: (payload) => {
        if (!ended) write({ kind: 'frame', request: null, payload });
      },
      response: (request, payload, to = names.shards) => {
        if (ended) return;
        meters.message(names.slot, 'response', payload.byteLength);
        write({ kind: 'response', request, payload }, to);
      },
      lost: (cause, detail) => {
        if (ended) return;
        ended = true;
        write({ kind: 'lost', request: null, payload: toBytes({ lost_at: lastReceipt(), cause, detail }) });
        meters.lost(cause);
        if (open.delete(connId)) meters.connections(open.size);
      },
    };
  };

  const writeOwn = (shard: number, kind: 'tick' | 'capability', body: TickBody | CapabilityBody): boolean =>
    writer.write([shard], {
      slot: COLLECTOR_SLOT,
      conn_id: collector,
      seq: 0,
      received_at: nowMicros(),
      kind,
      request: null,
      payload: toBytes(body),
    });

  const makeTick = (shard: number): TickBody => ({
    collector,
    connections: [...open.values()]
      .filter((source) => source.shards.includes(shard))
      .map(({ connId, openedAt }) => ({ conn_id: connId, opened_at: openedAt })),
  });

  return {
    open: ({ url, covers, ...names }) => {
      const started = start(names);
      started.write({ kind: 'open', request: null, payload: toBytes({ opened_at: started.openedAt, url, covers }) });
      const source = toSource(names, started);
      open.set(source.connId, { ...source, ...names, named: started.named });
      meters.connections(open.size);
      return source;
    },
    attach: (names) => toSource(names, start(names)),
    failed: (names, cause, detail) => toSource(names, start(names)).lost(cause, detail),
    tick: () => {
      if (writer.isFull()) return onTickSkipped();
      const told = everyShard.filter((shard) => writeOwn(shard, 'tick', makeTick(shard)));
      if (told.length === shards) for (const { named } of open.values()) named(nowMicros());
    },
    capability: (body) => {
      for (const shard of everyShard) writeOwn(shard, 'capability', body);
    },
    isFull: () => writer.isFull(),
    ready: () => writer.ready(),
  };
};
