// Collects one venue: listings to a plan, the plan to running slots, and the ticks that say the collector is alive.
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../infra/runtime/log.ts';
import { MICROS_PER_MS } from '../../schemas/instants.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import { shardOf } from '../../schemas/shards.ts';
import type { CapabilityBody } from '../../schemas/topics.ts';
import type { RawWriter } from '../publish.ts';
import {
  type CollectedVenue,
  type PollSlot,
  type Slot,
  type SocketSlot,
  toCapability,
} from '../venues/contract/feed.ts';
import { createBookSnapshots } from './book-snapshots.ts';
import { createConnectionLog, type LossCause } from './connection-log.ts';
import { createFillIns } from './fill-ins.ts';
import type { VenueMeters } from './meters.ts';
import { createPacer } from './pacer.ts';
import { runPollSlot } from './poll-slot.ts';
import { followReference } from './reference.ts';
import { createRestClient } from './rest-client.ts';
import type { SlotRunner } from './slot-runner.ts';
import { runSocketSlot } from './socket-slot.ts';

export type CollectorOptions = {
  readonly venue: CollectedVenue;
  /** Laid over the venue's own endpoints, name by name. */
  readonly endpoints: Readonly<Record<string, string>>;
  /** In place of the limit the venue documents. */
  readonly restWeightPerMinute?: number | undefined;
  readonly shards: number;
  readonly collector: string;
  readonly writer: RawWriter;
  readonly nowMicros: () => Micros;
  readonly meters: VenueMeters;
  readonly onTickSkipped: () => void;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
};

export type Collector = {
  /** The venue has named its listings and the slots run. */
  readonly isPlanned: () => boolean;
  /** Ends every connection in the log, with the cause given or `collector_down`. What is written still has to be flushed by the caller. */
  readonly stop: (cause?: LossCause, detail?: string) => void;
};

/** Design section 5: a collector's silence of 3 s means it is dead. */
const TICK_MS = 250;

type Runner =
  | { readonly kind: 'socket'; readonly run: SlotRunner<SocketSlot> }
  | { readonly kind: 'poll'; readonly run: SlotRunner<PollSlot> };

export const startCollector = (options: CollectorOptions): Collector => {
  const { venue, shards, meters, log, random, nowMicros } = options;
  const endpoints = { ...venue.endpoints, ...options.endpoints };
  const connections = createConnectionLog(options);
  const rest = createRestClient({
    weightPerMinute: options.restWeightPerMinute ?? venue.limits.restWeightPerMinute,
    burst: venue.limits.restBurst,
    weightIsShared: venue.limits.restWeightIsShared,
    meters,
    headers: venue.headers,
  });
  const shard = (venueSymbol: string): number => shardOf(venueSymbol, shards);
  let listings: ReadonlyMap<string, ListingRecord> = new Map();
  const { isFull, ready } = connections;
  const books = createBookSnapshots({
    venue,
    endpoints,
    rest,
    listings: () => listings,
    shardOf: shard,
    isFull,
    meters,
    onRefused: () => reference.hurry(),
    log,
  });
  const fillIns = createFillIns({ rest, shardOf: shard, isFull, meters, log });
  const deps = {
    venue,
    endpoints,
    connections,
    books,
    fillIns,
    wallMs: () => nowMicros() / MICROS_PER_MS,
    rest,
    symbols: () => listings.keys(),
    pacer: createPacer(venue.limits.connectionsPerMinute, venue.limits.connectionBurst),
    random,
    meters,
    onRefused: () => reference.hurry(),
    log,
  };
  const runners = new Map<string, Runner>();
  let stated: CapabilityBody | null = null;

  /** Said at start and again when the number of listings changes what can be had. */
  const state = (known: readonly ListingRecord[] | null): void => {
    const layers = known && venue.deliveries ? { ...venue.layers, ...venue.deliveries(known) } : venue.layers;
    const capability = toCapability({ name: venue.name, layers });
    if (isDeepStrictEqual(stated, capability)) return;
    stated = capability;
    connections.capability(capability);
  };

  const start = (slot: Slot): void => {
    if (slot.kind === 'socket') runners.set(slot.id, { kind: 'socket', run: runSocketSlot(slot, deps) });
    else runners.set(slot.id, { kind: 'poll', run: runPollSlot(slot, deps) });
  };
  const end = (id: string, cause: LossCause, detail: string): void => {
    runners.get(id)?.run.stop(cause, detail);
    runners.delete(id);
  };
  const follow = (slot: Slot): void => {
    const runner = runners.get(slot.id);
    if (!runner) start(slot);
    else if (!isDeepStrictEqual(runner.run.slot(), slot)) change(runner, slot);
  };
  const change = (runner: Runner, slot: Slot): void => {
    log.info({ slot: slot.id }, 'plan changed');
    if (runner.kind === 'socket' && slot.kind === 'socket') runner.run.replace(slot);
    else if (runner.kind === 'poll' && slot.kind === 'poll') runner.run.replace(slot);
    else {
      end(slot.id, 'connection_lost', 'the slot is of another kind now');
      start(slot);
    }
  };
  const replan = (known: readonly ListingRecord[]): void => {
    state(known);
    listings = new Map(known.map((listing) => [listing.venue_symbol, listing]));
    const slots = venue.plan(known, { shards, shardOf: shard, endpoints });
    const planned = new Set(slots.map(({ id }) => id));
    for (const id of [...runners.keys()]) if (!planned.has(id)) end(id, 'connection_lost', 'no longer planned');
    for (const slot of slots) follow(slot);
  };

  state(null);
  connections.tick();
  const ticks = setInterval(() => connections.tick(), TICK_MS);
  const everyShard = Array.from({ length: shards }, (_, index) => index);
  const reference = followReference({
    venue,
    endpoints,
    rest,
    source: connections.attach({ slot: 'reference', shards: everyShard }),
    ready,
    nowMicros,
    onListings: replan,
    random,
    log,
  });

  return {
    isPlanned: () => runners.size > 0,
    stop: (cause = 'collector_down', detail = 'the collector stops') => {
      clearInterval(ticks);
      reference.stop();
      books.stop();
      fillIns.stop();
      for (const id of [...runners.keys()]) end(id, cause, detail);
      rest.close();
    },
  };
};
