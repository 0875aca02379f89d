// The columns that every table of an endpoint has, regardless of its rows, and even without rows (N-15).
import type { Endpoint } from '../contract/endpoint.ts';
import type { Shape } from '../contract/json-schema.ts';

/** Members that contain rows, and the rows themselves: they have no columns. */
const NO_COLUMNS: ReadonlySet<string> = new Set(['layers', 'rows', 'gaps']);

/** Members that are always there, as paths; maps keyed by data have only what they hold. */
const listRequired = ({ properties = {}, required = [] }: Shape, prefix = ''): readonly string[] =>
  required.flatMap((name) => {
    const part = properties[name] ?? {};
    if (NO_COLUMNS.has(name) || part.patternProperties !== undefined) return [];
    return part.properties === undefined ? [prefix + name] : listRequired(part, `${prefix}${name}.`);
  });

/** Columns of an endpoint whose items have rows, in their order: of the listing, of the layer, of a row. */
export const listColumns = ({ output }: Pick<Endpoint, 'output'>): readonly string[] => {
  const item = output.properties?.['items']?.items ?? {};
  const [layer] = Object.values(item.properties?.['layers']?.patternProperties ?? {});
  const row = (layer ?? item).properties?.['rows']?.items ?? {};
  const ofLayer = layer === undefined ? [] : ['layer', ...listRequired(layer)];
  return [...listRequired(item), ...ofLayer, ...listRequired(row)];
};
