// Responses of Hyperliquid's one path, chosen by the body of a POST, from the market model (shapes: recordings of jkorf and nautilus).
import { parseJson } from '../../../../../schemas/json-object.ts';
import type { Instrument } from '../../market.ts';
import type { RecentTrades } from '../../recent-trades.ts';
import type { Cost, RestAnswer, RestRequest, VenueDeps } from '../../venue.ts';
import { formatBook, formatCandle, formatContext, formatTrade } from './frames.ts';
import { BUILDER, SCOPE, toMarket } from './listings.ts';

type Question = Readonly<Record<string, unknown>>;

const readQuestion = (body: string): Question => Object(parseJson(body)) as Question;

const LIGHT: ReadonlySet<unknown> = new Set(['l2Book', 'allMids']);
const LIGHT_WEIGHT = 2;
const WEIGHT = 20;

export function computeCost({ method, path, body }: Pick<RestRequest, 'method' | 'path' | 'body'>): Cost | null {
  if (method !== 'POST' || path !== '/info') return null;
  return { bucket: 'rest', weight: LIGHT.has(readQuestion(body).type) ? LIGHT_WEIGHT : WEIGHT };
}

/** No header states how long to wait. */
export const refuse = (status: number | null): RestAnswer => ({ status: status ?? 429, body: 'null' });

const UNREADABLE: RestAnswer = {
  status: 422,
  body: '"Failed to deserialize the JSON body into the target type"',
};

type Deps = Pick<VenueDeps, 'market' | 'truth' | 'crossings'> & { readonly recent: RecentTrades };

export function answerRest(deps: Deps, request: RestRequest): RestAnswer {
  const body = answerRequest(deps, readQuestion(request.body), request.nowMs);
  return body === null ? UNREADABLE : { status: 200, body };
}

/** Null for an unreadable question. */
function answerRequest(deps: Deps, question: Question, nowMs: number): string | null {
  switch (question.type) {
    case 'spotMeta':
      return JSON.stringify(SPOT_META);
    case 'allPerpMetas':
      return `[${MARKETS.map((market) => formatMeta(deps, market)).join(',')}]`;
    case 'meta':
      return answerOfMarket(question, (market) => formatMeta(deps, market));
    case 'metaAndAssetCtxs':
      return answerOfMarket(
        question,
        (market) => `[${formatMeta(deps, market)},[${listContexts(deps, market, nowMs).join(',')}]]`,
      );
    case 'l2Book':
      return answerOfCoin(deps, question, (instrument) => {
        deps.truth.snapshot(instrument, deps.crossings.priceOf(instrument));
        return formatBook(instrument, deps.crossings.bids(instrument));
      });
    case 'recentTrades':
      return answerOfCoin(deps, question, (instrument) => {
        const newestFirst = deps.recent.of(instrument).toReversed();
        return `[${newestFirst.map((made) => formatTrade(instrument, made)).join(',')}]`;
      });
    case 'candleSnapshot': {
      const asked = Object(question.req) as Question;
      return asked.interval === '1m'
        ? answerOfCoin(deps, asked, (instrument) => formatCandles(instrument, asked))
        : null;
    }
    default:
      return null;
  }
}

/** Tokens that perpetuals are settled in. */
const TOKENS = { USDC: 0, USDE: 235 } as const;
const SPOT_META = {
  universe: [],
  tokens: Object.entries(TOKENS).map(([name, index]) => ({ name, szDecimals: 2, weiDecimals: 8, index })),
};

/** The venue's own market has no name. */
const MARKETS = ['', BUILDER] as const;
type Market = (typeof MARKETS)[number];

function answerOfMarket({ dex }: Question, answer: (market: Market) => string): string | null {
  const market = MARKETS.find((name) => name === (dex ?? ''));
  return market === undefined ? null : answer(market);
}

/** By position: a universe only grows, delisted coins stay in it. */
const listUniverse = ({ market: { instruments } }: Deps, market: Market): readonly Instrument[] =>
  instruments.filter(({ listing }) => toMarket(listing) === market);

function formatMeta(deps: Deps, market: Market): string {
  return JSON.stringify({
    universe: listUniverse(deps, market).map(({ listing, status }) => ({
      szDecimals: listing.qtyDecimals,
      name: listing.symbol,
      maxLeverage: 20,
      ...(status === 'closed' ? { isDelisted: true } : {}),
    })),
    marginTables: [],
    collateralToken: market === '' ? TOKENS.USDC : TOKENS.USDE,
  });
}

function listContexts(deps: Deps, market: Market, nowMs: number): readonly string[] {
  return listUniverse(deps, market).map((instrument) => {
    deps.truth.moment(instrument, nowMs);
    return formatContext(instrument);
  });
}

/** The response for a coin that does not exist is null. */
function answerOfCoin({ market }: Deps, { coin }: Question, answer: (instrument: Instrument) => string): string {
  const instrument = market.find(SCOPE, String(coin));
  return instrument === undefined || instrument.status === 'closed' ? 'null' : answer(instrument);
}

/** Oldest first, the open one last; `endTime` is inclusive. */
function formatCandles(instrument: Instrument, { startTime, endTime }: Question): string {
  const from = Number(startTime ?? 0);
  const to = Number(endTime ?? Number.MAX_SAFE_INTEGER);
  const chosen = instrument.candles.trades.filter(({ openMs }) => openMs >= from && openMs <= to);
  return `[${chosen.map((one) => formatCandle(instrument, one)).join(',')}]`;
}
