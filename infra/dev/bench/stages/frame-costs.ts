// What one raw frame costs in the log: records and bytes of each topic. Each record is encoded once by its writer and decoded once by each reader.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fetchEndOffsets } from '../../../runtime/kafka/kafka.ts';
import { type Figure, makeFigure, sum } from '../instruments/figures.ts';
import type { Run } from '../run.ts';

/** Records and bytes of a topic since it was made. */
type Written = { readonly records: number; readonly bytes: number };
type LogSizes = ReadonlyMap<string, Written>;

/** Topics of Kafka's own. */
const INTERNAL = '__';

/** Bytes of the segments by topic. Compaction and retention remove segments later than a measurement lasts. */
const readBytes = (data: string): ReadonlyMap<string, number> => {
  const bytes = new Map<string, number>();
  for (const folder of readdirSync(data, { withFileTypes: true })) {
    const [, topic] = /^(.+)-\d+$/.exec(folder.name) ?? [];
    if (topic === undefined || topic.startsWith(INTERNAL) || !folder.isDirectory()) continue;
    const path = join(data, folder.name);
    const segments = readdirSync(path).filter((name) => name.endsWith('.log'));
    bytes.set(topic, (bytes.get(topic) ?? 0) + sum(segments.map((name) => statSync(join(path, name)).size)));
  }
  return bytes;
};

export const readLogSizes = async ({ dir, handle }: Run): Promise<LogSizes> => {
  const bytes = readBytes(join(dir, 'kafka', 'data'));
  const sizes = [...bytes].map(async ([topic, size]) => {
    const ends = await fetchEndOffsets(handle, topic);
    return [topic, { records: sum([...ends.values()].map(({ latest }) => latest)), bytes: size }] as const;
  });
  return new Map(await Promise.all(sizes));
};

/** `frames` were received between the two readings. */
type Growth = { readonly before: LogSizes; readonly after: LogSizes; readonly frames: number };

/** One figure for each topic that grew, largest first, and one for all. */
export const toCostFigures = (at: string, { before, after, frames }: Growth): Figure[] => {
  const grown = [...after]
    .map(([topic, { records, bytes }]) => {
      const { records: oldRecords = 0, bytes: oldBytes = 0 } = before.get(topic) ?? {};
      return { topic, records: (records - oldRecords) / frames, bytes: (bytes - oldBytes) / frames };
    })
    .filter(({ records }) => records > 0)
    .toSorted((a, b) => b.bytes - a.bytes);
  const toFigure = (name: string, records: number, bytes: number): Figure =>
    makeFigure({
      name: `a raw frame ${at} in ${name}`,
      unit: 'B',
      measured: bytes,
      note: `${records.toFixed(2)} records`,
    });
  return [
    toFigure('all topics', sum(grown.map(({ records }) => records)), sum(grown.map(({ bytes }) => bytes))),
    ...grown.map(({ topic, records, bytes }) => toFigure(topic, records, bytes)),
  ];
};
