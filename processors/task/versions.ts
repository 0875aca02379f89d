// Versions of listings and capabilities: append-only, each valid from the `recorded_at` of its answer (design section 5).
import { type CoverName, findListingPolicy, wasOff } from '../../schemas/policies.ts';
import type { ListingRecord, Micros } from '../../schemas/records.ts';
import type { CapabilityBody, CapabilityVersion, ListingVersion } from '../../schemas/topics.ts';
import type { ListingView, TaskView } from './state.ts';

type Written = { readonly written_at: Micros };

/** The version valid at an instant; null before the first. `before` are older than `newest`, oldest first. */
const findVersionAt = <V extends Written>(newest: V | null, before: readonly V[], at: Micros): V | null =>
  newest === null || newest.written_at <= at
    ? newest
    : (before.findLast((version) => version.written_at <= at) ?? null);

export const findListingAt = ({ version, before }: ListingView, at: Micros): ListingVersion | null =>
  findVersionAt(version, before, at);

export const findCapabilityAt = ({ capability, capabilitiesBefore }: TaskView, at: Micros): CapabilityVersion | null =>
  findVersionAt(capability, capabilitiesBefore, at);

/**
 * Whether a layer is collected while these versions are valid: its policy is on and the venue publishes it. `layer` is a name of a
 * capability. A window that ends at such an instant is a row, regardless of changes before its seal.
 */
export const isLayerCollected = (
  listing: ListingVersion | null,
  capability: CapabilityVersion | null,
  layer: CoverName,
): boolean => listing !== null && findListingPolicy(capability, layer, listing) === 'on';

/** Whether the listing had ended by an instant, as far as the version states it. */
export const hasEnded = ({ delisted_at: end }: ListingVersion, at: Micros): boolean => end !== null && end <= at;

/** Instants `(from, at]`. */
export type Range = { readonly from: Micros; readonly at: Micros };

/** Instants of a range at which a version of the listing, or a capability, replaced another. */
export const listVersionTurns = (state: TaskView, listing: ListingView, { from, at }: Range): readonly Micros[] => {
  const { capability, capabilitiesBefore } = state;
  const turns: Micros[] = [];
  const note = ({ written_at: turn }: Written): void => void (turn > from && turn <= at && turns.push(turn));
  for (const version of listing.before) note(version);
  for (const version of capabilitiesBefore) note(version);
  note(listing.version);
  if (capability !== null) note(capability);
  return turns.sort((a, b) => a - b);
};

/** Whether a layer was off at an instant since `since`, by the last applied record. */
export const wasOffSince = (
  state: TaskView,
  listing: ListingView,
  { layer, since }: { readonly layer: CoverName; readonly since: Micros },
): boolean =>
  wasOff(
    layer,
    { since, turns: listVersionTurns(state, listing, { from: since, at: state.recordedAt }) },
    (instant) => ({
      capability: findCapabilityAt(state, instant),
      version: findListingAt(listing, instant),
    }),
  );

/** A question about the versions that are valid at one instant. */
export type VersionTest = (listing: ListingVersion | null, capability: CapabilityVersion | null) => boolean;

/** Parts of a range, ascending, at whose instants `isSo` is true. It is called once a version, so that the range may be arbitrarily long. */
export const findPartsWhere = (
  { state, listing, isSo }: { readonly state: TaskView; readonly listing: ListingView; readonly isSo: VersionTest },
  { from, at }: Range,
): readonly Range[] => {
  if (at <= from) return [];
  const parts: Range[] = [];
  const turns = listVersionTurns(state, listing, { from, at });
  // A version is valid from its own instant, so the part before it ends one microsecond earlier.
  const ends = [...turns.map((turn) => turn - 1), at];
  let start = from;
  for (const end of ends) {
    if (end > start && isSo(findListingAt(listing, end), findCapabilityAt(state, end)))
      parts.push({ from: start, at: end });
    start = Math.max(start, end);
  }
  return parts;
};

/** The elements of `before` that were valid after `sealedTo`. */
export const filterNeeded = <V extends Written>(newest: V | null, before: readonly V[], sealedTo: Micros): V[] =>
  before.filter((_, i) => (before[i + 1] ?? newest ?? { written_at: 0 }).written_at > sealedTo);

/** The contents of a listing, without the stamps that change with every answer. */
const toFingerprint = ({ values, off = [] }: ListingRecord): string => JSON.stringify([values, off]);

/** The next version of a listing, or null for an unchanged one: changes of its element outside the record make no version. */
export const makeNextVersion = (
  held: ListingVersion | null,
  {
    record,
    readElement,
  }: { readonly record: ListingRecord; readonly readElement: (venueSymbol: string) => string | null },
  writtenAt: Micros,
): ListingVersion | null => {
  const dated = withDelisting(held, record);
  if (held && toFingerprint(held.record) === toFingerprint(dated)) return null;
  return {
    venue: record.venue,
    venue_symbol: record.venue_symbol,
    written_at: writtenAt,
    first_seen_at: held?.first_seen_at ?? writtenAt,
    delisted_at: dated.values.delisted_at,
    record: dated,
    raw: readElement(record.venue_symbol),
  };
};

/** For a venue that keeps delisted instruments without their end: sets the end to the first answer with the status, unless it had passed. */
const withDelisting = (held: ListingVersion | null, record: ListingRecord): ListingRecord => {
  const { values, received_at: receivedAt } = record;
  if (values.status !== 'delisted' || values.delisted_at !== null) return record;
  return { ...record, values: { ...values, delisted_at: Math.min(held?.delisted_at ?? receivedAt, receivedAt) } };
};

/**
 * The version of a listing that is absent from its venue's answer, or null when its end has passed. It keeps the venue's last values; an end that the
 * venue announced for later is overtaken.
 */
export const makeDelistedVersion = (
  listing: ListingView,
  receivedAt: Micros,
  writtenAt: Micros,
): ListingVersion | null => {
  const held = listing.version;
  if (hasEnded(held, receivedAt)) return null;
  const values = { ...held.record.values, status: 'delisted', delisted_at: receivedAt };
  return {
    ...held,
    written_at: writtenAt,
    delisted_at: receivedAt,
    record: { ...held.record, received_at: receivedAt, values },
  };
};

/** Whether a published capability has the contents of the held version. */
export const isSameCapability = (held: CapabilityVersion | null, { name, layers }: CapabilityBody): boolean =>
  held !== null && held.name === name && JSON.stringify(held.layers) === JSON.stringify(layers);
