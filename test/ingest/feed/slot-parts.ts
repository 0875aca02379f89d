// The parts of a collector around one slot, on the paper venue's server: for tests of sockets, polls and books.
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { createClock } from '../../../infra/runtime/time/clock.ts';
import { createBookSnapshots } from '../../../ingest/feed/book-snapshots.ts';
import { createConnectionLog } from '../../../ingest/feed/connection-log.ts';
import { createFillIns } from '../../../ingest/feed/fill-ins.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import { createPacer } from '../../../ingest/feed/pacer.ts';
import { createRestClient } from '../../../ingest/feed/rest-client.ts';
import { runSocketSlot } from '../../../ingest/feed/socket-slot.ts';
import {
  type Memory,
  openMemory,
  type PaperOptions,
  type PaperServer,
  type PaperSlot,
  paper,
  silentLog,
  startPaper,
  type Written,
} from '../../support/venues/paper-venue.ts';

export const clock = createClock();

export const createParts = (server: PaperServer, memory: Memory, symbols: readonly string[] = []) => {
  const meters = createMeters(new Registry()).venue('paper');
  const connections = createConnectionLog({
    writer: memory,
    nowMicros: clock.nowMicros,
    collector: 'c1',
    shards: 2,
    meters,
  });
  const rest = createRestClient({ weightPerMinute: 6_000, meters });
  const endpoints = { rest: server.rest, ws: server.ws };
  const known = paper.mapReference(
    {},
    {
      kind: 'response',
      received_at: 0,
      request: '',
      payload: Buffer.from(JSON.stringify(symbols)),
    },
  );
  const listings = new Map((known?.listings ?? []).map((listing) => [listing.venue_symbol, listing]));
  const books = createBookSnapshots({
    venue: paper,
    endpoints,
    rest,
    listings: () => listings,
    shardOf: () => 1,
    isFull: connections.isFull,
    meters,
    onRefused: () => undefined,
    log: silentLog,
  });
  const fillIns = createFillIns({
    rest,
    shardOf: () => 1,
    isFull: connections.isFull,
    meters,
    log: silentLog,
    lookEveryMs: 20,
  });
  const pacer = createPacer(paper.limits.connectionsPerMinute);
  const shared = {
    venue: paper,
    endpoints,
    connections,
    books,
    fillIns,
    wallMs: () => clock.nowMicros() / 1_000,
    rest,
    symbols: () => symbols,
    pacer,
    random: () => 0,
    meters,
    onRefused: () => undefined,
    log: silentLog,
  };
  const stop = (): void => {
    books.stop();
    fillIns.stop();
    rest.close();
  };
  return { connections, rest, stop, shared };
};

/** One socket slot on a server of its own; everything ends with the test. */
export const runSlot = async (
  t: Test,
  slotFrom: (server: PaperServer) => PaperSlot,
  options: PaperOptions & { readonly symbols?: readonly string[] } = {},
) => {
  const server = await startPaper(options);
  const memory = openMemory();
  const { stop, connections, shared } = createParts(server, memory, options.symbols);
  const runner = runSocketSlot(slotFrom(server), shared);
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  return { server, memory, runner, connections };
};

export const connIds = (messages: readonly Written[]): string[] => [...new Set(messages.map(({ conn_id }) => conn_id))];
