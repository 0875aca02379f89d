// Joins a book's snapshot with its diffs and detects a missing one: a pure state machine, driven by a venue's rule.
//
//   unsynced --snapshot--> joined --first diff--> live --hole--> broken --snapshot--> joined
//
// The collector runs it without payloads, to detect that a snapshot is needed; the task runs it with the messages, to know which to
// apply. With the same chains both reach the same state. State is plain JSON (update ids as decimal text: some exceed 2^53).
import type { Micros } from '../../../schemas/records.ts';

/** Sequence ids of a book message, as the venue numbers them (bigint: some exceed 2^53). */
export type Chain = {
  readonly symbol: string;
  /** `confirmation`: a few levels of a snapshot, used only for its id. */
  readonly kind: 'snapshot' | 'update' | 'confirmation';
  readonly first: bigint | null;
  readonly last: bigint | null;
  readonly previous: bigint | null;
  /** Snapshots only: sides with fewer levels than requested, which are therefore complete. */
  readonly full?: FullSides | undefined;
  /** Updates only: the best levels a side that the channel has. A side that reaches them may continue beyond, where no change is sent. */
  readonly depth?: number | undefined;
};

export type FullSides = { readonly bids: boolean; readonly asks: boolean };

/** A message of a book: its place in the chain, and what the caller applies in its turn. */
type Chained<P> = {
  readonly chain: Chain;
  readonly payload: P;
  /** Without it a restarted numbering is not looked for: recordings that are read one after another are of any time and numbering. */
  readonly receivedAt?: Micros;
};

/**
 * How long a message may come after one with newer ids: a diff that its snapshot overtook, or an answer (a collector waits 10 s for one). Older ids
 * after that are a restarted numbering (D-460).
 */
const OVERTAKEN_FOR: Micros = 10_000_000;

/** How a venue's book continues. `snapshot`: REST snapshot and buffered diffs; `stream`: the feed sends snapshots; `full`: every message is whole. */
export type BookRule = {
  readonly style: 'snapshot' | 'stream' | 'full';
  /** True when `next` directly continues a book at id `last` (null: nothing applied since the snapshot `snapshotId`). */
  readonly continues: (
    at: { readonly last: bigint; readonly joined: boolean },
    next: Chain,
  ) => 'apply' | 'skip' | 'break';
  /** Maximum number of diffs kept while waiting for a snapshot. The oldest are dropped first, and the join then fails. */
  readonly bufferLimit: number;
  /** Messages have no ids: none shows that the one before it is missing. */
  readonly isUnnumbered?: true;
};

/** `unsynced`: waits for the first snapshot; `joined`: equals a snapshot; `live`: diffs follow it; `broken`: a diff is missing. */
type SyncPhase = 'unsynced' | 'joined' | 'live' | 'broken';

export type Waiting<P> = {
  readonly first: string | null;
  readonly last: string | null;
  readonly previous: string | null;
  readonly payload: P;
};

export type BookSync<P> = {
  readonly phase: SyncPhase;
  /** Update id of the book; null while it is not whole. */
  readonly last: string | null;
  /** Receipt of the message that the book last changed by; null while that is not known. */
  readonly changedAt: Micros | null;
  /** Diffs that arrived before their snapshot, oldest first. */
  readonly waiting: readonly Waiting<P>[];
};

type SyncStep<P> = {
  readonly state: BookSync<P>;
  /** Payloads to apply now, in this order. An accepted snapshot comes first. */
  readonly apply: readonly P[];
  /** A whole book is no longer whole: it must be invalidated (`sequence_break`). */
  readonly broke: boolean;
  /** A snapshot (or, for style `stream`, a new subscription) is needed; true at every step until one joins. */
  readonly needSnapshot: boolean;
};

export const makeBookSync = <P>(): BookSync<P> => ({ phase: 'unsynced', last: null, changedAt: null, waiting: [] });

/** True when the book is whole and may be served. */
export const isWhole = (state: BookSync<unknown>): boolean => state.phase === 'joined' || state.phase === 'live';

/** True for a confirmation with the id of a whole book: nothing has changed since. */
export const isConfirmed = (state: BookSync<unknown>, chain: Chain): boolean =>
  isWhole(state) && state.last !== null && chain.last === BigInt(state.last);

/** Takes one message of the book's chain, in the order of receipt. Never throws. */
export const stepBookSync = <P>(rule: BookRule, state: BookSync<P>, message: Chained<P>): SyncStep<P> => {
  const { kind } = message.chain;
  // A confirmation changes no level: the diffs contain every change.
  if (kind === 'confirmation') return keepQuiet(state);
  return kind === 'snapshot' ? applySnapshot(rule, state, message) : applyUpdate(rule, state, message);
};

const keepQuiet = <P>(state: BookSync<P>, apply: readonly P[] = []): SyncStep<P> => ({
  state,
  apply,
  broke: false,
  needSnapshot: !isWhole(state),
});

const toText = (id: bigint | null): string | null => (id === null ? null : String(id));
const toId = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

const applySnapshot = <P>(rule: BookRule, state: BookSync<P>, message: Chained<P>): SyncStep<P> => {
  const { chain, payload, receivedAt } = message;
  const { symbol, last: id } = chain;
  if (id === null || rule.style !== 'snapshot')
    return keepQuiet({ phase: 'joined', last: toText(id), changedAt: receivedAt ?? null, waiting: [] }, [payload]);
  // A snapshot older than a whole book is a late answer; any other replaces it.
  if (isWhole(state) && isOlder(state, chain))
    return isRestart(state, message) ? breakOff(makeBroken()) : keepQuiet(state);
  return join(rule, state, { symbol, id, payload, receivedAt });
};

const isOlder = ({ last }: BookSync<unknown>, chain: Chain): boolean =>
  last !== null && chain.last !== null && chain.last < BigInt(last);

/** Whether a message with older ids than the book's comes too late to have been overtaken. */
const isRestart = ({ changedAt }: BookSync<unknown>, { receivedAt }: Chained<unknown>): boolean =>
  changedAt !== null && receivedAt !== undefined && receivedAt - changedAt > OVERTAKEN_FOR;

const makeBroken = <P>(): BookSync<P> => ({ ...makeBookSync<P>(), phase: 'broken' });

const breakOff = <P>(state: BookSync<P>): SyncStep<P> => ({ state, apply: [], broke: true, needSnapshot: true });

/** A snapshot with an id. */
type Snapshot<P> = {
  readonly symbol: string;
  readonly id: bigint;
  readonly payload: P;
  readonly receivedAt: Micros | undefined;
};

const join = <P>(rule: BookRule, state: BookSync<P>, snapshot: Snapshot<P>): SyncStep<P> => {
  const { symbol, id, payload, receivedAt } = snapshot;
  let at = { last: id, joined: false };
  const apply: P[] = [payload];
  for (const [index, held] of state.waiting.entries()) {
    const next = toChain(symbol, held);
    const verdict = rule.continues(at, next);
    // The snapshot is older than the kept diffs: they wait for a newer one.
    if (verdict === 'break') return keepQuiet({ ...state, last: null, waiting: state.waiting.slice(index) });
    if (verdict === 'skip') continue;
    apply.push(held.payload);
    at = { last: next.last ?? at.last, joined: true };
  }
  const phase = at.joined ? 'live' : 'joined';
  return keepQuiet({ phase, last: String(at.last), changedAt: receivedAt ?? null, waiting: [] }, apply);
};

const applyUpdate = <P>(rule: BookRule, state: BookSync<P>, message: Chained<P>): SyncStep<P> => {
  const { chain, payload, receivedAt } = message;
  const live = { phase: 'live', last: toText(chain.last), changedAt: receivedAt ?? null, waiting: [] } as const;
  if (rule.style === 'full') return keepQuiet<P>(live, [payload]);
  if (!isWhole(state)) return keepQuiet(holdUpdate(rule, state, message));
  const at = { last: toId(state.last) ?? 0n, joined: state.phase === 'live' };
  const verdict = rule.continues(at, chain);
  if (verdict === 'apply') return keepQuiet<P>(live, [payload]);
  if (verdict === 'skip' && !(isOlder(state, chain) && isRestart(state, message))) return keepQuiet(state);
  return breakOff(holdUpdate(rule, makeBroken(), message));
};

/**
 * Keeps a diff until its snapshot arrives. Above the limit the oldest are dropped, and an older snapshot then fails to join. One connection's ids ascend:
 * an older id is a restarted numbering, whose snapshots never join what was kept before.
 */
const holdUpdate = <P>(rule: BookRule, state: BookSync<P>, message: Chained<P>): BookSync<P> => {
  const { chain, payload, receivedAt } = message;
  if (rule.style !== 'snapshot' || rule.bufferLimit < 1) return state;
  const held = { first: toText(chain.first), last: toText(chain.last), previous: toText(chain.previous), payload };
  const newest = toId(state.waiting.at(-1)?.last ?? null);
  const isRestarted = newest !== null && chain.last !== null && chain.last < newest && receivedAt !== undefined;
  if (isRestarted) return { ...state, waiting: [held] };
  return { ...state, waiting: [...state.waiting.slice(1 - rule.bufferLimit || state.waiting.length), held] };
};

const toChain = (symbol: string, held: Waiting<unknown>): Chain => ({
  symbol,
  kind: 'update',
  first: toId(held.first),
  last: toId(held.last),
  previous: toId(held.previous),
});
