// The common part of both answers about anchored days: network, posting, and a day that has no root (AN-01, AN-03, AN-04).
import Type from 'typebox';
import { ANCHOR_STATUSES } from '../../schemas/anchor-chain.ts';
import { makeServiceError, makeUnavailable, type ServiceError } from '../../schemas/errors.ts';
import { formatInstant, formatInstantOrNull, MICROS_PER_DAY, MICROS_PER_MS, toDayOf } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Anchors } from '../anchors/anchors.ts';
import type { ClosedDay } from '../anchors/closed-days.ts';
import { NullableInstant, NullableInteger, NullableText } from '../contract/parameters.ts';
import type { Context } from './operation.ts';

const HOUR: Micros = 3_600_000_000;
/** The root of day D is posted at D+7 02:00 UTC or later (AN-02). */
const POSTED_AFTER: Micros = 7 * MICROS_PER_DAY + 2 * HOUR;

export const Anchor = Type.Object({
  anchored: Type.Boolean(),
  status: Type.Enum([...ANCHOR_STATUSES]),
  contract: NullableText,
  tx_hash: NullableText,
  block: NullableInteger,
  anchored_at: NullableInstant,
  anchored_lag_days: NullableInteger,
  explorer_url: NullableText,
});
/** A network is null while no chain is known. `binding` is false or left out; generators of clients read a constant as a text. */
export const NetworkMembers = { network: NullableText, binding: Type.Optional(Type.Boolean()) };

export const requireAnchors = ({ anchors }: Context): Anchors => {
  if (anchors === null) throw makeUnavailable('Anchored days cannot be read now.');
  return anchors;
};

/** Of any day, also the one before the first instant that a parameter may have. */
const toStart = (day: string): Micros => Date.parse(`${day}T00:00:00.000Z`) * MICROS_PER_MS;

const refuseNoRoot = (day: string, first: string | null, evaluatedAt: Micros): ServiceError => {
  if (first !== null && day < first) {
    const message = `"${day}" is before the first anchored day, ${first}.`;
    return makeServiceError('ANCHOR_NOT_FOUND', message, { hint: `Ask for ${first} or a later day.` });
  }
  const due = toStart(day) + POSTED_AFTER;
  const instant = formatInstant(due);
  if (evaluatedAt < due)
    return makeServiceError('ANCHOR_NOT_FOUND', `"${day}" is not closed yet.`, {
      hint: `Its root will be available at ${instant} or later.`,
    });
  const hint = `It was due at ${instant} and will be available once all rows of the day are stored. A day without rows has no root.`;
  return makeServiceError('ANCHOR_NOT_FOUND', `"${day}" has no root.`, { hint });
};

/** The closed day. Throws ServiceError ANCHOR_NOT_FOUND when it has no root. */
export const requireClosedDay = async (day: string, { days }: Anchors, evaluatedAt: Micros): Promise<ClosedDay> => {
  const found = await days.find(day);
  if (found === null) throw refuseNoRoot(day, await days.first(), evaluatedAt);
  return found;
};

/** `network`, and `binding` only where the chain is not Base itself (AN-04). */
export const describeNetwork = ({ network, binding }: ClosedDay): { readonly [name: string]: JsonValue } => ({
  network,
  ...(binding ? {} : { binding: false }),
});

/** The page of a transaction; a chain that is not Base itself has none. */
const toExplorerUrl = ({ binding, posting: { txHash } }: ClosedDay): string | null =>
  binding && txHash !== null ? `https://basescan.org/tx/${txHash}` : null;

export const showAnchor = (closed: ClosedDay): JsonValue => {
  const { status, contract, txHash, block, anchoredAt } = closed.posting;
  const lag = anchoredAt === null ? null : (toStart(toDayOf(anchoredAt)) - toStart(closed.day)) / MICROS_PER_DAY;
  return {
    anchored: status === 'confirmed',
    status,
    contract,
    tx_hash: txHash,
    block,
    anchored_at: formatInstantOrNull(anchoredAt),
    anchored_lag_days: lag,
    explorer_url: toExplorerUrl(closed),
  };
};
