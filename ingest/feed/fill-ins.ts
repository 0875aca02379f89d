// Requests what sockets omitted: minutes that no frame closed, values that went quiet. Answers are written under their connection.
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { Urgency } from '../venues/contract/feed.ts';
import type { VenueRequest } from '../venues/contract/listings.ts';
import type { Source } from './connection-log.ts';
import type { VenueMeters } from './meters.ts';
import { type RestClient, RestError } from './rest-client.ts';

const KINDS = ['candle', 'confirmation'] as const satisfies readonly Urgency[];
export type FillInKind = (typeof KINDS)[number];

export type FillIn = {
  readonly symbol: string;
  readonly request: VenueRequest;
  /** Called once the answer is written. */
  readonly filled: () => void;
};

export type FillInClient = {
  readonly source: Source;
  /** What to request now; a need that was returned once is not returned again for a while. */
  readonly next: (kind: FillInKind) => FillIn | null;
};

export type FillIns = {
  readonly add: (client: FillInClient) => void;
  readonly remove: (client: FillInClient) => void;
  readonly stop: () => void;
};

type FillInsOptions = {
  readonly rest: RestClient;
  readonly shardOf: (venueSymbol: string) => number;
  /** True while Kafka accepts nothing more: an answer could not be stored, so nothing is requested. */
  readonly isFull: () => boolean;
  readonly meters: VenueMeters;
  readonly log: Logger;
  /** Interval between two checks; one second by default. */
  readonly lookEveryMs?: number;
};

/** Requests of a kind in flight; further needs wait with their connections. */
const AT_ONCE = 4;

export const createFillIns = (options: FillInsOptions): FillIns => {
  const { rest, shardOf, isFull, meters, log, lookEveryMs = 1_000 } = options;
  const clients = new Set<FillInClient>();
  const running: Record<FillInKind, number> = { candle: 0, confirmation: 0 };

  const serve = async (kind: FillInKind, { source }: FillInClient, fillIn: FillIn): Promise<void> => {
    const { symbol, request, filled } = fillIn;
    running[kind] += 1;
    meters.fillIn(kind);
    try {
      const payload = await rest.ask(request, kind);
      source.response(`${request.method} ${request.url}`, payload, [shardOf(symbol)]);
      filled();
    } catch (error) {
      if (!(error instanceof RestError)) throw error;
      log.debug({ err: error, symbol }, 'nothing to fill in with');
    } finally {
      running[kind] -= 1;
    }
    lookFor(kind);
  };

  const serveClient = (kind: FillInKind, client: FillInClient): void => {
    while (running[kind] < AT_ONCE) {
      const fillIn = client.next(kind);
      if (!fillIn) return;
      void serve(kind, client, fillIn);
    }
  };
  const lookFor = (kind: FillInKind): void => {
    if (!isFull()) for (const client of clients) serveClient(kind, client);
  };
  const look = (): void => {
    for (const kind of KINDS) lookFor(kind);
  };
  const timer = setInterval(look, lookEveryMs);

  return {
    add: (client) => {
      clients.add(client);
    },
    remove: (client) => {
      clients.delete(client);
    },
    stop: () => {
      clearInterval(timer);
      clients.clear();
    },
  };
};
