// Events about the stream itself and the service: hello, ready, heartbeat, errors that end it (ST-03, ST-09).
import { type ApiError, CATALOGUE } from '../../schemas/errors.ts';
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { sortByKey, writeJson } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Plan } from '../contract/plans.ts';
import { printBounds } from '../live/bounds.ts';
import type { LiveMemory } from '../live/memory.ts';
import { computeCatalogueVersion } from '../operations/catalogue-version.ts';
import type { StreamRequest } from './request.ts';
import type { Stream } from './stream.ts';

export const HEARTBEAT: Micros = 15_000_000;

/** The errors of a stream whose key has ended. */
export const KEY_ENDED: readonly ApiError[] = [
  { code: 'AUTH_INVALID', message: 'The key is unknown, revoked or expired.', hint: CATALOGUE.AUTH_INVALID.fix },
];
/** The errors of a stream whose key has another plan now. */
export const makePlanChanged = ({ name }: Plan): readonly ApiError[] => [
  { code: 'PLAN_LIMIT', message: `The key is now of the plan ${name}.`, hint: 'Open the stream again.' },
];

/** Everything recorded up to here is sent (F-05); null while a venue has reported nothing. */
const findServedAt = ({ venues }: StreamRequest, live: LiveMemory, now: Micros): Micros | null => {
  let least = now;
  for (const venue of venues) {
    const watermark = live.watermark(venue);
    if (watermark === null) return null;
    least = Math.min(least, watermark);
  }
  return least;
};

export const makeHelloData = (
  stream: Stream,
  live: LiveMemory,
  {
    listings,
    resumed,
    bufferFrom,
    now,
  }: { readonly listings: number; readonly resumed: boolean; readonly bufferFrom: Micros; readonly now: Micros },
): string => {
  const { format, layers, rows } = stream.request;
  // Volumes of candles are quantities too (N-07).
  const converts = format.units !== 'published' && rows.includes('candles');
  const used: readonly ReadingLayer[] = converts ? [...layers, 'mark'] : layers;
  const bounds = Object.entries(printBounds(format.bounds, used, format.units));
  return writeJson({
    stream_id: stream.id,
    evaluated_at: formatInstant(now),
    catalogue: computeCatalogueVersion(live, now),
    units: format.units,
    freshness: sortByKey(
      Object.fromEntries(bounds.map(([layer, bound]) => [LAYERS[layer as ReadingLayer].recordName, bound])),
    ),
    layers: [...layers.map((layer) => LAYERS[layer].recordName), ...rows].sort(),
    listings,
    resumed,
    buffer_from: formatInstant(bufferFrom),
    heartbeat_ms: HEARTBEAT / 1_000,
  });
};

/** `snapshots` is how many were sent. */
export const makeReadyData = (
  stream: Stream,
  live: LiveMemory,
  { snapshots, now }: { snapshots: number; now: Micros },
): string =>
  writeJson({
    listings: stream.selected.size,
    layers: snapshots,
    served_at: formatInstantOrNull(findServedAt(stream.request, live, now)),
  });

/** `passedAt`: how far the replay of the stream has come; null when it is in the present. */
export const makeHeartbeatData = (
  { request }: Stream,
  live: LiveMemory,
  { now, passedAt }: { readonly now: Micros; readonly passedAt: Micros | null },
): string => {
  const served = findServedAt(request, live, Math.min(now, passedAt ?? now));
  const connections = request.venues.map((code) => {
    const partitions = [...(live.venue(code)?.partitions.values() ?? [])];
    const spans = partitions.flatMap(({ connections }) => [...connections.newestBySlot().values()]);
    return [code, spans.some(({ to }) => to === null) ? 'up' : 'down'] as const;
  });
  return writeJson({
    at: formatInstant(now),
    served_at: formatInstantOrNull(served),
    lag_ms: served === null ? null : Math.floor((now - served) / 1_000),
    connections: sortByKey(Object.fromEntries(connections)),
  });
};
