// Members that several operations accept or return, each declared once.
import Type from 'typebox';
import { DURATION_FORM } from '../../schemas/durations.ts';
import type { ErrorCode } from '../../schemas/errors.ts';
import { DAY_FORM, INSTANT_FORM } from '../../schemas/instants.ts';

export const makeUnitsInput = (description: string) =>
  Type.Optional(Type.Enum(['published', 'base', 'quote'], { description }));
export const Units = makeUnitsInput(
  'Units of quantities: as published (default), base asset or quote currency. Prices and rates are never converted.',
);

export const NumberFormatParameter = Type.Optional(
  Type.Enum(['json', 'string'], {
    description: 'Market figures as JSON numbers (`json`, default) or as strings with the same digits (`string`).',
  }),
);

export const IncludeSynthetic = Type.Optional(Type.Boolean({ description: 'Accepted without effect.' }));

export const IncludeRaw = Type.Optional(
  Type.Boolean({ description: 'Whether `raw` has the message of the venue. It needs the plan Standard or above.' }),
);

export const AllowStale = Type.Optional(
  Type.Boolean({
    description: 'Whether the numbers of stale readings are returned under `withheld`. Default false.',
  }),
);

/** An RFC 3339 instant or a date, with what it means. */
export const makeInstantInput = (meaning: string, example = '2026-01-15T12:00Z') =>
  Type.String({ pattern: INSTANT_FORM, description: `${meaning} RFC 3339, or a date.`, examples: [example] });
export const makeDayInput = (description: string, example: string) =>
  Type.String({ pattern: DAY_FORM, description, examples: [example] });
export const makeDurationInput = (description: string, example: string) =>
  Type.String({ pattern: DURATION_FORM, description, examples: [example] });

/** Shapes of answers that only clients read. */
export const InstantText = Type.String({ format: 'date-time', examples: ['2026-01-15T12:00:00.120Z'] });
export const NullableInstant = Type.Union([InstantText, Type.Null()]);
/** A market figure; a string under number_format string. */
export const FigureValue = Type.Union([Type.Number(), Type.String()]);
export const NullableFigure = Type.Union([Type.Number(), Type.String(), Type.Null()]);
export const NullableText = Type.Union([Type.String(), Type.Null()]);
export const NullableInteger = Type.Union([Type.Integer(), Type.Null()]);
/** By name: units, bounds, reasons of null. */
export const Texts = Type.Record(Type.String(), Type.String());
export const AnswerUnits = Type.Enum(['published', 'base', 'quote']);
const ReadingStatus = Type.Enum(['present', 'stale', 'missing', 'not_published', 'off']);
/** First members of the object of a reading: its status, instants and ages. */
export const StatusMembers = {
  status: ReadingStatus,
  reason: Type.Optional(Type.String()),
  gap_cause: Type.Optional(Type.String()),
  venue_ts: NullableInstant,
  received_at: NullableInstant,
  age_ms: NullableInteger,
  venue_age_ms: NullableInteger,
  valid_until: NullableInstant,
};
/** `page` of a list that is answered in pages. */
export const AnswerPage = Type.Object({ limit: Type.Integer(), returned: Type.Integer(), next_cursor: NullableText });

/** The inputs of converted figures (N-07). */
export const Conversion = Type.Optional(
  Type.Object({
    multiplier: NullableFigure,
    contract_size: NullableFigure,
    mark: Type.Optional(FigureValue),
    mark_received_at: Type.Optional(InstantText),
  }),
);

/** First members of an item: the listing it is about. */
export const ListingNames = {
  venue: Type.String(),
  venue_symbol: Type.String(),
  instrument: Type.String(),
  quote: Type.String(),
};

/** The possible errors of a selection. */
export const WHERE_CODES: readonly ErrorCode[] = [
  'DQL_SYNTAX',
  'DQL_UNKNOWN_FIELD',
  'DQL_UNKNOWN_VENUE',
  'DQL_UNKNOWN_CURRENCY',
  'DQL_UNKNOWN_ASSET',
  'DQL_UNKNOWN_INSTRUMENT',
  'DQL_DUPLICATE_CLAUSE',
  'DQL_COMPLEXITY',
];
/** The possible errors of the requested part of the market. */
export const SCOPE_CODES: readonly ErrorCode[] = ['DQL_LIMIT', 'PLAN_LIMIT', 'PLAN_VENUE_NOT_INCLUDED'];
