// The service between a paper log and its answers: the task, the memory copy, and a store that lags as set.
import { Task } from '../../processors/task/task.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import type { RowEntry } from '../../schemas/topics.ts';
import { Feed } from '../api/live-fixture.ts';
import { PaperLog, paperVenue } from './paper-log.ts';
import { SECOND, START } from './task-driver.ts';
import type { TestStore } from './test-store.ts';

export type PaperWorldOptions = {
  readonly seed: number;
  readonly write: TestStore['write'];
  /** Venues that the memory copy has besides. */
  readonly beside?: readonly string[];
};

export class PaperWorld {
  readonly paper: PaperLog;
  readonly feed: Feed;
  readonly #write: TestStore['write'];
  readonly #task = new Task({ venue: paperVenue, partition: 0, shards: 1 });
  readonly #rows: RowEntry[] = [];
  #applied = 0;
  #stored = 0;

  constructor({ seed, write, beside = [] }: PaperWorldOptions) {
    this.paper = new PaperLog(seed);
    this.feed = new Feed(['paper', ...beside]);
    this.#write = write;
  }

  /** Advances to a second of the log; the store then shows all but the last `behind` watermarks. */
  async goTo(second: number, behind: number): Promise<void> {
    this.paper.run(second - (this.paper.log.now - START) / SECOND);
    for (const record of this.paper.log.records.slice(this.#applied)) {
      const outputs = this.#task.process(record);
      for (const entry of outputs.live) this.feed.memory.applyLive('paper', 0, codecs.live.encode(entry));
      this.#rows.push(...outputs.rows);
    }
    this.#applied = this.paper.log.records.length;
    const marks = this.#rows.flatMap(({ kind }, i) => (kind === 'watermark' ? [i] : []));
    const shown = marks.at(-1 - behind) ?? 0;
    await this.#write(this.#rows.slice(this.#stored, shown).flatMap(({ row }) => (row === null ? [] : [row])));
    this.#stored = shown;
    this.feed.memory.applyHistoryWatermark('paper', 0, this.#rows[shown]?.watermark ?? 0);
  }
}
