// The interface of anchored days for operations: the record of a day, the proof of a row, and the address of the verifiers.
import { Readable } from 'node:stream';
import type { ObjectStore } from '../../infra/runtime/files/object-store.ts';
import { Turns } from '../../infra/runtime/process/turns.ts';
import type { LeafSource } from '../../infra/runtime/questdb/leaf-rows.ts';
import { limitTime } from '../../infra/runtime/time/within.ts';
import { makeUnavailable } from '../../schemas/errors.ts';
import { ARCHIVE_AWAY } from '../contract/archive.ts';
import { explainStore, storeAway } from '../history/store.ts';
import type { ClosedDays } from './closed-days.ts';
import { createComparedListings } from './compared.ts';
import { type Proof, type ProofDeps, type ProofQuestion, proveRow } from './proof.ts';

export type Anchors = {
  readonly days: Pick<ClosedDays, 'find' | 'first' | 'leavesOf'>;
  /** Throws ServiceError: ANCHOR_CHANGED, ANCHOR_NOT_FOUND for no such row, UNAVAILABLE. */
  readonly prove: (question: ProofQuestion) => Promise<Proof>;
  /** Where both verifiers are served (AN-10). */
  readonly verifyUrl: string;
};

/** Proofs at a time: each reads a day of rows of its listing, and other answers need the processor too. */
const AT_A_TIME = 2;
/** A call waits so long for its turn; with the time that a silent store takes to fail it is answered within half a minute. */
const PATIENCE_MS = 15_000;
/** Between two pieces of a file. */
const IDLE_MS = 10_000;

/** Turns failures of stored history into errors of an answer. */
const explainHistory = ({ questdb, namespace }: LeafSource): LeafSource => ({
  namespace,
  questdb: {
    ...questdb,
    query: (query) =>
      questdb.query(query).catch((error: unknown) => {
        throw explainStore(error);
      }),
  },
});

/** The bytes as they come; a store that breaks off, or does not go on, is as one that does not begin. */
async function* readOn(bytes: Readable, idleMs: number): AsyncGenerator<Buffer> {
  const pieces: AsyncIterator<Buffer> = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await limitTime(pieces.next(), idleMs);
      if (done === true) return;
      yield value;
    }
  } catch {
    throw makeUnavailable(ARCHIVE_AWAY);
  } finally {
    bytes.destroy();
  }
}

/** Turns failures of the object store into errors of an answer. */
const explainObjects = (store: ObjectStore, idleMs: number): ObjectStore => ({
  ...store,
  read: async (key, range) => {
    const bytes = await store.read(key, range).catch(() => {
      throw makeUnavailable(ARCHIVE_AWAY);
    });
    return Readable.from(readOn(bytes, idleMs), { objectMode: false });
  },
});

type AnchorOptions = { readonly verifyUrl: string; readonly patienceMs?: number; readonly idleMs?: number };

export const openAnchors = (
  { days, store, stored }: ProofDeps,
  { verifyUrl, patienceMs = PATIENCE_MS, idleMs = IDLE_MS }: AnchorOptions,
): Anchors => {
  const compared = createComparedListings();
  const deps = {
    days,
    store: explainObjects(store, idleMs),
    stored: stored === null ? null : explainHistory(stored),
    compared,
  };
  const turns = new Turns(AT_A_TIME);
  const prove = (question: ProofQuestion): Promise<Proof> => {
    const untilMs = performance.now() + patienceMs;
    return turns.run(() => {
      if (performance.now() > untilMs) throw storeAway();
      return proveRow(question, deps);
    });
  };
  return { days, prove, verifyUrl };
};
