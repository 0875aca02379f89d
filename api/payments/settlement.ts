// Settles payments after their answers, and determines unknown outcomes from the chain, which decides (P-04).
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../infra/runtime/process/outage-log.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import type { PaymentChain } from './chain.ts';
import type { Facilitator, Settled } from './facilitator.ts';
import type { CountPayment } from './metrics.ts';
import type { Purchases } from './purchases.ts';
import type { Reason } from './reasons.ts';
import type { Failure, OpenPayment, PaymentStore } from './store.ts';

/** Payments of other processes, and outcomes that are unknown, are looked for this often. */
const SWEEP_EVERY_MS = 1_000;
/** Leases expire while the database is unavailable: for this time afterwards running processes renew theirs before payments of others count as abandoned. */
const RENEWED_WITHIN_MS = 5_000;
/** Taken up in one sweep of each kind; the rest waits for the next. */
const MOST_AT_ONCE = 20;
/** An operator should look at an outcome that is unknown for so long. */
const ALARM_S = 600;

const EXPIRED: Reason = 'invalid_exact_evm_payload_authorization_valid_before';
const SPENT: Reason = 'already_presented';

export type SettlementDeps = {
  readonly store: PaymentStore;
  readonly purchases: Purchases;
  readonly facilitator: Facilitator;
  readonly chain: PaymentChain;
  readonly count: CountPayment;
  readonly log: Logger;
};

type Decision =
  | { readonly is: 'settled'; readonly transaction: string }
  | ({ readonly is: 'failed' } & Failure)
  | { readonly is: 'unknown' };

const UNKNOWN: Decision = { is: 'unknown' };

/** What the chain has decided; `unused`: it may still be settled. */
const askChain = async ({ chain }: SettlementDeps, open: OpenPayment): Promise<Decision | 'unused'> => {
  const looked = await chain.look(open, open.presentedMs);
  if (looked.is === 'paid') return { is: 'settled', transaction: looked.transaction };
  if (looked.is === 'spent') return { is: 'failed', reason: SPENT, payersFault: true };
  if (!looked.isExpired) return 'unused';
  return { is: 'failed', reason: EXPIRED, payersFault: !(await chain.canPay(open)) };
};

/** The outcome of a settle call. A payment that the chain shows as paid, or that may still be under way, never fails. */
const decide = async (deps: SettlementDeps, open: OpenPayment, outcome: Settled): Promise<Decision> => {
  if (outcome.is === 'settled') return outcome;
  try {
    const decided = await askChain(deps, open);
    if (decided !== 'unused') return decided;
    if (outcome.is === 'unknown') return UNKNOWN;
    return { is: 'failed', reason: outcome.reason, payersFault: !(await deps.chain.canPay(open)), ofCall: open.call };
  } catch (err) {
    // While the chain is unavailable it is queried every few seconds; the age of unknown payments raises the alarm.
    deps.log.debug({ err, receipt_id: open.receiptId }, 'the chain does not respond about a payment');
    return UNKNOWN;
  }
};

const recordDecision = async (deps: SettlementDeps, open: OpenPayment, decision: Decision): Promise<void> => {
  const { store, purchases, count, log } = deps;
  const { receiptId, plan } = open;
  if (decision.is === 'settled') {
    if (plan === null) await store.settle(receiptId, decision.transaction);
    else await purchases.settle(receiptId, decision.transaction, null);
  } else if (decision.is === 'failed') {
    const { reason, payersFault } = decision;
    // Not recorded: another process has settled it meanwhile, or has sent it again.
    if (!(await store.fail(receiptId, decision))) return;
    log.warn({ receipt_id: receiptId, reason, payers_fault: payersFault }, 'a served payment was not settled');
  } else {
    await store.doubt(receiptId);
  }
  count(decision.is);
};

/** When the database does not take the outcome, the payment remains `settling`; its lease ends, and the chain is queried. */
const settleOpen = async (deps: SettlementDeps, open: OpenPayment): Promise<void> => {
  const outcome = await deps.facilitator.settle(open);
  await recordDecision(deps, open, await decide(deps, open, outcome));
};

/** Resolves an unknown outcome from the chain, else sends the payment again. The first call may still be in flight, so a refusal does not end it. */
const reconcile = async (deps: SettlementDeps, open: OpenPayment): Promise<void> => {
  const decided = await askChain(deps, open).catch(() => UNKNOWN);
  if (decided === UNKNOWN) return;
  if (decided !== 'unused') return recordDecision(deps, open, decided);
  if (!(await deps.store.resume(open.receiptId))) return;
  const outcome = await deps.facilitator.settle(open);
  const again: Settled = outcome.is === 'refused' ? { is: 'unknown', why: outcome.reason } : outcome;
  await recordDecision(deps, open, await decide(deps, open, again));
};

export type Settlement = {
  /** Settles what was served, unless another process has taken it up. Rejects never. */
  readonly settle: (receiptId: string) => Promise<void>;
  /** The outcome for a caller that waits for it; nothing is recorded. */
  readonly decide: (open: OpenPayment) => Promise<Decision>;
  /** Payments that this process answers or settles: while it lives no other one takes them up. */
  readonly held: Set<string>;
  readonly stop: () => Promise<void>;
};

/** Logs once that payments wait too long, and again when others do. */
const watchOverdue = ({ store, log }: SettlementDeps): (() => Promise<void>) => {
  let isAlarmed = false;
  return async () => {
    const { unknownS, overdue } = await store.overdue();
    const isLate = unknownS > ALARM_S || overdue > 0;
    if (isLate && !isAlarmed) log.error({ unknown_s: unknownS, overdue }, 'payments wait for their settlement');
    isAlarmed = isLate;
  };
};

/** Starts to look for what other processes left. */
export const startSettlement = (deps: SettlementDeps): Settlement => {
  const { store, log } = deps;
  const held = new Set<string>();
  /** Runs by payment: a run that finds the payment in use does not end the lease of the other run. */
  const runs = new Map<string, number>();
  const underWay = new Set<Promise<void>>();
  const watch = watchOverdue(deps);
  // A process may start while the database becomes available again.
  let failedMs = performance.now();

  const leave = (receiptId: string): void => {
    const left = (runs.get(receiptId) ?? 1) - 1;
    if (left > 0) return void runs.set(receiptId, left);
    runs.delete(receiptId);
    held.delete(receiptId);
  };
  const run = async (receiptId: string, work: () => Promise<void>): Promise<void> => {
    held.add(receiptId);
    runs.set(receiptId, (runs.get(receiptId) ?? 0) + 1);
    const done = work()
      .catch((err: unknown) =>
        log.warn({ err, receipt_id: receiptId }, 'a settlement was not recorded, the chain will be queried'),
      )
      .finally(() => leave(receiptId));
    underWay.add(done);
    await done;
    underWay.delete(done);
  };

  const sweep = async (): Promise<void> => {
    if (held.size > 0) await store.renew([...held]);
    if (performance.now() - failedMs >= RENEWED_WITHIN_MS) await store.tidy();
    for (const open of await store.takeServed(MOST_AT_ONCE)) void run(open.receiptId, () => settleOpen(deps, open));
    for (const open of await store.takeUnknown(MOST_AT_ONCE)) {
      if (!held.has(open.receiptId)) void run(open.receiptId, () => reconcile(deps, open));
    }
    await watch();
  };
  const noteFailure = (): void => {
    failedMs = performance.now();
  };
  const stopSweeping = repeat(sweep, { log, noteFailure });

  return {
    held,
    settle: (receiptId) =>
      run(receiptId, async () => {
        const open = await store.takeOne(receiptId);
        if (open !== null) await settleOpen(deps, open);
      }),
    decide: async (open) => decide(deps, open, await deps.facilitator.settle(open)),
    async stop() {
      await stopSweeping();
      await Promise.all(underWay);
    },
  };
};

/** Sweeps one after the other; an unavailable database is logged once. */
const repeat = (
  sweep: () => Promise<void>,
  { log, noteFailure }: { readonly log: Logger; readonly noteFailure: () => void },
): (() => Promise<void>) => {
  const stopping = new AbortController();
  const outages = createOutageLog(log, 'pending payments cannot be read, trying again');
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await sweep();
        outages.noteSuccess();
      } catch (err) {
        noteFailure();
        outages.noteFailure(err);
      }
      await pauseUnlessAborted(SWEEP_EVERY_MS, stopping.signal);
    }
  };
  const looping = loop();
  return () => {
    stopping.abort();
    return looping;
  };
};
