// Freshness bounds of a request: the defaults, overridden by a duration or by layer (F-03).
import Type, { type Static } from 'typebox';
import { DURATION_FORM, formatSeconds, parseDuration } from '../../schemas/durations.ts';
import { type ApiError, findNearest, makeShapeFault } from '../../schemas/errors.ts';
import { sortByKey } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { hasQuantity, LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import { findLayer, LAYER_NAMES } from '../contract/layer-names.ts';
import { makeDurationInput } from '../contract/parameters.ts';
import { clip, toPointerName } from '../contract/sent-text.ts';

const LEAST_MS = 1_000;
const MOST_MS = 604_800_000;

export const Freshness = Type.Union(
  [
    makeDurationInput(
      'Freshness bound of every layer, such as `60s`, from 1s to 604800s. An older reading is stale.',
      '60s',
    ),
    Type.Record(Type.String(), Type.String({ pattern: DURATION_FORM }), {
      propertyNames: { type: 'string', enum: LAYER_NAMES },
      description: 'Freshness bounds by layer, such as `{"funding": "600s"}`.',
    }),
  ],
  { examples: ['60s'] },
);
export type FreshnessInput = Static<typeof Freshness>;
export type Bounds = Readonly<Record<ReadingLayer, number>>;

type Override = { readonly layers: readonly ReadingLayer[]; readonly text: string; readonly path: string };

const listOverrides = (freshness: FreshnessInput = {}): Override[] => {
  if (typeof freshness === 'string') return [{ layers: READING_LAYERS, text: freshness, path: '/freshness' }];
  return Object.entries(freshness).flatMap(([name, text]) => {
    const layer = findLayer(name);
    return layer === undefined ? [] : [{ layers: [layer], text, path: `/freshness/${name}` }];
  });
};

/** Other names of a layer that is named before (L-01). */
const listRepeatedNames = (names: readonly string[]): string[] =>
  names.filter((name, i) => {
    const layer = findLayer(name);
    return layer !== undefined && names.slice(0, i).some((earlier) => findLayer(earlier) === layer);
  });

/** Faults of form: a layer that does not exist or has two bounds, a text that is no duration. */
export const findFreshnessFaults = (freshness: FreshnessInput = {}): ApiError[] => {
  const names = typeof freshness === 'string' ? [] : Object.keys(freshness);
  const unknown = names.filter((name) => findLayer(name) === undefined);
  const unreadable = listOverrides(freshness).filter(({ text }) => parseDuration(text) === null);
  return [
    ...listRepeatedNames(names).map((name) => {
      const message = `"${name}" names the layer ${findLayer(name)}, which has a bound already.`;
      return makeShapeFault(`/freshness/${name}`, message, 'Give each layer one bound.');
    }),
    ...unknown.map((name) => {
      const [near] = findNearest(name, LAYER_NAMES);
      const hint = near === undefined ? `Layers are ${READING_LAYERS.join(', ')}.` : `Did you mean ${near}?`;
      return makeShapeFault(`/freshness/${toPointerName(name)}`, `"${clip(name)}" is not a layer.`, hint);
    }),
    ...unreadable.map(({ text, path }) =>
      makeShapeFault(path, `"${clip(text)}" is not a duration.`, 'Write one unit, such as 60s, 2m or 1h.'),
    ),
  ];
};

/** Bounds outside 1s to 604800s. */
export const findFreshnessLimits = (freshness: FreshnessInput | undefined): ApiError[] =>
  listOverrides(freshness).flatMap(({ text, path }): ApiError[] => {
    const ms = parseDuration(text) ?? 0;
    if (ms >= LEAST_MS && ms <= MOST_MS) return [];
    const message = `The freshness bound "${text}" is outside ${formatSeconds(LEAST_MS)} to ${formatSeconds(MOST_MS)}.`;
    return [{ code: 'DQL_LIMIT', message, hint: 'Send a bound within the range.', path }];
  });

/** Milliseconds of every layer. */
export const makeBounds = (freshness: FreshnessInput | undefined): Bounds => {
  const bounds = Object.fromEntries(READING_LAYERS.map((layer) => [layer, LAYERS[layer].freshnessMs])) as Record<
    ReadingLayer,
    number
  >;
  for (const { layers, text } of listOverrides(freshness)) {
    for (const layer of layers) bounds[layer] = parseDuration(text) ?? bounds[layer];
  }
  return bounds;
};

const printBound = (text: string): string => formatSeconds(parseDuration(text) ?? 0);

/** Valid bounds as they were sent, printed as in answers: in seconds, by the layers' own names (N-04, L-01). */
export const printSentBounds = (freshness: FreshnessInput): FreshnessInput =>
  typeof freshness === 'string'
    ? printBound(freshness)
    : sortByKey(
        Object.fromEntries(
          listOverrides(freshness).flatMap(({ layers, text }) => layers.map((layer) => [layer, printBound(text)])),
        ),
      );

/** The `freshness` member of an answer, in seconds: bounds of the layers answered, and of the mark where it converts quantities (N-07). */
export const printBounds = (
  bounds: Bounds,
  layers: readonly ReadingLayer[],
  units: UnitsMode = 'published',
): Record<string, string> => {
  const used = units !== 'published' && layers.some(hasQuantity) ? [...layers, 'mark' as const] : layers;
  return sortByKey(Object.fromEntries(used.map((layer) => [layer, formatSeconds(bounds[layer])])));
};
