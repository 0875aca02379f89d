// A node that begins in the middle of a task's log, as a process does: at the newest state round, then the stretch after it, then what comes,
// and joined later by a copy that began at an earlier round. It is compared with one that was told everything.
import { LiveMemory } from '../../api/live/memory.ts';
import { Task } from '../../processors/task/task.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import type { RowEntry, StateEntry } from '../../schemas/topics.ts';
import { PaperLog, paperVenue } from './paper-log.ts';

export const VENUE = 'paper';

/** What one raw record made: its entries of `live`, and the round that was due at it. */
export type Step = {
  readonly recordedAt: Micros;
  readonly live: readonly Buffer[];
  readonly rows: readonly RowEntry[];
  readonly round: readonly StateEntry[] | null;
};

const NO_BODY = { symbol: null, reading: null, span: null, listing: null, capability: null };

/** The log of so many seconds as a task publishes it. */
export const makeSteps = (seed: number, seconds: number): readonly Step[] => {
  const paper = new PaperLog(seed);
  paper.run(seconds);
  const task = new Task({ venue: paperVenue, partition: 0, shards: 1 });
  return paper.log.records.map((record) => {
    const { live, rows, stateRound, offset } = task.process(record);
    const marker = { entries: stateRound?.length ?? 0, watermark: task.watermark, live_offset: 0 };
    const round = stateRound && [...stateRound, { ...NO_BODY, round: offset, kind: 'marker' as const, marker }];
    return {
      recordedAt: task.state.recordedAt,
      live: live.map((entry) => codecs.live.encode(entry)),
      rows,
      round: round?.map((entry) => codecs.state.decode(codecs.state.encode(entry))) ?? null,
    };
  });
};

const apply = (memory: LiveMemory, steps: readonly Step[]): void => {
  for (const { live } of steps) for (const bytes of live) memory.applyLive(VENUE, 0, bytes);
};

/** The newest round of the steps before `end` that is of a time up to `by`; -1: none. */
const roundBefore = (steps: readonly Step[], end: number, by: Micros): number =>
  steps.findLastIndex(({ round, recordedAt }, i) => i < end && round !== null && recordedAt <= by);

/** `keep` makes what keeps what is applied, before anything is. */
export class JoinedNode<Kept> {
  readonly whole = new LiveMemory([VENUE]);
  readonly node = new LiveMemory([VENUE]);
  readonly kept: { readonly whole: Kept; readonly node: Kept };
  readonly #steps: readonly Step[];
  readonly #cut: number;
  readonly #join: () => void;
  #next = 0;

  /** The node begins at the step `cut`, and what it was not told is read back to `backUs` before it. */
  constructor(
    steps: readonly Step[],
    { cut, backUs, keep }: { readonly cut: number; readonly backUs: Micros; readonly keep: (live: LiveMemory) => Kept },
  ) {
    this.#steps = steps;
    this.#cut = cut;
    this.kept = { whole: keep(this.whole), node: keep(this.node) };
    this.whole.beginAtStart(VENUE, 0);
    this.whole.markReady(VENUE, 0);
    this.#goWhole(cut);
    this.#begin();
    this.#join = this.#readPast(backUs);
  }

  get now(): Micros {
    return this.#steps[this.#next - 1]?.recordedAt ?? 0;
  }

  /** Both are told the next steps. */
  goTo(step: number): void {
    apply(this.node, this.#steps.slice(this.#next, step));
    this.#goWhole(step);
  }

  join(): void {
    this.#join();
  }

  #goWhole(step: number): void {
    apply(this.whole, this.#steps.slice(this.#next, step));
    this.#next = step;
  }

  #begin(): void {
    const { node } = this;
    node.expectPast();
    node.expectPartitions(VENUE, [0]);
    const round = roundBefore(this.#steps, this.#cut, Number.POSITIVE_INFINITY);
    node.applyRound(VENUE, 0, this.#steps[round]?.round ?? []);
    for (const { live } of this.#steps.slice(Math.max(0, round - 40), this.#cut))
      for (const bytes of live) node.applyTail(VENUE, 0, bytes);
    this.#applyVersions();
    node.markReady(VENUE, 0);
  }

  /** As a node reads them from the topics of versions, which are kept for ever; a round has the newest of each only. */
  #applyVersions(): void {
    for (const { live } of this.#steps.slice(0, this.#cut))
      for (const bytes of live) {
        const { listing, capability } = codecs.live.decode(bytes);
        if (listing !== null) this.node.applyListing(listing);
        if (capability !== null) this.node.applyCapability(capability);
      }
  }

  #readPast(backUs: Micros): () => void {
    const past = new LiveMemory([VENUE]);
    const join = this.node.join(past);
    past.expectPartitions(VENUE, [0]);
    const round = roundBefore(this.#steps, this.#cut, this.now - backUs);
    if (round < 0) past.beginAtStart(VENUE, 0);
    else past.applyRound(VENUE, 0, this.#steps[round]?.round ?? []);
    apply(past, this.#steps.slice(Math.max(0, round - 40), this.#cut));
    return join;
  }
}
