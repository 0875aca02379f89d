// Members that several operations take or answer, each declared once.
import Type from 'typebox';

export const Units = Type.Optional(
  Type.Enum(['published', 'base', 'quote'], {
    description: 'Unit of quantities: as published (default), base asset, or quote currency.',
  }),
);

export const NumberFormatParameter = Type.Optional(
  Type.Enum(['json', 'string'], {
    description: 'Market figures as JSON numbers (default) or as strings with the same digits.',
  }),
);

export const IncludeSynthetic = Type.Optional(
  Type.Boolean({ description: 'Accepted for compatibility; a public key sees nothing extra.' }),
);

export const IncludeRaw = Type.Optional(
  Type.Boolean({ description: "Adds the venue's own message; part of the plans from Standard." }),
);

/** Shapes of answers that only clients read. */
export const InstantText = Type.String({
  description: 'Instant, ISO 8601 UTC.',
  examples: ['2026-01-15T12:00:00.120Z'],
});
export const NullableInstant = Type.Union([InstantText, Type.Null()]);
export const FigureValue = Type.Union([Type.Number(), Type.String()], {
  description: 'A market figure; a string under number_format string.',
});
export const NullableFigure = Type.Union([Type.Number(), Type.String(), Type.Null()]);

/** First members of an item: the listing it is about. */
export const ListingNames = {
  venue: Type.String(),
  venue_symbol: Type.String(),
  instrument: Type.String(),
  quote: Type.String(),
};
