// What the archive's endpoints need alike: the archive, and members with their faults (AR-01, AR-02, AN-06).
import Type from 'typebox';
import { type ApiError, findNearest, makeUnavailable } from '../../schemas/errors.ts';
import { parseInstant } from '../../schemas/instants.ts';
import { ARCHIVE_AWAY, ARCHIVE_LAYER_NAMES, ARCHIVE_LAYERS, toArchiveLayer } from '../contract/archive.ts';
import { clip } from '../contract/sent-text.ts';
import type { Context } from './operation.ts';

/** A layer by any of its names. */
export const makeArchiveLayerInput = (description: string) =>
  Type.String({ pattern: `^(${ARCHIVE_LAYER_NAMES.join('|')})$`, description, examples: ['funding'] });

export const requireArchive = ({ archive }: Context): NonNullable<Context['archive']> => {
  if (archive === null) throw makeUnavailable(ARCHIVE_AWAY);
  return archive;
};

export const findDayFaults = (day: string | undefined, path: string): ApiError[] => {
  if (day === undefined || (/^\d{4}-\d\d-\d\d$/.test(day) && parseInstant(day) !== null)) return [];
  const message = `"${clip(day)}" is not a day.`;
  return [{ code: 'DQL_JSON_SCHEMA', message, hint: 'Write a day from 2000 to 2100, such as 2026-01-15.', path }];
};

export const findArchiveLayerFaults = (layer: string | undefined): ApiError[] => {
  if (layer === undefined || toArchiveLayer(layer) !== undefined) return [];
  const near = findNearest(layer, ARCHIVE_LAYERS);
  const others = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Layers are ${ARCHIVE_LAYERS.join(', ')}.`;
  const hint = layer === 'book' ? 'Books are archived as book_bands.' : others;
  const message = `"${clip(layer)}" is not an archived layer.`;
  return [{ code: 'DQL_JSON_SCHEMA', message, hint, path: '/layer' }];
};
