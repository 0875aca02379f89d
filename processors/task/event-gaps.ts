// Stretches in which no trade or liquidation of a listing could be received: rows of the event tables, so that silence there means no events (H-15).
import type { GapCause } from '../../schemas/gap-causes.ts';
import { EVENTS } from '../../schemas/layers/index.ts';
import type { CoverName } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Row, Span } from '../../schemas/topics.ts';
import { EVENT_GAP_WINDOW_MS } from '../../schemas/windows.ts';
import { findLossCause, hadUnreadable, isAbout, listTimelySpans, type WindowQuery, wasLate } from './connections.ts';
import type { TaskContext } from './context.ts';
import { makeEventGapRow } from './rows.ts';
import type { ListingView, TaskView } from './state.ts';
import type { Range } from './versions.ts';
import { findGapCause, joinStretches, type LayerWindow, listCollectedWindows, listTurns } from './windows.ts';

/** A part of a window in which nothing could be received. */
type EventGap = Range & { readonly cause: GapCause };

/** Without the times of which nothing was recorded while it could count. */
const listServingSpans = (state: TaskView, layer: CoverName, symbol: string): Pick<Span, 'from' | 'to'>[] =>
  [...state.connections.values()]
    .filter((connection) => isAbout(connection, layer, symbol))
    .flatMap((connection) => listTimelySpans(state, connection))
    .sort((a, b) => a.from - b.from);

/** Parts of a window in which none of the spans, ascending by start, was alive. */
const listUncovered = (spans: readonly Pick<Span, 'from' | 'to'>[], { from, at }: Range): Range[] => {
  const parts: Range[] = [];
  let reached: Micros = from;
  for (const span of spans) {
    if (span.from > reached && reached < at) parts.push({ from: reached, at: Math.min(span.from, at) });
    reached = Math.max(reached, span.to ?? Number.POSITIVE_INFINITY);
  }
  if (reached < at) parts.push({ from: reached, at });
  return parts;
};

/** A window's losses, and all else of it when a message could not be read: it may have held anything. */
const fillUnreadable = (state: TaskView, losses: readonly EventGap[], query: WindowQuery): readonly EventGap[] => {
  if (!hadUnreadable(state, query)) return losses;
  const lost = losses.map(({ from, at: to }) => ({ from, to }));
  const rest = listUncovered(lost, query);
  const unread = rest.map((part) => ({ ...part, cause: 'parse_error' as const }));
  return [...losses, ...unread].sort((a, b) => a.from - b.from);
};

/** The gaps of a window: all of it when messages were lost or unreadable, else the parts without a connection. */
const listWindowGaps = (state: TaskView, listing: ListingView, window: LayerWindow): readonly EventGap[] => {
  const { layer, from, at } = window;
  const { symbol } = listing;
  const cause = findGapCause(state, listing, window);
  if (cause === 'storage_failure' || cause === 'parse_error') return [{ from, at, cause }];
  const parts = listUncovered(listServingSpans(state, layer, symbol), window);
  if (cause === 'not_listed') return parts.map((part) => ({ ...part, cause }));
  // With several losses in a window each part has its own; before the first connection there was none.
  const losses = parts.map((part) => {
    const loss = findLossCause(state, { layer, symbol, ...part });
    const isUnrecorded = cause === 'collector_down' || wasLate(state, { layer, symbol, ...part });
    return { ...part, cause: loss ?? (isUnrecorded ? 'collector_down' : 'unknown') };
  });
  return fillUnreadable(state, losses, { layer, symbol, from, at });
};

/** Stretches of a listing's events in the windows that end in `(range.from, range.at]`. */
const listEventGaps = (state: TaskView, listing: ListingView, range: LayerWindow): readonly EventGap[] => {
  const turns = listTurns(state, listing, range);
  const asked = { windowMs: EVENT_GAP_WINDOW_MS, turns, ...range };
  return listCollectedWindows(state, listing, asked).flatMap((window) =>
    listWindowGaps(state, listing, { layer: range.layer, ...window }),
  );
};

/** Gap rows of a listing's events for all windows that end in `(range.from, range.at]`. */
export const listEventGapRows = ({ state, venue, out }: TaskContext, listing: ListingView, range: Range): Row[] =>
  EVENTS.flatMap(({ name: layer, table }) => {
    const identity = { venue: venue.id, symbol: listing.symbol };
    return joinStretches(listEventGaps(state, listing, { layer, ...range })).map((stretch) =>
      makeEventGapRow(table, identity, { ...stretch, srcOffset: out.offset }),
    );
  });

/** Whether nothing can be missing in a range, which is the usual case: checked for the whole range before its windows are checked one by one. */
const isWithoutGaps = (state: TaskView, { symbol }: ListingView, range: LayerWindow): boolean =>
  range.from >= state.lostBefore &&
  listUncovered(listServingSpans(state, range.layer, symbol), range).length === 0 &&
  !hadUnreadable(state, { symbol, ...range });

/** The same for unsealed windows, for the events that answers show: the state at `range.at`, without a cause (H-16k). */
export const listOpenEventGapRows = ({ state, venue }: TaskContext, listing: ListingView, range: Range): Row[] =>
  EVENTS.filter(({ isAnswered }) => isAnswered).flatMap(({ name: layer, table }) => {
    if (isWithoutGaps(state, listing, { layer, ...range })) return [];
    const identity = { venue: venue.id, symbol: listing.symbol };
    const stretches = listEventGaps(state, listing, { layer, ...range });
    const open = stretches.map((stretch) => ({ ...stretch, cause: 'unknown' as const }));
    return joinStretches(open).map((stretch) =>
      makeEventGapRow(table, identity, { ...stretch, srcOffset: -1, announcedAt: range.at }),
    );
  });
