// Hyperliquid's metas as listings (records.md, V-02 to V-04): one meta a market, the venue's own and each builder's.
import { toStep } from '../../../schemas/decimals.ts';
import type { Digits, ListingRecord, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readEntries, readListings } from '../shared/listing-rows.ts';
import { makeListingValues } from '../shared/listing-values.ts';
import {
  type Fields,
  isFields,
  makeBadFrame,
  makeWords,
  readCountOrNull,
  readFields,
  readId,
  readIdOrNull,
  readList,
  readMessage,
  readText,
} from '../shared/wire.ts';
import { fitBudget } from './budget.ts';

/** `xyz:AAPL` belongs to the builder's market `xyz`; the venue's own coins have no prefix. */
export const toMarket = (coin: string): string => (coin.includes(':') ? (coin.split(':', 1)[0] ?? '') : '');
/** `@2` and `PURR/USDC` are spot pairs, `#10` and `+10` are outcomes. */
export const isPerpetual = (coin: string): boolean => !/^[@#+]|\//.test(coin);

/** A meta has a universe of coins with size decimals; spot's has one of pairs. */
export const isMeta = (value: unknown): value is Fields =>
  isFields(value) && Array.isArray(value.universe) && !Array.isArray(value.tokens);

/** Metas of an answer: `meta`, `metaAndAssetCtxs` or `allPerpMetas`; empty when it is another. */
export const listMetas = (body: unknown): readonly Fields[] => {
  if (isMeta(body)) return [body];
  if (!Array.isArray(body) || !isMeta(body[0])) return [];
  return hasContexts(body) ? [body[0]] : body.filter(isMeta);
};

/** `metaAndAssetCtxs`: one meta, and the contexts of its coins. */
const hasContexts = (body: readonly unknown[]): boolean => body.length === 2 && Array.isArray(body[1]);

/** Coins of a meta, by their place. */
export const listCoins = (meta: Fields): readonly Fields[] =>
  readList(meta.universe, 'universe').map((coin) => readFields(coin, 'coin'));

/** Collateral tokens by index: USDC for the venue's own perpetuals, the others as observed; spotMeta overrides them once received. */
const KNOWN_TOKENS = makeWords({ 0: 'USDC', 235: 'USDE', 268: 'USDT0', 360: 'USDH' });

/** Folds spotMeta (names of tokens), then allPerpMetas. A single meta's scope is its market. */
export const mapReference = (state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  if (message.kind !== 'response') return null;
  return readMessage(message.payload, (body) => {
    if (isFields(body) && Array.isArray(body.tokens)) {
      state.tokens = toTokens(body.tokens);
      return null;
    }
    const metas = listMetas(body);
    const [first] = metas;
    if (first === undefined) return null;
    const tokens = (state.tokens as Readonly<Record<string, string>> | undefined) ?? {};
    const isWhole = Array.isArray(body) && !hasContexts(body);
    const market = isWhole ? null : findMarket(first);
    if (!isWhole && market === null) return null;
    const { listings, unreadable } = toListings(isWhole ? body : metas, { tokens, receivedAt: message.received_at });
    return {
      scope: isWhole ? 'all' : `market ${market}`,
      listings: isWhole ? fitBudget(listings) : listings,
      unreadable,
      elements: () => splitElements(message.payload, 'name'),
    };
  });
};

/** A market is named by its coins: one without any is not known. */
const findMarket = (meta: Fields): string | null => {
  const coin = readList(meta.universe, 'universe').find(isFields);
  return coin === undefined ? null : toMarket(String(coin.name ?? ''));
};

const toTokens = (tokens: readonly unknown[]): Readonly<Record<string, string>> =>
  readEntries(tokens, ({ index, name }) => [readId(index, 'index'), readText(name, 'name')]);

type Source = {
  readonly tokens: Readonly<Record<string, string>>;
  readonly receivedAt: Micros;
};

/** A market that has no meta is a row that cannot be read: any listing may be one of its own. */
const toListings = (metas: readonly unknown[], { tokens, receivedAt }: Source): ListingRows => {
  const quotes = new Map<unknown, string>();
  const rows = metas.flatMap((meta): readonly unknown[] => {
    if (!isMeta(meta)) return [meta];
    const index = readIdOrNull(meta.collateralToken, 'collateralToken') ?? '0';
    const quote = tokens[index] ?? KNOWN_TOKENS[index];
    const coins = readList(meta.universe, 'universe');
    if (quote !== undefined) for (const coin of coins) quotes.set(coin, quote.toUpperCase());
    return coins;
  });
  return readListings({ rows, name: 'name' }, (coin) => {
    const quote = quotes.get(coin);
    // Its market waits for spotMeta; a listing that is known already stays as it was.
    if (quote === undefined) throw makeBadFrame('the collateral of the market has no name', 'unknown_word');
    return toListing(coin, quote, receivedAt);
  });
};

const toListing = (coin: Fields, quote: string, received_at: Micros): ListingRecord => {
  const venue_symbol = readText(coin.name, 'name');
  return {
    layer: 'listing',
    venue: 'hyperliquid',
    venue_symbol,
    venue_ts: null,
    received_at,
    values: toValues(coin, venue_symbol, quote),
  };
};

const toValues = (coin: Fields, venue_symbol: string, quote: string): ListingValues => {
  const market = toMarket(venue_symbol);
  const asset = market === '' ? venue_symbol : venue_symbol.slice(market.length + 1);
  const sizeDecimals = readCountOrNull(coin.szDecimals, 'szDecimals');
  if (sizeDecimals === null || sizeDecimals > 18) throw makeBadFrame('szDecimals is not a number of decimals');
  // A price has at most five significant figures and 6 - szDecimals decimals: no fixed step, and the endpoint has none.
  return makeListingValues({
    venue_symbol,
    asset,
    ...splitMultiplier(asset),
    quote,
    venue_kind: 'linear',
    // A universe keeps delisted coins without the time of their end.
    status: coin.isDelisted === true ? 'delisted' : 'tradeable',
    contract_size: '1',
    lot_size: toStep(sizeDecimals),
    qty_decimals: sizeDecimals,
    quantity_unit: 'base',
    funding_interval: '1h',
    funding_interval_source: 'documented',
    funding_normalisation: { venue_field: 'funding', transform: 'string_to_number' },
    rules_normalisation: {
      lot_size: { venue_field: 'szDecimals', transform: 'decimals_to_step' },
      qty_decimals: { venue_field: 'szDecimals', transform: 'identity' },
    },
    price_types: ['trade'],
    not_published: [
      ...['ticker', 'last', 'liquidation', 'next_funding_at', 'change_24h'],
      ...['tick_size', 'min_qty', 'min_notional', 'price_decimals'],
    ],
  });
};

/** A small `k` before the name means a thousand (V-04); `KAS` is a name. */
const splitMultiplier = (asset: string): { readonly base: string; readonly multiplier: Digits } =>
  /^k[A-Z0-9]{2,}$/.test(asset) ? { base: asset.slice(1), multiplier: '1000' } : { base: asset, multiplier: '1' };
