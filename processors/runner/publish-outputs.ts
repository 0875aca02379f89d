// Publishes the outputs of one record to their topics. Yields after the live entries of each listing, each row, and each entry of a state round.
import type { Interruptible } from '../../infra/runtime/process/steps.ts';
import { codecs, makeMdCodec } from '../../schemas/avro/codec.ts';
import { isOneChange, type LiveEntry, makeStateEntry, type StateEntry, type Topics } from '../../schemas/topics.ts';
import type { ProcessorMetrics } from '../metrics.ts';
import type { Outputs } from '../task/outputs.ts';
import type { Publishers } from './publishers.ts';

/** Where the outputs of a task are published. */
export type Destination = {
  readonly venue: string;
  readonly partition: number;
  readonly names: Topics;
  readonly publishers: Publishers;
};

/** `live`: the entries of the outputs that are published. */
export function* publishOutputs(
  { venue, partition, names, publishers: { live, kept } }: Destination,
  outputs: Omit<Outputs, 'live' | 'stateRound'> & { readonly live: readonly LiveEntry[] },
): Interruptible {
  for (const [i, entry] of outputs.live.entries()) {
    live.publish({ topic: names.live(venue), partition, key: entry.symbol, value: codecs.live.encode(entry) });
    const next = outputs.live[i + 1];
    // What is sent meanwhile would part a book from its bands.
    if (next === undefined || !isOneChange(entry, next)) yield;
  }
  for (const entry of outputs.rows) {
    const key = entry.row?.texts['listing'] ?? null;
    kept.publish({ topic: names.rows(venue), partition, key, value: codecs.rows.encode(entry) });
    yield;
  }
  for (const record of outputs.md) {
    const key = `${record.venue}|${record.venue_symbol ?? ''}`;
    kept.publish({ topic: names.md(record.layer), key, value: makeMdCodec(record.layer).encode(record) });
  }
  for (const version of outputs.listings) {
    const key = `${version.venue}|${version.venue_symbol}`;
    kept.publish({ topic: names.listings, key, value: codecs.listing.encode(version) });
  }
  for (const version of outputs.capabilities) {
    kept.publish({ topic: names.capabilities, key: version.venue, value: codecs.capability.encode(version) });
  }
  for (const letter of outputs.deadLetters) {
    kept.publish({ topic: names.deadLetters, key: letter.source, value: codecs.deadLetter.encode(letter) });
  }
}

type RoundMarker = Pick<StateEntry, 'round'> & Omit<NonNullable<StateEntry['marker']>, 'entries'>;

/** Publishes a state round and its marker. */
export function* publishRound(
  { venue, partition, names, publishers: { kept } }: Destination,
  entries: readonly StateEntry[],
  { round, ...position }: RoundMarker,
): Interruptible {
  const topic = names.state(venue);
  for (const entry of entries) {
    kept.publish({ topic, partition, key: entry.symbol, value: codecs.state.encode(entry) });
    yield;
  }
  const marker = makeStateEntry({ round, kind: 'marker', marker: { entries: entries.length, ...position } });
  kept.publish({ topic, partition, key: null, value: codecs.state.encode(marker) });
}

/** Counts what is lost or unreadable among the outputs of a record. */
export const countLosses = (metrics: ProcessorMetrics, task: string, { rows, deadLetters }: Outputs): void => {
  for (const { row } of rows) if (row?.texts['gap_cause'] === 'storage_failure') metrics.windowsLost(task);
  for (const { code } of deadLetters) metrics.deadLetter(code);
};
