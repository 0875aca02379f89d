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
  type Source,
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

/** The kind of a live entry with its bodies; omitted ones are null. */
type LiveContent = Pick<LiveEntry, 'kind'> & Partial<LiveBodies>;

/** Appends a live entry. */
export const pushLive = (outputs: Outputs, recordedAt: Micros, content: LiveContent): void => {
  const { offset, live } = outputs;
  live.push(makeLiveEntry({ ...content, offset, index: live.length, recorded_at: recordedAt }));
};

/** Appends a final row for QuestDB. */
export const pushRow = (outputs: Outputs, row: Row): void => {
  outputs.rows.push({ offset: outputs.offset, index: outputs.rows.length, kind: 'row', row, watermark: null });
};

/** Appends the task's watermark in order with its rows and live entries. */
export const pushWatermark = (outputs: Outputs, recordedAt: Micros, watermark: Micros): void => {
  pushLive(outputs, recordedAt, { kind: 'watermark', watermark });
  outputs.rows.push({ offset: outputs.offset, index: outputs.rows.length, kind: 'watermark', row: null, watermark });
  outputs.watermark = watermark;
};

/** Appends a normalised record for external consumers. */
export const pushMd = (
  outputs: Outputs,
  record: Pick<MdRecord, 'layer' | 'venue' | 'venue_symbol' | 'venue_ts' | 'received_at' | 'values'>,
  provenance: { readonly recordedAt: Micros; readonly connId: string; readonly src: Source },
): void => {
  outputs.md.push({
    layer: record.layer,
    venue: record.venue,
    venue_symbol: record.venue_symbol,
    venue_ts: record.venue_ts,
    received_at: record.received_at,
    recorded_at: provenance.recordedAt,
    conn_id: provenance.connId,
    src: provenance.src,
    values: record.values,
  });
};
