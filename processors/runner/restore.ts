// Finds the start of a task: its newest complete checkpoint, else the log's start with the remains of earlier lives (design section 5).
import {
  fetchEndOffsets,
  fetchOffsetsSince,
  type KafkaHandle,
  LogCut,
  readToEnd,
  readValues,
  type Start,
} from '../../infra/runtime/kafka/kafka.ts';
import { AvroError, codecs } from '../../schemas/avro/codec.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import { toShard } from '../../schemas/shards.ts';
import { RoundChoice, type StateRound } from '../../schemas/state-rounds.ts';
import { parseListingId } from '../../schemas/tables.ts';
import {
  type CapabilityVersion,
  formatTask,
  type ListingVersion,
  type LiveEntry,
  type Row,
  type Span,
  type StateEntry,
  type Topics,
  type WatermarkEntry,
} from '../../schemas/topics.ts';
import { formatSeries, type Recovery } from '../task/recovery.ts';
import { createState, type TaskState } from '../task/state.ts';
import { createRestorer, type RestoreProblem } from './checkpoint.ts';

type RestoreSpec = {
  readonly handle: KafkaHandle;
  readonly names: Topics;
  readonly venue: string;
  readonly partition: number;
  readonly shards: number;
};

/** Why no checkpoint can be used. */
type Unusable = RestoreProblem | 'behind';

export type Restored = {
  readonly state: TaskState;
  /** Outputs of records at or below this raw offset were acknowledged by an earlier owner. */
  readonly emittedTo: number;
  /** First offset and end of the log at the time of the restore. */
  readonly logStart: number;
  readonly logEnd: number;
  /** Set when an earlier life's checkpoint could not be used. */
  readonly unusable: Unusable | null;
};

type Published = { readonly newest: WatermarkEntry | null; readonly checkpointAt: number | null };

/** Reads the newest entries of earlier owners on the watermark topic. */
const readPublished = async ({ handle, names, venue, partition }: RestoreSpec): Promise<Published> => {
  const published: { newest: WatermarkEntry | null; checkpointAt: number | null } = {
    newest: null,
    checkpointAt: null,
  };
  const { decode } = codecs.watermark;
  await readValues(handle, { topic: names.watermark, from: () => 'earliest', decode }, (entry) => {
    if (entry.task !== formatTask(venue, partition)) return;
    if (entry.kind === 'task' && entry.offset >= (published.newest?.offset ?? -1)) published.newest = entry;
    if (entry.kind === 'checkpoint') published.checkpointAt = entry.positions[names.checkpoints(venue)] ?? null;
  });
  return published;
};

type Found = { readonly state: TaskState | null; readonly problem: RestoreProblem };

/** The newest complete readable round; an older one is equally correct but needs more replay. */
const findCheckpoint = async (spec: RestoreSpec, checkpointAt: number | null): Promise<Found> => {
  const { handle, names, venue, partition } = spec;
  let from: Start = checkpointAt ?? 'earliest';
  let problem: RestoreProblem = 'lost';
  for (let below = Number.POSITIVE_INFINITY; ; ) {
    const restorer = createRestorer(below);
    const start = from;
    await readToEnd(
      handle,
      { topic: names.checkpoints(venue), partitions: [partition], from: () => start },
      ({ value }) => {
        if (value !== null) restorer.add(readOrNull(codecs.checkpoints.decode, value));
      },
    );
    const state = restorer.state();
    if (problem === 'lost') problem = restorer.problem();
    if (state !== null || (from === 'earliest' && restorer.round() === null)) return { state, problem };
    below = restorer.round() ?? below;
    from = 'earliest';
  }
};

const readOrNull = <T>(decode: (bytes: Buffer) => T, bytes: Buffer): T | null => {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof AvroError) return null;
    throw error;
  }
};

/** Throws when the log was truncated or recreated: to continue would skip records silently, and only an operator can decide what to keep. */
const refuseCut = (place: string, { end, known, by }: { end: number; known: number; by: string }): void => {
  if (known < end) return;
  throw new LogCut(`${place} ends at ${end}, but ${by} of offset ${known}`);
};

/** A watermark is published after its outputs are acknowledged: an output partition that ends earlier has lost some of them. */
const refuseCutOutputs = async ({ handle, partition }: RestoreSpec, newest: WatermarkEntry | null): Promise<void> => {
  for (const [topic, position] of Object.entries(newest?.positions ?? {})) {
    const end = (await fetchEndOffsets(handle, topic)).get(partition)?.latest ?? 0;
    refuseCut(`${topic}/${partition}`, { end, known: position - 1, by: 'its task had acknowledgements' });
  }
};

/** Restores the state, and how far earlier owners have published. */
export const restore = async (spec: RestoreSpec): Promise<Restored> => {
  const { handle, names, venue, partition } = spec;
  const published = await readPublished(spec);
  await refuseCutOutputs(spec, published.newest);
  const { state, problem } = await findCheckpoint(spec, published.checkpointAt);
  const log = (await fetchEndOffsets(handle, names.raw(venue))).get(partition) ?? { earliest: 0, latest: 0 };
  const emittedTo = published.newest?.offset ?? -1;
  const found = { emittedTo, logStart: log.earliest, logEnd: log.latest };
  const refuseAbove = (known: number): void =>
    refuseCut(`${names.raw(venue)}/${partition}`, { end: log.latest, known, by: 'outputs were published' });
  refuseAbove(Math.max(emittedTo, state?.offset ?? -1));
  if (state !== null && state.offset + 1 >= log.earliest) return { ...found, state, unusable: null };
  const isFirst = published.newest === null && state === null;
  const unusable = isFirst ? null : state === null ? problem : 'behind';
  // The whole log rebuilds the whole state: only time is lost.
  if (log.earliest === 0 && !(await hasLostLog(spec))) return { ...found, state: createState(), unusable };
  const recovery = await readRecovery(spec, published.newest);
  if (recovery === null) return { ...found, state: createState(log.earliest), unusable };
  refuseAbove(recovery.spokenTo);
  return { ...found, state: createState(log.earliest, recovery), unusable: unusable ?? 'lost' };
};

/**
 * Whether there was a log before this one: a listing of this shard was written before the first record. Kafka was lost with its topics, and the
 * versions are from QuestDB.
 */
const hasLostLog = async (spec: RestoreSpec): Promise<boolean> => {
  const { handle, names, venue, partition, shards } = spec;
  const own = (await readVersions(spec)).listings.filter(
    ({ venue_symbol }) => toShard(venue_symbol, shards) === partition,
  );
  if (own.length === 0) return false;
  const firstMs = Math.floor(own.reduce((least, { written_at }) => Math.min(least, written_at), Infinity) / 1_000);
  const since = await fetchOffsetsSince(handle, names.raw(venue), () => firstMs + 1);
  return since.get(partition) === 0;
};

/** Null when no earlier life left any data: this is the first life. */
const readRecovery = async (spec: RestoreSpec, newest: WatermarkEntry | null): Promise<Recovery | null> => {
  const versions = await readVersions(spec);
  if (newest === null && versions.listings.length === 0) return null;
  const live = await readLive(spec);
  const rows = await readRows(spec, newest);
  return {
    spokenTo: Math.max(newest?.offset ?? -1, live.offset, rows.offset),
    watermark: newest?.watermark ?? rows.watermark,
    covered: Object.fromEntries(rows.covered),
    revs: live.revs,
    readAt: live.readAt,
    spans: live.spans,
    ...versions,
  };
};

type Versions = { readonly listings: ListingVersion[]; readonly capabilities: CapabilityVersion[] };

const readVersions = async ({ handle, names, venue }: RestoreSpec): Promise<Versions> => {
  const listings: ListingVersion[] = [];
  const capabilities: CapabilityVersion[] = [];
  const from = (): Start => 'earliest';
  await readValues(handle, { topic: names.listings, from, decode: codecs.listing.decode }, (version) => {
    if (version.venue === venue) listings.push(version);
  });
  await readValues(handle, { topic: names.capabilities, from, decode: codecs.capability.decode }, (version) => {
    if (version.venue === venue) capabilities.push(version);
  });
  return { listings, capabilities };
};

type ByLayer = Partial<Record<ReadingLayer, number>>;
type LiveState = Pick<Recovery, 'revs' | 'spans'> & {
  readonly offset: number;
  readonly readAt: Record<string, ByLayer>;
};

/** Newest `rev`, with when it was recorded, and alive spans: from the last complete state round, and from `live` since. */
const readLive = async ({ handle, names, venue, partition }: RestoreSpec): Promise<LiveState> => {
  const round = await readRound({ handle, names, venue, partition });
  const found = { offset: -1, revs: {} as Record<string, ByLayer>, readAt: {} as Record<string, ByLayer> };
  const spans = new Map<string, Span>();
  const noteEntry = ({ symbol, reading, span }: StateEntry | LiveEntry): void => {
    if (span) spans.set(span.conn_id, span);
    if (!reading || symbol === null) return;
    const { [symbol]: revs = {} } = found.revs;
    if (reading.rev < (revs[reading.layer] ?? 0)) return;
    found.revs[symbol] = { ...revs, [reading.layer]: reading.rev };
    found.readAt[symbol] = { ...found.readAt[symbol], [reading.layer]: reading.recorded_at };
  };
  for (const entry of round?.entries ?? []) noteEntry(entry);
  found.offset = round?.round ?? -1;
  const from = (): Start => round?.liveOffset ?? 'earliest';
  const { decode } = codecs.live;
  await readValues(handle, { topic: names.live(venue), partitions: [partition], from, decode }, (entry) => {
    found.offset = Math.max(found.offset, entry.offset);
    noteEntry(entry);
  });
  const alive = [...spans.values()].filter(({ to }) => to === null);
  return { ...found, revs: round === null ? null : found.revs, spans: alive };
};

const readRound = async ({
  handle,
  names,
  venue,
  partition,
}: Omit<RestoreSpec, 'shards'>): Promise<StateRound | null> => {
  const rounds = new RoundChoice();
  const from = (): Start => 'earliest';
  const spec = { topic: names.state(venue), partitions: [partition], from, decode: codecs.state.decode };
  await readValues(handle, spec, (entry, { offset }) => rounds.add(entry, offset));
  return rounds.chosen;
};

/** Upper bound of the rows written between a watermark and the position published with it. */
const ROWS_TAIL = 50_000;

type Written = { readonly offset: number; readonly watermark: Micros | null; readonly covered: Map<string, Micros> };

/** Rows after the last W, or those of the tail: a seal may be incomplete. */
const readRows = async (spec: RestoreSpec, newest: WatermarkEntry | null): Promise<Written> => {
  const { handle, names, venue, partition } = spec;
  const topic = names.rows(venue);
  const { latest } = (await fetchEndOffsets(handle, topic)).get(partition) ?? { latest: 0 };
  const from = Math.max(0, (newest?.positions[topic] ?? latest) - ROWS_TAIL);
  const covered = new Map<string, Micros>();
  let offset = -1;
  let watermark: Micros | null = null;
  const { decode } = codecs.rows;
  await readValues(handle, { topic, partitions: [partition], from: () => from, decode }, (entry) => {
    if (entry.offset <= (newest?.offset ?? -1)) return;
    offset = Math.max(offset, entry.offset);
    watermark = entry.watermark ?? watermark;
    if (entry.row) coverSeries(covered, entry.row);
  });
  return { offset, watermark, covered };
};

const coverSeries = (covered: Map<string, Micros>, { table, at, texts, flags }: Row): void => {
  const { listing, price_type, timeframe } = texts;
  if (listing === undefined || flags['late']) return;
  const { symbol } = parseListingId(listing);
  const series = formatSeries(table, symbol, table === 'candles' ? `${price_type}|${timeframe}` : '');
  covered.set(series, Math.max(covered.get(series) ?? 0, at));
};
