// Gap rows as incidents: which of them are one, how many listings each concerns, and when it is over (OP-01). Pure.
import { GAP_CAUSES, type GapCause } from '../../schemas/gap-causes.ts';
import type { Micros } from '../../schemas/records.ts';

/** Gap rows of one venue, layer, cause and span. Instants in microseconds. */
export type GapGroup = {
  readonly venue: string;
  readonly layer: string;
  readonly cause: GapCause;
  readonly from: Micros;
  readonly to: Micros;
  readonly listings: number;
  /** One of the listings. */
  readonly listing: string;
};

/** Missing data of a venue with one cause; gap rows that follow each other within `BREAK` are one incident. */
export type GapIncident = {
  /** Stored incidents that it is made of, the earliest first; several when a later row joined them. */
  readonly ids: readonly string[];
  readonly venue: string;
  readonly cause: GapCause;
  readonly layers: readonly string[];
  readonly from: Micros;
  readonly to: Micros;
  /** The largest number of listings affected at once. */
  readonly listings: number;
  /** The only listing; null: several. */
  readonly listing: string | null;
};

const LONGEST_WINDOW: Micros = 60_000_000;
/** Gap rows of one outage end at different windows in different layers. */
const BREAK: Micros = LONGEST_WINDOW;
/** Causes that are no fault. */
const EXPECTED: ReadonlySet<string> = new Set<GapCause>(['not_listed']);

/**
 * Groups of one layer, with the listings of others of their venue and cause that are missing at their start. Listings of several connections are lost at
 * several instants, so their spans differ; of one listing no two overlap.
 */
export const countAtOnce = (groups: readonly GapGroup[]): GapGroup[] =>
  [...Map.groupBy(groups, ({ venue, cause }) => `${venue} ${cause}`).values()].flatMap((of) => {
    const ending = of.toSorted((a, b) => a.to - b.to);
    let [sum, ended] = [0, 0];
    return of
      .toSorted((a, b) => a.from - b.from)
      .map((group) => {
        for (let next = ending[ended]; next && next.to <= group.from; next = ending[ended]) {
          sum -= next.listings;
          ended += 1;
        }
        sum += group.listings;
        return { ...group, listings: sum };
      });
  });

/** A quiet listing is no incident; a layer without any reading is one. */
export const isIncident = ({ cause, listings }: GapGroup, all: number): boolean =>
  !EXPECTED.has(cause) && (cause !== 'no_update' || listings >= all);

const toIncident = ({ venue, cause, layer, from, to, listings, listing }: GapGroup): GapIncident => ({
  ...{ ids: [], venue, cause, layers: [layer], from, to, listings },
  listing: listings === 1 ? listing : null,
});

const mergeIncidents = (one: GapIncident, other: GapIncident): GapIncident => ({
  ...one,
  ids: [...one.ids, ...other.ids],
  layers: [...new Set([...one.layers, ...other.layers])].sort(),
  to: Math.max(one.to, other.to),
  listings: Math.max(one.listings, other.listings),
  listing: one.listing === other.listing ? one.listing : null,
});

/** The open incidents with the gap rows added: the same whenever which of them became known. Ordered by their start. */
export const joinGaps = (open: readonly GapIncident[], groups: readonly GapGroup[]): readonly GapIncident[] => {
  const newest = new Map<string, number>();
  const incidents: GapIncident[] = [];
  for (const next of [...open, ...groups.map(toIncident)].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const key = `${next.venue} ${next.cause}`;
    const i = newest.get(key);
    const held = i === undefined ? undefined : incidents[i];
    if (i !== undefined && held !== undefined && next.from <= held.to + BREAK)
      incidents[i] = mergeIncidents(held, next);
    else newest.set(key, incidents.push(next) - 1);
  }
  return incidents;
};

/** True when no further row can join: rows up to `reached` are known, so every one that begins within the break. */
export const isOver = ({ to }: GapIncident, reached: Micros): boolean => to + BREAK + LONGEST_WINDOW <= reached;

/** How many listings were affected at once, of several. */
const countAffected = (listings: number): string => (listings === 1 ? 'One listing at a time' : `${listings} listings`);

export const formatNote = ({ cause, listings, listing, layers }: GapIncident): string =>
  `${GAP_CAUSES[cause] ?? cause} ${listing ?? countAffected(listings)}: ${layers.join(', ')}.`;
