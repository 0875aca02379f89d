// Collects the outputs of one raw record, each with its place `(raw offset, index)` in its topic.
import type { Micros } from '../../schemas/records.ts';
import {
  type CapabilityVersion,
  type DeadLetter,
  type ListingVersion,
  type LiveBodies,
  type LiveEntry,
  type MdRecord,
  makeLiveEntry,
  type Row,
  type RowEntry,
  type StateEntry,
} from '../../schemas/topics.ts';

/** The outputs of one raw record, in order. `round` is set when a state round is due at this record. */
export type Outputs = {
  readonly offset: number;
  readonly live: LiveEntry[];
  readonly rows: RowEntry[];
  readonly md: MdRecord[];
  readonly listings: ListingVersion[];
  readonly capabilities: CapabilityVersion[];
  readonly deadLetters: DeadLetter[];
  stateRound: StateEntry[] | null;
  /** W to publish on the watermark topic once these outputs are acknowledged. */
  watermark: Micros | null;
};

export const createOutputs = (offset: number): Outputs => ({
  offset,
  live: [],
  rows: [],
  md: [],
  listings: [],
  capabilities: [],
  deadLetters: [],
  stateRound: null,
  watermark: null,
});

/** The outputs of the record in work, and the log's time. */
type Writing = { readonly out: Outputs; readonly state: { readonly recordedAt: Micros } };

/** The kind of a live entry with its bodies; omitted ones are null. */
type LiveContent = Pick<LiveEntry, 'kind'> & Partial<LiveBodies>;

/** Appends a live entry. */
export const pushLive = ({ out, state }: Writing, content: LiveContent): void => {
  const { offset, live } = out;
  live.push(makeLiveEntry({ ...content, offset, index: live.length, recorded_at: state.recordedAt }));
};

/** Appends a final row for QuestDB. */
export const pushRow = ({ out: { offset, rows } }: Writing, row: Row): void => {
  rows.push({ offset, index: rows.length, kind: 'row', row, watermark: null });
};

/** Appends the task's watermark in order with its rows and live entries. */
export const pushWatermark = (writing: Writing, watermark: Micros): void => {
  const { out } = writing;
  const { offset, rows } = out;
  pushLive(writing, { kind: 'watermark', watermark });
  rows.push({ offset, index: rows.length, kind: 'watermark', row: null, watermark });
  out.watermark = watermark;
};

export type Provenance = {
  /** Empty: of no connection. */
  readonly connId: string;
  /** The raw record it is of, when that is an earlier one than the record in work. */
  readonly of?: { readonly offset: number; readonly recordedAt: Micros };
};

/** Appends a normalised record for external consumers. */
export const pushMd = (
  { out, state, partition }: Writing & { readonly partition: number },
  record: Pick<MdRecord, 'layer' | 'venue' | 'venue_symbol' | 'venue_ts' | 'received_at' | 'values'>,
  { connId, of = { offset: out.offset, recordedAt: state.recordedAt } }: Provenance,
): void => {
  out.md.push({
    layer: record.layer,
    venue: record.venue,
    venue_symbol: record.venue_symbol,
    venue_ts: record.venue_ts,
    received_at: record.received_at,
    recorded_at: of.recordedAt,
    conn_id: connId,
    src: { partition, offset: of.offset },
    values: record.values,
  });
};
