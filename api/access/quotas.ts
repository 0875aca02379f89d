// The daily quotas of a plan besides requests: DQL evaluations, fresh agent evaluations, archive files (AC-02). Each is metered
// like requests, over all processes, under a name of its own.
import { LimitReached, type Refusal } from '../contract/limits.ts';
import type { Plan } from '../contract/plans.ts';
import { LIMIT_OF_QUOTA, type Quota } from '../contract/quotas.ts';
import type { Lease } from './call.ts';
import { computeAhead, type Limits } from './held-permits.ts';
import type { Account } from './key-store.ts';
import type { Meter } from './meter.ts';

/** The name a quota of a key is metered and counted under. */
export const nameQuota = (keyId: string, quota: Quota): string => `${keyId}/${quota}`;

/** The bucket has the size of the day's limit, so only the day limits. A process holds at most as many permits as for requests. */
const toLimits = ({ limits }: Plan, quota: Quota): Limits => {
  const day = limits[LIMIT_OF_QUOTA[quota]];
  return {
    requests_per_second: day,
    burst: day,
    requests_per_day: day,
    concurrent_requests: null,
    ahead: computeAhead(limits),
  };
};

const takeOne = (meter: Meter, { keyId, plan }: Account, { quota, nowMs }: Spending): Promise<Refusal | null> =>
  meter.admit(nameQuota(keyId, quota), toLimits(plan, quota), nowMs);

type Spending = { readonly quota: Quota; readonly count: number; readonly nowMs: number };

/**
 * Takes what a call needs, or nothing and throws LimitReached. Whether it needs any is known only after its body was read. The lease counts it with
 * the status of the answer: like a request, what ends in a 5xx does not count (AC-03).
 */
export const spendQuota = async (meter: Meter, account: Account, spending: Spending): Promise<Lease> => {
  const { quota, count } = spending;
  const name = nameQuota(account.keyId, quota);
  const taken = await Promise.all(Array.from({ length: count }, () => takeOne(meter, account, spending)));
  const refusal = taken.find((one) => one !== null);
  const putBack = (): void => {
    for (const one of taken) if (one === null) meter.putBack(name);
  };
  if (refusal) {
    putBack();
    throw new LimitReached(`The plan ${account.plan.name}`, { ...refusal, limit: LIMIT_OF_QUOTA[quota] });
  }
  return (status) => {
    if (status >= 500) return putBack();
    for (const _one of taken) meter.end(name, quota);
  };
};
