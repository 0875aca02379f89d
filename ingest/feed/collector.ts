// Collects one venue: turns listings into a plan, runs the plan's slots, and writes the ticks that show the collector is alive.
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { MICROS_PER_MS } from '../../schemas/instants.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import { listShards, toShard } from '../../schemas/shards.ts';
import type { CapabilityBody } from '../../schemas/topics.ts';
import type { RawWriter } from '../outlet/raw-writer.ts';
import { type CollectedVenue, type PollSlot, type Slot, toCapability } from '../venues/contract/feed.ts';
import { createBookSnapshots } from './book-snapshots.ts';
import { type ConnectionLog, createConnectionLog } from './connection-log.ts';
import { createFillIns } from './fill-ins.ts';
import type { LossCause } from './loss-cause.ts';
import type { VenueMeters } from './meters.ts';
import { createPacer } from './pacer.ts';
import { type PollSlotDeps, runPollSlot } from './poll-slot.ts';
import { followReference } from './reference.ts';
import { createRestClient, type RestClient } from './rest-client.ts';
import type { SlotRunner } from './slot-runner.ts';
import { runSocketSlot, type SocketSlotDeps, type SocketSlotRunner } from './socket-slot.ts';

export type CollectorOptions = {
  readonly venue: CollectedVenue;
  /** Override the venue's endpoints, by name. */
  readonly endpoints: Readonly<Record<string, string>>;
  /** Overrides the venue's documented limit. */
  readonly restWeightPerMinute?: number | undefined;
  readonly shards: number;
  readonly collector: string;
  readonly writer: RawWriter;
  readonly nowMicros: () => Micros;
  readonly meters: VenueMeters;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
};

export type Collector = {
  /** True once the venue has sent its listings and the slots run. */
  readonly isPlanned: () => boolean;
  /** Writes the end of every connection, with the given cause or `collector_down`. The caller still has to flush. */
  readonly stop: (cause?: LossCause, detail?: string) => void;
};

/** A collector that is silent for 3 s is treated as dead (design section 5). */
const TICK_MS = 250;

export const startCollector = (options: CollectorOptions): Collector => {
  const { venue, shards, meters, log, random, nowMicros } = options;
  const endpoints = { ...venue.endpoints, ...options.endpoints };
  const connections = createConnectionLog({
    ...options,
    onStandstill: (micros) =>
      runners.renew('collector_down', `this process stood still for ${micros / MICROS_PER_MS} ms`),
  });
  const rest = openRestClient(options);
  const declare = createDeclaration(venue, connections);
  const findShard = (venueSymbol: string): number => toShard(venueSymbol, shards);
  let listings: ReadonlyMap<string, ListingRecord> = new Map();
  const onRefused = (): void => reference.hurry();
  const answered = { rest, shardOf: findShard, isFull: connections.isFull, meters, log };
  const books = createBookSnapshots({ ...answered, venue, endpoints, listings: () => listings, onRefused });
  const fillIns = createFillIns(answered);
  const runners = new SlotRunners({
    ...{ venue, endpoints, connections, books, fillIns, rest, random, meters, onRefused, log },
    wallMs: () => nowMicros() / MICROS_PER_MS,
    symbols: () => listings.keys(),
    pacer: createPacer(venue.limits.connectionsPerMinute, venue.limits.connectionBurst),
  });

  const onListings = (known: readonly ListingRecord[]): void => {
    declare(known);
    listings = new Map(known.map((listing) => [listing.venue_symbol, listing]));
    runners.follow(venue.plan(known, { shards, shardOf: findShard, endpoints }));
  };

  declare(null);
  connections.tick();
  const ticks = setInterval(() => connections.tick(), TICK_MS);
  const everyShard = listShards(shards);
  const source = connections.attach({ slot: 'reference', shards: everyShard });
  const { ready, countStandstills } = connections;
  const reference = followReference({
    ...{ venue, endpoints, rest, source, ready, countStandstills },
    ...{ nowMicros, onListings, random, log },
  });

  return {
    isPlanned: () => runners.size > 0,
    stop: (cause = 'collector_down', detail = 'the collector stops') => {
      clearInterval(ticks);
      reference.stop();
      books.stop();
      fillIns.stop();
      runners.stop(cause, detail);
      rest.close();
    },
  };
};

const openRestClient = ({ venue, restWeightPerMinute, meters }: CollectorOptions): RestClient =>
  createRestClient({
    weightPerMinute: restWeightPerMinute ?? venue.limits.restWeightPerMinute,
    burst: venue.limits.restBurst,
    weightIsShared: venue.limits.restWeightIsShared,
    meters,
    headers: venue.headers,
  });

/** Writes the venue's capabilities: at start (null), and again when the number of listings changes them. */
const createDeclaration = (venue: CollectedVenue, connections: ConnectionLog) => {
  let declared: CapabilityBody | null = null;
  return (known: readonly ListingRecord[] | null): void => {
    const layers = known && venue.deliveries ? { ...venue.layers, ...venue.deliveries(known) } : venue.layers;
    const capability = toCapability({ name: venue.name, layers });
    if (isDeepStrictEqual(declared, capability)) return;
    declared = capability;
    connections.capability(capability);
  };
};

type Runner =
  | { readonly kind: 'socket'; readonly run: SocketSlotRunner }
  | { readonly kind: 'poll'; readonly run: SlotRunner<PollSlot> };

/** The listings of a slot that leaves the plan may move to others: it goes on until those are settled, and no longer than this. */
const LEAVES_WITHIN_MS = 300_000;
const LOOK_EVERY_MS = 100;
const NOT_PLANNED = 'no longer planned';

/** Runs the slots of the newest plan. */
class SlotRunners {
  readonly #deps: SocketSlotDeps & PollSlotDeps;
  readonly #runners = new Map<string, Runner>();
  /** Sockets that are no longer planned, with the time at which they end. */
  readonly #leaving = new Map<SocketSlotRunner, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: SocketSlotDeps & PollSlotDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#runners.size;
  }

  follow(slots: readonly Slot[]): void {
    const planned = new Set(slots.map(({ id }) => id));
    for (const id of [...this.#runners.keys()]) if (!planned.has(id)) this.#leave(id);
    for (const slot of slots) {
      const runner = this.#runners.get(slot.id);
      if (!runner) this.#start(slot);
      else if (!isDeepStrictEqual(runner.run.slot(), slot)) this.#replace(runner, slot);
    }
    this.#endLeaving();
  }

  renew(cause: LossCause, detail: string): void {
    this.#deps.log.warn({ cause, detail }, 'every connection is opened again');
    for (const { run } of this.#runners.values()) run.renew(cause, detail);
    for (const run of this.#leaving.keys()) run.renew(cause, detail);
  }

  stop(cause: LossCause, detail: string): void {
    for (const id of [...this.#runners.keys()]) this.#end(id, cause, detail);
    for (const run of this.#leaving.keys()) run.stop(cause, detail);
    this.#leaving.clear();
    clearTimeout(this.#timer);
  }

  #leave(id: string): void {
    const runner = this.#runners.get(id);
    if (runner?.kind !== 'socket') return this.#end(id, 'connection_lost', NOT_PLANNED);
    runner.run.retire();
    this.#leaving.set(runner.run, performance.now() + LEAVES_WITHIN_MS);
    this.#runners.delete(id);
  }

  #endLeaving(): void {
    clearTimeout(this.#timer);
    const isSettled = [...this.#runners.values()].every((runner) => runner.kind === 'poll' || runner.run.isSettled());
    for (const [run, untilMs] of this.#leaving) {
      if (!isSettled && performance.now() < untilMs) continue;
      run.stop('connection_lost', NOT_PLANNED);
      this.#leaving.delete(run);
    }
    if (this.#leaving.size > 0) this.#timer = setTimeout(() => this.#endLeaving(), LOOK_EVERY_MS);
  }

  #start(slot: Slot): void {
    const runner: Runner =
      slot.kind === 'socket'
        ? { kind: 'socket', run: runSocketSlot(slot, this.#deps) }
        : { kind: 'poll', run: runPollSlot(slot, this.#deps) };
    this.#runners.set(slot.id, runner);
  }

  #end(id: string, cause: LossCause, detail: string): void {
    this.#runners.get(id)?.run.stop(cause, detail);
    this.#runners.delete(id);
  }

  #replace(runner: Runner, slot: Slot): void {
    this.#deps.log.info({ slot: slot.id }, 'plan changed');
    if (runner.kind === 'socket' && slot.kind === 'socket') runner.run.replace(slot);
    else if (runner.kind === 'poll' && slot.kind === 'poll') runner.run.replace(slot);
    else {
      this.#end(slot.id, 'connection_lost', 'the slot is of another kind now');
      this.#start(slot);
    }
  }
}
