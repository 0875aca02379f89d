// Every fault a simulator knows, on listings of its own, spread over a round: most of the market is well at any time.
import { setTimeout as pause } from 'node:timers/promises';
import {
  FAULT_KINDS,
  type FaultEntry,
  type FaultKind,
  type FaultRequest,
} from '../../../infra/dev/simulator/faults.ts';

export type Target = { readonly venue: string; readonly symbol: string; readonly isInverse: boolean };
export type Inject = (request: Omit<FaultRequest, 'kind'> & { readonly kind: FaultKind }) => Promise<FaultEntry>;

/** A step of a round at a second of its `LENGTH`, about the given number of listings (0: the whole venue). */
type Step = { readonly at: number; readonly listings: number; readonly fault: Omit<FaultRequest, 'venue' | 'symbols'> };

/**
 * Seconds of a round. Faults that need requests to recover (book snapshots) and faults that refuse requests are apart. Those that cut connections
 * come last, one after the other: each refuses reconnecting clients. Long ones last over a sampling window of 10 s, so a stored gap has their cause.
 */
const ROUND_SECONDS = 36;
const STEPS: readonly Step[] = [
  { at: 1, listings: 1, fault: { kind: 'silence', stream: 'mark', durationMs: 21_000 } },
  { at: 1, listings: 1, fault: { kind: 'silence', stream: 'book', durationMs: 21_000 } },
  { at: 1, listings: 1, fault: { kind: 'silence', stream: 'trades', durationMs: 5_000 } },
  { at: 1, listings: 2, fault: { kind: 'crossed_book', durationMs: 20_500 } },
  { at: 2, listings: 1, fault: { kind: 'malformed', stream: 'mark', count: 4 } },
  { at: 2, listings: 1, fault: { kind: 'malformed', stream: 'book', count: 2 } },
  { at: 3, listings: 2, fault: { kind: 'sequence_hole', count: 2 } },
  { at: 4, listings: 1, fault: { kind: 'funding_interval_changed', hours: 2 } },
  { at: 5, listings: 1, fault: { kind: 'drop', stream: 'mark', count: 2 } },
  { at: 5, listings: 1, fault: { kind: 'drop', stream: 'trades', count: 2 } },
  { at: 5, listings: 2, fault: { kind: 'duplicate', count: 3 } },
  { at: 5, listings: 1, fault: { kind: 'reorder', stream: 'book', count: 1 } },
  { at: 6, listings: 1, fault: { kind: 'slow', stream: 'mark', delayMs: 2_500, durationMs: 5_000 } },
  { at: 6, listings: 1, fault: { kind: 'slow', stream: 'book', delayMs: 1_500, durationMs: 5_000 } },
  { at: 8, listings: 0, fault: { kind: 'clock_skew', skewMs: -4_000, durationMs: 3_000 } },
  { at: 9, listings: 0, fault: { kind: 'rate_limit', status: 429, durationMs: 3_000 } },
  { at: 13, listings: 0, fault: { kind: 'rate_limit', status: 418, durationMs: 2_000 } },
  { at: 14, listings: 0, fault: { kind: 'clock_skew', skewMs: 4_000, durationMs: 3_000 } },
  { at: 16, listings: 0, fault: { kind: 'rest_down', durationMs: 3_000 } },
  { at: 22, listings: 0, fault: { kind: 'disconnect', stream: 'mark', count: 1, durationMs: 1_500 } },
  { at: 26.5, listings: 0, fault: { kind: 'disconnect', stream: 'book', count: 1, durationMs: 2_000 } },
  { at: 29, listings: 0, fault: { kind: 'restart', keepSockets: true } },
  { at: 31, listings: 0, fault: { kind: 'restart', durationMs: 1_500 } },
];

/** Changes of listings, when the round has them: a service receives them with its next reference answer. */
const LISTINGS_AT = 4.5;

/** The subject of a fault: two faults about one subject of one listing would wait for each other. */
const toSubject = ({ kind, stream }: Step['fault']): string =>
  kind === 'sequence_hole' || kind === 'crossed_book' ? 'book' : (stream ?? kind);

/** Number of listings of a venue with which each of its faults about one subject has its own listings: two at once would be judged as one. */
const OWN_LISTINGS = Math.max(
  ...[...Map.groupBy(STEPS, ({ fault }) => toSubject(fault)).values()].map((steps) =>
    steps.reduce((sum, { listings }) => sum + listings, 0),
  ),
);

/** The first round has everything; then restarts take turns: each makes every book need a snapshot, and a venue's limit allows one a minute. */
const isDue = ({ kind, keepSockets = false }: Step['fault'], round: number): boolean =>
  kind !== 'restart' || round === 0 || keepSockets === (round % 2 === 1);

const makeRequests = (targets: readonly Target[], venue: string, round: number): [number, FaultRequest][] => {
  const symbols = targets.map(({ symbol }) => symbol);
  const taken = new Map<string, number>();
  const take = (fault: Step['fault'], count: number): string[] => {
    const subject = toSubject(fault);
    // The first listings trade all the time; a drop of trades elsewhere might wait for ever.
    const first = taken.get(subject) ?? (subject === 'trades' ? 0 : round * 5);
    taken.set(subject, first + count);
    return Array.from({ length: count }, (_, i) => symbols[(first + i) % symbols.length] ?? '');
  };
  return STEPS.filter(({ fault }) => isDue(fault, round)).map(({ at, listings, fault }) => [
    at,
    { venue, ...fault, ...(listings === 0 ? {} : { symbols: take(fault, listings) }) },
  ]);
};

type Round = { readonly venue: string; readonly number: number; readonly ms: number };

/** One round of one venue. `pool`: listings that may go; it takes one that is delisted and one that is renamed, and gives those that come. */
const injectRound = async (
  inject: Inject,
  targets: readonly Target[],
  pool: string[],
  { venue, number, ms }: Round,
): Promise<void> => {
  const began = performance.now();
  const at = (second: number): Promise<void> =>
    pause(Math.max(0, began + (second / ROUND_SECONDS) * ms - performance.now()));
  const [gone, renamed] = pool.splice(0, 2);
  const changes: [number, FaultRequest][] = [[LISTINGS_AT, { kind: 'listing_added', venue }]];
  if (gone !== undefined) changes.push([LISTINGS_AT, { kind: 'listing_delisted', venue, symbols: [gone] }]);
  if (renamed !== undefined) changes.push([LISTINGS_AT, { kind: 'listing_renamed', venue, symbols: [renamed] }]);
  const steps = [...makeRequests(targets, venue, number), ...changes].sort(([a], [b]) => a - b);
  for (const [second, request] of steps) {
    await at(second);
    const { kind, symbols } = await inject(request);
    if (kind === 'listing_added') pool.push(...symbols);
    if (kind === 'listing_renamed') pool.push(...symbols.slice(1));
  }
  await at(ROUND_SECONDS);
};

type Plan = { readonly venues: readonly string[]; readonly seconds: number };

/** As many rounds as fit, of all venues in parallel. A third of the linear listings may leave, then those that came. */
export const injectFaults = async (
  inject: Inject,
  all: readonly Target[],
  { venues, seconds }: Plan,
): Promise<void> => {
  const rounds = Math.max(1, Math.floor(seconds / 60));
  const ms = (seconds * 1_000) / rounds;
  const ofVenue = async (venue: string): Promise<void> => {
    const own = all.filter((target) => target.venue === venue);
    const linear = own.filter(({ isInverse }) => !isInverse);
    const leaving = linear.slice(-Math.min(2 * rounds, Math.ceil(linear.length / 3)));
    const staying = own.filter((target) => !leaving.includes(target));
    if (staying.length < OWN_LISTINGS)
      throw new Error(`found ${own.length} listings of ${venue}, use ${own.length + OWN_LISTINGS - staying.length}`);
    const pool = leaving.map(({ symbol }) => symbol);
    for (let number = 0; number < rounds; number++) await injectRound(inject, staying, pool, { venue, number, ms });
  };
  await Promise.all(venues.map(ofVenue));
};

/** How often each kind was injected, by venue. */
export const countKinds = (log: readonly FaultEntry[], venue: string): ReadonlyMap<FaultKind, number> =>
  new Map(FAULT_KINDS.map((kind) => [kind, log.filter((e) => e.venue === venue && e.kind === kind).length]));
