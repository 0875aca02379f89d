// The service between a paper log and its answers: a task for each shard, the memory copy, and a store that lags as set.
import { Task } from '../../../processors/task/task.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { toShard } from '../../../schemas/shards.ts';
import type { RowEntry } from '../../../schemas/topics.ts';
import { Feed } from '../apps/live-fixture.ts';
import type { TestStore } from '../engines/test-store.ts';
import { Oracle } from './oracle.ts';
import { PaperLog, paperVenue, toOracleRecords } from './paper-log.ts';
import { ShardLog } from './shard-log.ts';
import { SECOND, START } from './task-driver.ts';

export type PaperWorldOptions = {
  readonly seed: number;
  readonly write: TestStore['write'];
  /** Venues that the memory copy has besides. */
  readonly beside?: readonly string[];
  /** One when left out. */
  readonly shards?: number;
  /** Of the only shard: whose log it has among several. */
  readonly logOf?: number;
};

type Shard = {
  readonly partition: number;
  /** Further watermarks by which the store is behind: each shard's rows are written on their own. */
  readonly behind: number;
  readonly log: ShardLog;
  readonly task: Task;
  readonly rows: RowEntry[];
  stored: number;
};

const createShard = (partition: number, shards: number, logOf = partition): Shard => ({
  partition,
  behind: 37 * logOf,
  log: new ShardLog(logOf),
  task: new Task({ venue: paperVenue, partition, shards }),
  rows: [],
  stored: 0,
});

export class PaperWorld {
  readonly paper: PaperLog;
  readonly feed: Feed;
  readonly #write: TestStore['write'];
  readonly #shards: readonly Shard[];
  #applied = 0;

  constructor({ seed, write, beside = [], shards = 1, logOf }: PaperWorldOptions) {
    this.paper = new PaperLog(seed);
    this.feed = new Feed(['paper', ...beside], shards);
    this.#write = write;
    this.#shards = Array.from({ length: shards }, (_, partition) => createShard(partition, shards, logOf));
  }

  /** Advances to a second of the log; the store then shows all but the last `behind` watermarks, of shards after the first fewer. */
  async goTo(second: number, behind: number): Promise<void> {
    this.paper.run(second - (this.paper.log.now - START) / SECOND);
    const records = this.paper.log.records.slice(this.#applied);
    this.#applied = this.paper.log.records.length;
    for (const shard of this.#shards) {
      const { partition, log, task, rows } = shard;
      for (const record of log.append(records)) {
        const outputs = task.process(record);
        for (const entry of outputs.live) this.feed.memory.applyLive('paper', partition, codecs.live.encode(entry));
        rows.push(...outputs.rows);
      }
      await this.#store(shard, behind);
    }
  }

  /** A reading of the log of each listing's shard. */
  oracles(): (symbol: string) => Oracle {
    const oracles = this.#shards.map(({ log }) => new Oracle('paper', toOracleRecords(log.records)));
    return (symbol) => oracles[toShard(symbol, oracles.length)] as Oracle;
  }

  async #store(shard: Shard, behind: number): Promise<void> {
    const { partition, rows } = shard;
    const marks = rows.flatMap(({ kind }, i) => (kind === 'watermark' ? [i] : []));
    const shown = marks.at(-1 - behind - shard.behind) ?? 0;
    await this.#write(rows.slice(shard.stored, shown).flatMap(({ row }) => (row === null ? [] : [row])));
    shard.stored = shown;
    this.feed.memory.applyHistoryWatermark('paper', partition, rows[shown]?.watermark ?? 0);
  }
}
