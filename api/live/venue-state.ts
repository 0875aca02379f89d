// Whether a venue is live, degraded or down, and since when (V-01).
import { STATE_LAG } from '../../schemas/freshness.ts';
import type { Micros } from '../../schemas/records.ts';
import { FOLLOWED, type Span } from '../../schemas/topics.ts';
import type { LiveMemory, LiveVenue } from './memory.ts';

/** A slot lost longer ago than this was given up with its listings, and does not concern the present. */
const FORGET_LOST: Micros = 3_600_000_000;

type VenueState = { readonly state: 'live' | 'degraded' | 'down'; readonly since: Micros | null };

/** The changes of the numbers of open connections and of faults at an instant. */
type Turn = { readonly at: Micros; readonly open: number; readonly wrong: number };

/** A slot is lost from the end of its last open connection until another one opens or it is forgotten. What is after `until` counts from then. */
const listSlotTurns = ([slot, spans]: readonly [string, readonly Span[]], until: Micros): Turn[] => {
  const turns: Turn[] = [];
  const lost: Turn[] = [];
  let end: Micros | null = null;
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    if (end !== null && end < from) lost.push(...makeLostTurns(end, from));
    const stop = to ?? Number.POSITIVE_INFINITY;
    turns.push({ at: Math.min(from, until), open: 1, wrong: 0 });
    if (to !== null) turns.push({ at: Math.min(to, until), open: -1, wrong: 0 });
    end = Math.max(end ?? stop, stop);
  }
  if (end !== null && end !== Number.POSITIVE_INFINITY)
    lost.push(...makeLostTurns(Math.min(end, until), Number.POSITIVE_INFINITY));
  return slot === FOLLOWED ? turns : [...turns, ...lost];
};

const makeLostTurns = (from: Micros, to: Micros): Turn[] => [
  { at: from, open: 0, wrong: 1 },
  { at: Math.min(to, from + FORGET_LOST), open: 0, wrong: -1 },
];

type KnownTurns = {
  /** Changes of the books that the turns are from. */
  readonly changes: number;
  /** The newest instant of their spans. */
  readonly newest: Micros;
  readonly turns: readonly Turn[];
};

/** An unstable venue has thousands of spans, and anybody may ask for its state: its turns are listed once for each change. */
const known = new WeakMap<LiveVenue, KnownTurns>();

const listTurns = (venue: LiveVenue, at: Micros): readonly Turn[] => {
  const books = [...venue.partitions.values()].map(({ connections }) => connections);
  const changes = books.reduce((sum, book) => sum + book.changes, 0);
  const kept = known.get(venue);
  if (kept?.changes === changes && kept.newest <= at) return kept.turns;
  let newest = 0;
  for (const book of books) for (const { from, to } of book.spans()) newest = Math.max(newest, from, to ?? 0);
  const slots = books.flatMap((book) => [...Map.groupBy(book.spans(), ({ slot }) => slot)]);
  const turns = slots.flatMap((slot) => listSlotTurns(slot, at)).sort((a, b) => a.at - b.at);
  if (newest <= at) known.set(venue, { changes, newest, turns });
  return turns;
};

/**
 * Down without an open connection; degraded while one of its slots is lost or the pipeline is behind; else live. `since` is the last change of
 * that as far as the spans that are known tell: one more connection of a live venue leaves it.
 */
export const deriveVenueState = (live: LiveMemory, venue: LiveVenue, at: Micros): VenueState => {
  const watermark = live.watermark(venue.venue);
  let turns = listTurns(venue, at);
  if (watermark !== null && live.isBehind(venue.venue, at)) {
    const behind = { at: watermark + STATE_LAG, open: 0, wrong: 1 };
    const place = turns.findLastIndex((turn) => turn.at <= behind.at) + 1;
    turns = turns.toSpliced(place, 0, behind);
  }
  let [open, wrong] = [0, 0];
  let held: VenueState = { state: 'down', since: null };
  for (let i = 0; i < turns.length; i++) {
    const turn = turns[i] as Turn;
    if (turn.at > at) break;
    open += turn.open;
    wrong += turn.wrong;
    if (turns[i + 1]?.at === turn.at) continue;
    const state = open === 0 ? 'down' : wrong > 0 ? 'degraded' : 'live';
    if (state !== held.state) held = { state, since: turn.at };
  }
  // A pipeline that never reported how far it is.
  return watermark === null && held.state !== 'down' ? { state: 'degraded', since: null } : held;
};
