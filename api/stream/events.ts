// The schemas of the events of the stream (ST-03, ST-09), for clients. The OpenAPI document has each by name.
import Type, { type TSchema } from 'typebox';
import {
  AnswerUnits,
  Conversion,
  FigureValue,
  InstantText,
  NullableFigure,
  NullableInstant,
  NullableInteger,
  NullableText,
  Texts,
} from '../contract/parameters.ts';
import { TIMEFRAMES } from '../language/limits.ts';
import { CandleRow } from '../operations/candles.ts';
import { ListingShape } from '../operations/instruments.ts';
import { LayerObject } from '../operations/snapshots.ts';
import { RULE_REASONS, RULE_STATES } from '../rules/rule.ts';

const makeDescribed = (description: string) => ({ description });
const Listing = { venue: Type.String(), venue_symbol: Type.String(), instrument: Type.String() };
/** `[price, size]`; a size that cannot be converted is null. */
const Level = Type.Array(NullableText, { minItems: 2, maxItems: 2 });

/** A reading; of a book with `depth` also its levels. */
const State = Type.Intersect([
  LayerObject,
  Type.Object({
    bids: Type.Optional(Type.Array(Level, makeDescribed('Bid levels, best first; only when `depth` is above 0.'))),
    asks: Type.Optional(Type.Array(Level, makeDescribed('Ask levels, best first; only when `depth` is above 0.'))),
  }),
]);

const RuleState = Type.Enum([...RULE_STATES]);

const Reading = {
  ...Listing,
  layer: Type.String(makeDescribed('Layer of the reading.')),
  rev: Type.Integer(
    makeDescribed(
      'Number of the reading within its listing and layer, without holes; 0 when there is no reading. A change of status repeats the number of the reading.',
    ),
  ),
};

/** A trade or a liquidation. */
const EventRow = Type.Object({
  venue_ts: NullableInstant,
  received_at: InstantText,
  side: Type.Enum(
    ['buy', 'sell', 'long', 'short'],
    makeDescribed('Of a trade the side of the taker, of a liquidation the position that was closed.'),
  ),
  price: FigureValue,
  price_kind: Type.Optional(
    Type.Enum(['fill', 'order', 'bankruptcy', 'mark'], makeDescribed('Of a liquidation: which price it is.')),
  ),
  quantity: NullableFigure,
  value: NullableFigure,
  id: Type.String(makeDescribed('Id of the event within its listing.')),
  conversion: Conversion,
  null_reasons: Type.Optional(Texts),
});

/** Data of each event by its name, but for `error`, which has the shape of a refused call. Clients leave other names aside (ST-03). */
export const STREAM_EVENTS = {
  hello: Type.Object({
    stream_id: Type.String(makeDescribed('Id of the stream. Quote it to support.')),
    evaluated_at: InstantText,
    catalogue: NullableText,
    units: AnswerUnits,
    freshness: Texts,
    layers: Type.Array(Type.String(), makeDescribed('Layers that the stream covers.')),
    listings: Type.Integer(makeDescribed('Number of selected listings.')),
    resumed: Type.Boolean(makeDescribed('True when the stream continues after `Last-Event-ID` without a hole.')),
    buffer_from: Type.Union(
      [InstantText, Type.Null()],
      makeDescribed('Instant of the oldest event that is kept for a resume; null when none is kept.'),
    ),
    heartbeat_ms: Type.Integer(makeDescribed('Milliseconds between two heartbeats.')),
  }),
  snapshot: Type.Object({ ...Reading, state: State }),
  ready: Type.Object({
    listings: Type.Integer(makeDescribed('Number of selected listings.')),
    layers: Type.Integer(makeDescribed('Number of snapshots sent.')),
    served_at: NullableInstant,
  }),
  update: Type.Object({
    ...Reading,
    change: Type.Enum(['value', 'status', 'both'], makeDescribed('What changed: the value, the status, or both.')),
    state: State,
  }),
  event: Type.Object({
    ...Listing,
    layer: Type.Enum(['trade', 'liquidation'], makeDescribed('Kind of the rows.')),
    rows: Type.Array(EventRow, makeDescribed('Rows, in the order in which they were received.')),
  }),
  candle: Type.Object({
    ...Listing,
    timeframe: Type.Enum([...TIMEFRAMES], makeDescribed('Timeframe of the candle.')),
    price_type: Type.Enum(['trade', 'mark', 'index']),
    row: CandleRow,
  }),
  listing: Type.Object({
    ...Listing,
    change: Type.Enum(['added', 'changed', 'delisted'], makeDescribed('What happened to the listing.')),
    record: ListingShape,
  }),
  heartbeat: Type.Object({
    at: InstantText,
    served_at: NullableInstant,
    lag_ms: NullableInteger,
    connections: Type.Record(
      Type.String(),
      Type.Enum(['up', 'down']),
      makeDescribed('`up` when a connection to the venue is open, else `down`, by venue.'),
    ),
  }),
  gap: Type.Object({
    from: NullableInstant,
    to: InstantText,
    reason: Type.Enum(
      ['resume_expired', 'slow_reader', 'pipeline_restart'],
      makeDescribed('Reason for which events are omitted.'),
    ),
    dropped: Type.Union(
      [Type.Integer(), Type.Null()],
      makeDescribed('Number of omitted events; null when it is not known.'),
    ),
    scope: Type.Object(
      {
        venue: Type.Optional(Type.String()),
        venue_symbol: Type.Optional(Type.String()),
        layer: Type.Optional(Type.String()),
      },
      makeDescribed('What the gap concerns; empty when it concerns everything.'),
    ),
  }),
  rule: Type.Object({
    rule_id: Type.String(),
    name: Type.String(makeDescribed('Name that the owner gave the rule.')),
    change: Type.Enum(
      ['snapshot', 'move'],
      makeDescribed(
        '`snapshot`: the state at the start of the stream, or after moves may have been missed. `move`: a new state.',
      ),
    ),
    at: Type.String({ format: 'date-time', ...makeDescribed('Instant since which the rule has been in this state.') }),
    previous_state: Type.Union([RuleState, Type.Null()], makeDescribed('State before the move; null in a snapshot.')),
    state: Type.Enum(
      [...RULE_STATES],
      makeDescribed(
        '`true` when the query holds for at least one instrument, else `unknown` when it may hold for one, else `false`.',
      ),
    ),
    reason: Type.Union(
      [Type.Enum([...RULE_REASONS]), Type.Null()],
      makeDescribed('Why the state is `unknown`; null when it is known.'),
    ),
    matched: Type.Optional(Type.Array(Type.String())),
    matched_total: Type.Optional(Type.Integer()),
  }),
  bye: Type.Object({
    reason: Type.Enum(['rotate', 'shutdown', 'key_ended', 'plan_changed'], makeDescribed('Why the stream ends.')),
    reconnect: Type.Boolean(makeDescribed('True when the client should connect again.')),
  }),
} as const satisfies Readonly<Record<string, TSchema>>;
