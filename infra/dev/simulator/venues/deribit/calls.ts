// Deribit's public methods, called by socket and by REST: names and parameters in, results as JSON text out.
import type { Instrument } from '../../market.ts';
import type { RecentTrades } from '../../recent-trades.ts';
import type { VenueDeps } from '../../venue.ts';
import { DATED, formatCandleColumns, formatInstrument, formatOrderBook, formatTicker, formatTrade } from './frames.ts';
import { SCOPE } from './listings.ts';

/** A refusal by its code. */
export class CallError extends Error {
  readonly code: number;
  /** HTTP status of the response by REST. */
  readonly status: number;
  readonly data: object | null;

  constructor(code: number, message: string, { status = 400, data = null }: { status?: number; data?: object | null }) {
    super(message);
    this.code = code;
    this.status = status;
    this.data = data;
  }
}

export const refuseParameter = (param: string, reason: string): CallError =>
  new CallError(-32_602, 'Invalid params', { data: { reason, param } });
const refuseMethod = (): CallError => new CallError(-32_601, 'Method not found', { status: 404 });

/** By REST numbers are text. */
export type Parameters = Readonly<Record<string, unknown>>;
export type CallDeps = Pick<VenueDeps, 'market' | 'truth' | 'crossings' | 'nowMs'> & { readonly recent: RecentTrades };

type Method = (deps: CallDeps, parameters: Parameters) => string;

const listOpen = ({ market }: CallDeps): readonly Instrument[] =>
  market.instruments.filter(({ status }) => status !== 'closed');

function findInstrument({ market }: CallDeps, { instrument_name: name }: Parameters): Instrument {
  if (name === undefined) throw refuseParameter('instrument_name', 'missing');
  const found = market.find(SCOPE, String(name));
  if (found === undefined || found.status === 'closed')
    throw refuseParameter('instrument_name', 'instrument not found');
  return found;
}

function readWholeNumber(parameters: Parameters, name: string, without: number): number {
  const value = Number(parameters[name] ?? without);
  if (!Number.isInteger(value) || value < 0) throw refuseParameter(name, 'wrong format');
  return value;
}

const answerInstruments: Method = (deps, { currency = 'any', kind }) => {
  if (kind !== undefined && kind !== 'future') return '[]';
  const wanted = String(currency).toUpperCase();
  const isWanted = ({ listing }: Instrument): boolean => wanted === 'ANY' || listing.margin === wanted;
  const rows = listOpen(deps).filter(isWanted).map(formatInstrument);
  return `[${[...(wanted === 'ANY' || wanted === 'BTC' ? [DATED] : []), ...rows].join(',')}]`;
};

const DEFAULT_DEPTH = 5;

const answerBook: Method = (deps, parameters) => {
  const instrument = findInstrument(deps, parameters);
  deps.truth.snapshot(instrument, deps.crossings.priceOf(instrument));
  deps.truth.moment(instrument, instrument.changedAtMs);
  return formatOrderBook(
    instrument,
    deps.crossings.bids(instrument),
    readWholeNumber(parameters, 'depth', DEFAULT_DEPTH),
  );
};

const answerCandles: Method = (deps, parameters) => {
  const instrument = findInstrument(deps, parameters);
  if (String(parameters.resolution) !== '1') throw refuseParameter('resolution', 'wrong format');
  const from = readWholeNumber(parameters, 'start_timestamp', 0);
  const to = readWholeNumber(parameters, 'end_timestamp', Number.MAX_SAFE_INTEGER);
  const { trades } = instrument.candles;
  return formatCandleColumns(
    instrument,
    trades.filter(({ openMs }) => openMs >= from && openMs <= to),
  );
};

const answerLastTrades: Method = (deps, parameters) => {
  const instrument = findInstrument(deps, parameters);
  const newestFirst = deps.recent.of(instrument).toReversed();
  const chosen = newestFirst.slice(0, readWholeNumber(parameters, 'count', newestFirst.length));
  return `{"trades":[${chosen.map((made) => formatTrade(instrument, made)).join(',')}],"has_more":false}`;
};

const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['public/test', () => '{"version":"1.2.26"}'],
  ['public/get_time', ({ nowMs }) => String(nowMs())],
  ['public/get_instruments', answerInstruments],
  [
    'public/ticker',
    (deps, parameters) => {
      const instrument = findInstrument(deps, parameters);
      const atMs = deps.nowMs();
      deps.truth.moment(instrument, atMs);
      return formatTicker(instrument, atMs);
    },
  ],
  ['public/get_order_book', answerBook],
  ['public/get_tradingview_chart_data', answerCandles],
  ['public/get_last_trades_by_instrument', answerLastTrades],
]);

export const isMethod = (name: string): boolean => METHODS.has(name);

/** The result's text. Throws `CallError`. */
export function call(deps: CallDeps, name: string, parameters: Parameters): string {
  const method = METHODS.get(name);
  if (method === undefined) throw refuseMethod();
  return method(deps, parameters);
}

/** The response with a result or a refusal; `id` is null by REST. Its times are microseconds. */
export function answerText(id: unknown, outcome: string | CallError, nowMs: number): string {
  const named = id === null ? '' : `"id":${JSON.stringify(id)},`;
  const at = nowMs * 1_000;
  const times = `"usIn":${at},"usOut":${at + 1},"usDiff":1,"testnet":false`;
  if (typeof outcome === 'string') return `{"jsonrpc":"2.0",${named}"result":${outcome},${times}}`;
  const { code, message, data } = outcome;
  const error = JSON.stringify({ code, message, ...(data === null ? {} : { data }) });
  return `{"jsonrpc":"2.0",${named}"error":${error},${times}}`;
}
