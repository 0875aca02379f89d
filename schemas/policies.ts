// What a connection can cover, and whether it is collected for a listing: the policy of its venue's capability and of its own record (V-03a, L-07, F-04). Pure; the same for tasks and answers.
import type { Policy } from './freshness.ts';
import { type LayerName, READINGS, type ReadingLayer } from './layers/index.ts';
import type { Micros, PriceType } from './records.ts';
import type { CapabilityVersion, ListingVersion } from './topics.ts';

/** Candles of mark and index prices, where they have another source than those of trades. */
export const PRICE_CANDLES = 'price_candles';

/** What a connection can cover and a listing can turn off: a layer, or the candles of mark and index prices. */
export type CoverName = LayerName | typeof PRICE_CANDLES;

const SOURCES: ReadonlyMap<string, CoverName> = new Map(
  READINGS.flatMap(({ name, source }) => (source === undefined ? [] : [[name, source as ReadingLayer]])),
);

/** The layer whose messages contain it: its own, unless it is derived from another layer. */
export const resolveSource = (name: CoverName): CoverName => SOURCES.get(name) ?? name;

/** Whether the venue's limits exclude candles of a price, by `off` of the listing's record (V-03a). */
export const isPriceOff = (off: readonly string[] | undefined, priceType: PriceType): boolean =>
  priceType !== 'trade' && off?.includes(PRICE_CANDLES) === true;

/** A layer the venue's capability does not name is not collected. */
export const findPolicy = (capability: CapabilityVersion | null, layer: CoverName): Policy =>
  capability?.layers[resolveSource(layer)]?.policy ?? 'off';

/** Policy for one listing: a layer that the venue's limits leave no room for is off (V-03a); one the listing lacks is not published (L-07). */
export const findListingPolicy = (
  capability: CapabilityVersion | null,
  layer: CoverName,
  version: ListingVersion | null,
): Policy => {
  const policy = findPolicy(capability, layer);
  if (policy === 'on' && version?.record.off?.includes(layer)) return 'off';
  return policy === 'on' && version?.record.values.not_published.includes(layer) ? 'not_published' : policy;
};

/** Policy for the candles of one price of a listing. */
export const findPricePolicy = (
  capability: CapabilityVersion | null,
  priceType: PriceType,
  version: ListingVersion,
): Policy => {
  const policy = findListingPolicy(capability, 'candles', version);
  if (policy !== 'on') return policy;
  const { values, off } = version.record;
  if (!values.candles.price_types.includes(priceType)) return 'not_published';
  return isPriceOff(off, priceType) ? 'off' : 'on';
};

/** The versions that are valid at an instant; null where nothing was known yet. */
type ValidVersions = { readonly capability: CapabilityVersion | null; readonly version: ListingVersion | null };

/**
 * Whether a layer was off at an instant since `since` (F-04). `turns` are the later instants, in any order, at which a version replaced another;
 * without one the policy has not changed. What was known of the venue at no version is not off.
 */
export const wasOff = (
  layer: CoverName,
  { since, turns }: { readonly since: Micros; readonly turns: readonly Micros[] },
  validAt: (instant: Micros) => ValidVersions,
): boolean =>
  turns.length > 0 &&
  [since, ...turns].some((instant) => {
    const { capability, version } = validAt(instant);
    return capability !== null && findListingPolicy(capability, layer, version) === 'off';
  });
