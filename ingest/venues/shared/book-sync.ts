// Joins a book's snapshot with its diffs and notices a missing one: a pure machine fed by a venue's rule.
//
//   unsynced --snapshot--> joined --first diff--> live --hole--> broken --snapshot--> joined
//
// The collector runs it with no payload, to know when a snapshot is needed; the task runs it with the messages themselves, to know what to
// apply. Fed the same chains both are in the same state. State is plain JSON (update ids as decimal text: some exceed 2^53).

/** Sequence ids of a book message, as the venue numbers them (bigint: some exceed 2^53). */
export type Chain = {
  readonly symbol: string;
  /** `confirmation`: a few levels of a snapshot, whose id alone matters. */
  readonly kind: 'snapshot' | 'update' | 'confirmation';
  readonly first: bigint | null;
  readonly last: bigint | null;
  readonly previous: bigint | null;
  /** Snapshots only: sides of which the venue sent fewer levels than asked, hence all it has. */
  readonly full?: FullSides | undefined;
};

export type FullSides = { readonly bids: boolean; readonly asks: boolean };

/** How a venue's book continues. `snapshot`: REST snapshot + buffered diffs; `stream`: the feed sends its snapshots; `full`: every message is whole. */
export type BookRule = {
  readonly style: 'snapshot' | 'stream' | 'full';
  /** True when `next` directly continues a book standing at `last` (null: nothing applied since the snapshot `snapshotId`). */
  readonly continues: (
    at: { readonly last: bigint; readonly joined: boolean },
    next: Chain,
  ) => 'apply' | 'skip' | 'break';
  /** Most diffs kept while waiting for a snapshot; more are dropped oldest first, and the join then fails. */
  readonly bufferLimit: number;
};

/** `unsynced`: waiting for the first snapshot; `joined`: stands exactly at a snapshot; `live`: diffs follow it; `broken`: a diff is missing. */
type SyncPhase = 'unsynced' | 'joined' | 'live' | 'broken';

export type Waiting<P> = {
  readonly first: string | null;
  readonly last: string | null;
  readonly previous: string | null;
  readonly payload: P;
};

export type BookSync<P> = {
  readonly phase: SyncPhase;
  /** Update id the book stands at; null while it is not whole. */
  readonly last: string | null;
  /** Diffs that came before the snapshot they belong behind, oldest first. */
  readonly waiting: readonly Waiting<P>[];
};

type SyncStep<P> = {
  readonly state: BookSync<P>;
  /** Payloads to apply now, in this order; when the step carried a snapshot and it was taken, the snapshot's comes first. */
  readonly apply: readonly P[];
  /** A book that was whole is not any more: it must be invalidated (`sequence_break`). */
  readonly broke: boolean;
  /** A snapshot (or, for style `stream`, a new subscription) is needed; said at every step until one joins. */
  readonly needSnapshot: boolean;
};

export const newBookSync = <P>(): BookSync<P> => ({ phase: 'unsynced', last: null, waiting: [] });

/** True when the book is whole and may be served. */
export const isWhole = (state: BookSync<unknown>): boolean => state.phase === 'joined' || state.phase === 'live';

/** A confirmation that names the id a whole book stands at: nothing has changed since. */
export const isConfirmed = (state: BookSync<unknown>, chain: Chain): boolean =>
  isWhole(state) && state.last !== null && chain.last === BigInt(state.last);

/** One message of the book's chain, in the order it was received. Never throws. */
export const stepBookSync = <P>(rule: BookRule, state: BookSync<P>, chain: Chain, payload: P): SyncStep<P> => {
  // It changes no level: what came between two ids is in the diffs.
  if (chain.kind === 'confirmation') return quiet(state);
  return chain.kind === 'snapshot' ? onSnapshot(rule, state, chain, payload) : onUpdate(rule, state, chain, payload);
};

const quiet = <P>(state: BookSync<P>, apply: readonly P[] = []): SyncStep<P> => ({
  state,
  apply,
  broke: false,
  needSnapshot: !isWhole(state),
});

const toText = (id: bigint | null): string | null => (id === null ? null : String(id));
const toId = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

const onSnapshot = <P>(rule: BookRule, state: BookSync<P>, chain: Chain, payload: P): SyncStep<P> => {
  const id = chain.last;
  if (id === null || rule.style !== 'snapshot')
    return quiet({ phase: 'joined', last: toText(id), waiting: [] }, [payload]);
  // A snapshot behind a whole book is a late answer; one at or ahead of it is a confirmation and takes its place.
  if (isWhole(state) && state.last !== null && id < BigInt(state.last)) return quiet(state);
  return join(rule, state, chain.symbol, id, payload);
};

const join = <P>(rule: BookRule, state: BookSync<P>, symbol: string, id: bigint, payload: P): SyncStep<P> => {
  let at = { last: id, joined: false };
  const apply: P[] = [payload];
  for (const [index, held] of state.waiting.entries()) {
    const next = toChain(symbol, held);
    const verdict = rule.continues(at, next);
    // The snapshot is older than the diffs kept: they stay, for a newer snapshot to join.
    if (verdict === 'break') return quiet({ phase: state.phase, last: null, waiting: state.waiting.slice(index) });
    if (verdict === 'skip') continue;
    apply.push(held.payload);
    at = { last: next.last ?? at.last, joined: true };
  }
  return quiet({ phase: at.joined ? 'live' : 'joined', last: String(at.last), waiting: [] }, apply);
};

const onUpdate = <P>(rule: BookRule, state: BookSync<P>, chain: Chain, payload: P): SyncStep<P> => {
  if (rule.style === 'full') return quiet({ phase: 'live', last: toText(chain.last), waiting: [] }, [payload]);
  if (!isWhole(state)) return quiet(hold(rule, state, chain, payload));
  const at = { last: toId(state.last) ?? 0n, joined: state.phase === 'live' };
  const verdict = rule.continues(at, chain);
  if (verdict === 'skip') return quiet(state);
  if (verdict === 'apply') return quiet({ phase: 'live', last: toText(chain.last), waiting: [] }, [payload]);
  const broken: BookSync<P> = { phase: 'broken', last: null, waiting: [] };
  return { state: hold(rule, broken, chain, payload), apply: [], broke: true, needSnapshot: true };
};

/** Keeps a diff until its snapshot comes; over the limit the oldest go (drop-oldest), and an older snapshot then fails to join. */
const hold = <P>(rule: BookRule, state: BookSync<P>, chain: Chain, payload: P): BookSync<P> => {
  if (rule.style !== 'snapshot' || rule.bufferLimit < 1) return state;
  const held = { first: toText(chain.first), last: toText(chain.last), previous: toText(chain.previous), payload };
  return { ...state, waiting: [...state.waiting.slice(1 - rule.bufferLimit || state.waiting.length), held] };
};

const toChain = (symbol: string, held: Waiting<unknown>): Chain => ({
  symbol,
  kind: 'update',
  first: toId(held.first),
  last: toId(held.last),
  previous: toId(held.previous),
});
