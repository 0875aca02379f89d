// A node that begins in the middle of a task's log, as a process does: at the newest state round, then the stretch after it, then what comes,
// and joined later by a copy that began at an earlier round. It is compared with one that received everything.
import { LiveMemory } from '../../../api/live/memory.ts';
import { Task } from '../../../processors/task/task.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion, RowEntry, StateEntry } from '../../../schemas/topics.ts';
import { PaperLog, paperVenue } from '../tasks/paper-log.ts';
import { ShardLog } from '../tasks/shard-log.ts';
import type { Appended } from '../tasks/task-driver.ts';

export const VENUE = 'paper';

/** Outputs of one raw record of a partition: its entries of `live`, and the round that was due at it. */
export type Step = {
  readonly partition: number;
  readonly recordedAt: Micros;
  readonly live: readonly Buffer[];
  readonly rows: readonly RowEntry[];
  readonly listings: readonly ListingVersion[];
  readonly capabilities: readonly CapabilityVersion[];
  readonly round: readonly StateEntry[] | null;
};

const NO_BODY = { symbol: null, reading: null, span: null, listing: null, capability: null };

/** The log of the given seconds as the tasks of its shards publish it. */
export const makeSteps = (seed: number, seconds: number, shards = 1): readonly Step[] => {
  const paper = new PaperLog(seed);
  paper.run(seconds);
  const steps = Array.from({ length: shards }, (_, partition) =>
    makeTaskSteps(new ShardLog(partition).append(paper.log.records), { partition, shards }),
  );
  return steps.flat().sort((a, b) => a.recordedAt - b.recordedAt);
};

const makeTaskSteps = (
  records: readonly Appended[],
  { partition, shards }: { readonly partition: number; readonly shards: number },
): readonly Step[] => {
  const task = new Task({ venue: paperVenue, partition, shards });
  return records.map((record) => {
    const { live, rows, listings, capabilities, stateRound, offset } = task.process(record);
    const marker = { entries: stateRound?.length ?? 0, watermark: task.watermark, live_offset: 0 };
    const round = stateRound && [...stateRound, { ...NO_BODY, round: offset, kind: 'marker' as const, marker }];
    return {
      partition,
      recordedAt: task.state.recordedAt,
      live: live.map((entry) => codecs.live.encode(entry)),
      ...{ rows, listings, capabilities },
      round: round === null ? null : round.map((entry) => codecs.state.decode(codecs.state.encode(entry))),
    };
  });
};

const apply = (memory: LiveMemory, steps: readonly Step[]): void => {
  for (const { partition, live } of steps) for (const bytes of live) memory.applyLive(VENUE, partition, bytes);
};

/** The newest round of a partition's steps that is of a time up to `by`; -1: none. */
const roundBefore = (steps: readonly Step[], by: Micros): number =>
  steps.findLastIndex(({ round, recordedAt }) => round !== null && recordedAt <= by);

/** `keep` makes what keeps what is applied, before anything is. */
export class JoinedNode<Kept> {
  readonly whole = new LiveMemory([VENUE]);
  readonly node = new LiveMemory([VENUE]);
  readonly kept: { readonly whole: Kept; readonly node: Kept };
  readonly #steps: readonly Step[];
  readonly #partitions: readonly number[];
  #join: (() => void) | null = null;
  #next = 0;

  constructor(steps: readonly Step[], keep: (live: LiveMemory) => Kept) {
    this.#steps = steps;
    this.kept = { whole: keep(this.whole), node: keep(this.node) };
    this.#partitions = [...new Set(steps.map(({ partition }) => partition))];
    this.whole.expectPartitions(VENUE, this.#partitions);
    for (const partition of this.#partitions) {
      this.whole.beginAtStart(VENUE, partition);
      this.whole.markReady(VENUE, partition);
    }
    this.node.expectPast();
    this.node.expectPartitions(VENUE, this.#partitions);
  }

  get now(): Micros {
    return this.#steps[this.#next - 1]?.recordedAt ?? 0;
  }

  /** The node that was always running receives the next steps, the other too once it has begun. */
  goTo(step: number): void {
    const nextSteps = this.#steps.slice(this.#next, step);
    apply(this.whole, nextSteps);
    for (const { listings, capabilities } of nextSteps) {
      // Versions come of topics that keep them for ever.
      for (const version of listings) this.node.applyListing(version);
      for (const version of capabilities) this.node.applyCapability(version);
    }
    if (this.#join !== null) apply(this.node, nextSteps);
    this.#next = step;
  }

  /** The node begins here, and what it has missed is read back to `backUs` before. */
  begin(backUs: Micros): void {
    const { node } = this;
    for (const partition of this.#partitions) {
      const steps = this.#stepsBefore(partition);
      const round = roundBefore(steps, Number.POSITIVE_INFINITY);
      node.applyRound(VENUE, partition, steps[round]?.round ?? []);
      for (const { live } of steps.slice(Math.max(0, round - 40)))
        for (const bytes of live) node.applyTail(VENUE, partition, bytes);
      node.markReady(VENUE, partition);
    }
    this.#join = this.#readPast(backUs);
  }

  #stepsBefore(partition: number): readonly Step[] {
    return this.#steps.slice(0, this.#next).filter((step) => step.partition === partition);
  }

  join(): void {
    this.#join?.();
  }

  #readPast(backUs: Micros): () => void {
    const past = new LiveMemory([VENUE]);
    const join = this.node.join(past);
    past.expectPartitions(VENUE, this.#partitions);
    for (const partition of this.#partitions) {
      const steps = this.#stepsBefore(partition);
      const round = roundBefore(steps, this.now - backUs);
      if (round < 0) past.beginAtStart(VENUE, partition);
      else past.applyRound(VENUE, partition, steps[round]?.round ?? []);
      apply(past, steps.slice(Math.max(0, round - 40)));
    }
    return join;
  }
}
