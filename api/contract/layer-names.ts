// Layers as requests name them: their names and aliases, the parameter `layers`, and its faults (L-01).
import Type from 'typebox';
import { type ApiError, findNearest } from '../../schemas/errors.ts';
import { CANDLES, EVENTS, type ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { Plan } from './plans.ts';
import { clip } from './sent-text.ts';

const BY_NAME = new Map<string, ReadingLayer>(
  READING_LAYERS.flatMap((name) => [name, ...LAYERS[name].aliases].map((alias) => [alias, name] as const)),
);

/** Every name and alias of a layer that snapshots and history know. */
export const LAYER_NAMES: readonly string[] = [...BY_NAME.keys()];

export const Layers = Type.Optional(
  Type.Array(Type.String({ pattern: `^(${LAYER_NAMES.join('|')})$` }), {
    minItems: 1,
    maxItems: 32,
    description: `Layers to return: ${READING_LAYERS.join(', ')}. Default: all layers of the plan.`,
  }),
);

/** Canonical name of a layer that snapshots and history know, by any of its names (L-01). */
export const findLayer = (name: string): ReadingLayer | undefined => BY_NAME.get(name);

/** A plan states layers by the listing record's names or by the snapshot's (L-01). */
export const hasLayer = ({ layers }: Plan, layer: ReadingLayer): boolean =>
  layers.includes(layer) || layers.includes(LAYERS[layer].recordName);

/** Kinds that exist but are no readings, with the endpoint that answers them (L-01). */
const ELSEWHERE: ReadonlyMap<string, string> = new Map(
  [CANDLES, ...EVENTS].flatMap(({ name, aliases, endpoint }) =>
    [name, ...aliases].map((alias) => [alias, endpoint] as const),
  ),
);

/** Fault of form: a name that is no layer of readings. */
export const findLayerFault = (name: string, index: number): ApiError[] => {
  if (findLayer(name) !== undefined) return [];
  const path = `/layers/${index}`;
  const elsewhere = ELSEWHERE.get(name);
  if (elsewhere !== undefined) {
    return [
      { code: 'DQL_JSON_SCHEMA', message: `Layer "${name}" has no readings here.`, hint: `Use ${elsewhere}.`, path },
    ];
  }
  const near = findNearest(name, READING_LAYERS);
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Layers are ${READING_LAYERS.join(', ')}.`;
  return [{ code: 'DQL_JSON_SCHEMA', message: `"${clip(name)}" is not a layer.`, hint, path }];
};
