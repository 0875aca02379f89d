// Settled requests with the hashes of their responses, and their repetition: settled responses never change (N-10, N-11).
import { setTimeout as pause } from 'node:timers/promises';
import { formatInstant, MICROS_PER_SECOND } from '../../../schemas/instants.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';

/** A service and one of its keys. */
export type Service = { readonly base_url: string; readonly keys: { readonly pro_plus: string } };
export type Question = {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Last instant of the request. */
  readonly until: Micros;
};
export type AnsweredQuestion = Question & {
  readonly items_sha256: string;
  /** Values and events in it. */
  readonly rows: number;
  /** Rows affected by a fault: without a reading for a cause other than the listing's own end, or late. */
  readonly holes: number;
};
type Answer = { readonly settled: boolean; readonly items_sha256: string };
/** A settled response, and how many earlier ones were not settled. */
type SettledAnswer = Answer & { readonly text: string; readonly unsettled: number };

const makeCall = async (
  { base_url, keys }: Service,
  { path, body }: Question,
): Promise<{ status: number; text: string }> => {
  const answer = await fetch(new URL(path, base_url), {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.pro_plus}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
};

type Patience = { readonly tries: number; readonly waitMs: number };

/** Repeats the request until it is settled; rejects when it never is, or is refused. */
export const askSettled = async (
  at: Service,
  question: Question,
  { tries, waitMs }: Patience = { tries: 60, waitMs: 2_000 },
): Promise<SettledAnswer> => {
  let unsettled = 0;
  for (let attempt = 1; ; attempt++) {
    const { status, text } = await makeCall(at, question);
    if (status === 200) {
      const answer = JSON.parse(text) as Answer;
      if (answer.settled) return { ...answer, text, unsettled };
      unsettled++;
    } else if (status < 429) throw new Error(`${status} to ${JSON.stringify(question)}: ${text.slice(0, 300)}`);
    if (attempt === tries)
      throw new Error(`never settled: ${status} to ${JSON.stringify(question)}: ${text.slice(0, 300)}`);
    await pause(waitMs);
  }
};

type Drawing = { readonly draw: () => number; readonly symbols: readonly string[] };
type Span = { readonly since: Micros; readonly until: Micros };

const MODES = ['interval', 'interval', 'at', 'raw', 'candles', 'liquidations', 'screen', 'screen'] as const;
/** Of each kind of value: readings, depths, candles and series of either, with their windows. */
const CONDITIONS = [
  'funding_8h > 0 or spread < 1%',
  'age(mark) < 5s and depth_bid_value(10bps) > 0',
  'status(oi) = present and oi * mark > 0',
  'ema(close, 2) > sma(close, 2)',
  'stdev(mark, 3) / sma(mark, 3) < 1%',
  'percentile(spread, 3, 95, linear) > 0',
  'gaps(5) = 0 and rolling_sum(volume, 2) > 0',
  'mark_close > prev(mark_close, 1)',
];
const LONGEST: Micros = 1_200 * MICROS_PER_SECOND;

/** For one listing and a window within the span, in any mode. */
export const makeQuestion = ({ draw, symbols }: Drawing, { since, until }: Span): Question => {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(draw() * choices.length)] as T;
  const between = (least: number, most: number): number => least + Math.floor(draw() * Math.max(0, most - least));
  const from = between(since, until - 60 * MICROS_PER_SECOND);
  const to = Math.min(until, from + between(60 * MICROS_PER_SECOND, LONGEST));
  const span = { from: formatInstant(from), to: formatInstant(to) };
  const common = { where: { symbol: [pick(symbols)] }, units: pick(['published', 'base', 'quote']) };
  const layers = [pick(READING_LAYERS), pick(READING_LAYERS)].filter((layer, i, all) => all.indexOf(layer) === i);
  const windowS = Math.max(...layers.map((layer: ReadingLayer) => LAYERS[layer].windowMs)) / 1_000;
  const history = (body: Record<string, unknown>): Question => {
    return { path: '/v2/snapshots/history', body: { ...common, layers, ...body }, until: to };
  };
  switch (pick(MODES)) {
    case 'at':
      return history({ at: [span.from, span.to], allow_stale: pick([true, false]) });
    case 'raw':
      return history({ raw: true, ...span });
    case 'candles': {
      const body = { ...common, timeframe: pick(['1m', '2m', '5m']), price_type: pick(['trade', 'mark']), ...span };
      return { path: '/v2/candles', body, until: to };
    }
    case 'screen': {
      const condition = `any(venues where ${pick(CONDITIONS)}) timeframe ${pick(['1m', '2m', '5m'])} as of ${span.to}`;
      return { path: '/v2/screen', body: { ...common, query: condition, include_unknown: true }, until: to };
    }
    case 'liquidations':
      return { path: '/v2/liquidations', body: { ...common, ...span, limit: 5_000 }, until: to };
    default:
      return history({ interval: windowS > 10 ? '1m' : pick(['10s', '30s', '1m']), ...span });
  }
};

const countMatches = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** The stored part of a response. */
export const keep = (question: Question, { items_sha256, text }: SettledAnswer): AnsweredQuestion => ({
  ...question,
  items_sha256,
  rows: countMatches(text, /"received_at":"/g),
  holes: countMatches(text, /"gap_cause":"(?!not_listed|unknown)|"late":true/g),
});

/** Descriptions of requests whose response has changed. */
export const askAgain = async (at: Service, asked: readonly AnsweredQuestion[]): Promise<string[]> => {
  const different: string[] = [];
  for (const question of asked) {
    const { path, body, items_sha256 } = question;
    const answer = await askSettled(at, question);
    if (answer.items_sha256 === items_sha256) continue;
    different.push(`was ${items_sha256}, is ${answer.items_sha256}: ${path} ${JSON.stringify(body)}`);
  }
  return different;
};
