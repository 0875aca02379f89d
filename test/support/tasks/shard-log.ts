// The log of one shard of a venue whose every message concerns all of them. A shard may be away for a while: then its ticks are lost, and
// everything else that was received meanwhile is recorded at the end, as a collector does it whose broker does not answer (D-38).
import { type Appended, SECOND, START } from './task-driver.ts';

/** Seconds of the log. */
type Away = readonly [from: number, to: number];

/** Shards after the first are away one after the other: while the oracle's socket, its collector and its listings change, and while nothing does. */
const AWAY: readonly (readonly Away[])[] = [
  [],
  [
    [236, 247],
    [474, 491],
    [1_110, 1_131],
  ],
  [
    [340, 366],
    [1_195, 1_210],
  ],
];

export class ShardLog {
  readonly records: Appended[] = [];
  readonly #away: readonly Away[];

  constructor(shard: number) {
    this.#away = AWAY[shard % AWAY.length] ?? [];
  }

  /** Records of the whole venue, in their order; answers the shard's. */
  append(records: readonly Appended[]): Appended[] {
    const begun = this.records.length;
    for (const record of records) {
      const second = (record.timestampMs * 1_000 - START) / SECOND;
      const until = this.#away.find(([from, to]) => second >= from && second < to)?.[1];
      if (until !== undefined && record.message.kind === 'tick') continue;
      const timestampMs = until === undefined ? record.timestampMs : (START + until * SECOND) / 1_000;
      this.records.push({ ...record, offset: this.records.length, timestampMs });
    }
    return this.records.slice(begun);
  }
}
