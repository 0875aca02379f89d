// The anchor step: from D+7 02:00 UTC it posts the root of the day, and ends when the transaction is confirmed (AN-02, AN-12).
import { MS_PER_DAY } from '../../../../schemas/instants.ts';
import { reportIncident } from '../../incidents.ts';
import { isStepDone } from '../../ledger.ts';
import type { NightlyContext, Step } from '../../step.ts';
import { type ClosedDay, isBound, isSettled, postDay, readClosedDay, recordProblem } from './post-day.ts';
import { checkContract, openChain, openOwner, recordContract } from './poster.ts';
import { PostingError } from './posting.ts';

const DUE_MS = 7 * MS_PER_DAY + 2 * 3_600_000;

/** What the step needs of the context. */
type Anchoring = Pick<NightlyContext, 'database' | 'anchors' | 'nowMs' | 'metrics' | 'log' | 'reached' | 'signal'>;

const post = async (closed: ClosedDay, anchoring: Anchoring): Promise<string> => {
  const { database, anchors, nowMs, metrics, signal } = anchoring;
  const before = `confirmed before in block ${closed.block}`;
  if (isBound(closed)) return before;
  if (anchors === undefined)
    throw new PostingError('misconfigured', 'set RPC_URL, ANCHOR_CONTRACT and ANCHOR_OWNER_KEY');
  const chain = await openChain(anchors);
  if (await isSettled(closed, chain)) return before;
  const contract = await checkContract(chain, anchors);
  await recordContract(database, chain, { contract, owner: await chain.ownerOf(contract), block: null });
  const poster = {
    ...{ chain, nowMs },
    owner: openOwner(anchors.ownerKey),
    reached: (place: string) => anchoring.reached?.(place),
    count: metrics.transaction,
  };
  const { hash, receipt } = await postDay(closed, { poster, contract, database, signal });
  return `${closed.root} in block ${receipt.block} of ${chain.network}${chain.binding ? '' : ', not binding'}: ${hash}`;
};

/** Reports what needs an operator: one incident, and one error in the log. */
const report = async ({ day }: ClosedDay, { fault, message }: PostingError, anchoring: Anchoring): Promise<void> => {
  const note = `The root of ${day} is not anchored: ${message}.`;
  // Wrong settings concern all days.
  const subject = fault === 'misconfigured' ? 'settings' : day;
  await reportIncident(anchoring, { kind: `anchor_${fault}`, subject, note, details: { day, fault } });
};

/** Posts a closed day and records what prevented it. Returns one line for operators. */
export const anchorDay = async (closed: ClosedDay, anchoring: Anchoring): Promise<string> => {
  try {
    return await post(closed, anchoring);
  } catch (error) {
    const isFault = error instanceof PostingError;
    // A stop in the middle is no problem of the day.
    if (isFault || anchoring.signal?.aborted !== true) await recordProblem(anchoring.database, closed.day, error);
    if (isFault) await report(closed, error, anchoring);
    throw error;
  }
};

export const anchor: Step = {
  name: 'anchor',
  summary: 'the root of the day posted on the chain and confirmed',
  dueMs: DUE_MS,
  onlyWhenDue: true,
  independentDays: true,
  run: async (day, context) => {
    const closed = await readClosedDay(context.database, day);
    if (closed !== null) return anchorDay(closed, context);
    if (await isStepDone(context.database, 'close', day)) return 'no rows: the day has no root';
    throw new Error(`${day} is not closed yet`);
  },
};
