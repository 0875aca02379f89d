// Candles of one listing, with a hole for each period that has none.
import { formatClock, formatForm, formatUnit } from '../board/figure-text.ts';
import type { HistoryRange } from '../board/instrument-view.ts';
import { describeReason, formatReason } from '../board/reason-words.ts';
import type { Hole, Line } from '../chart/line.ts';
import { Chart } from './chart.ts';
import type { Candle, ChartData } from './chart-paint.ts';
import { readWhileSeen } from './history-charts.ts';
import { callPatiently, describeFailure } from './patient-call.ts';

type Row = {
  readonly open_time: string;
  readonly close_time: string;
  readonly status: string;
  readonly reason?: string;
  readonly gap_cause?: string;
  readonly open: string | null;
  readonly high: string | null;
  readonly low: string | null;
  readonly close: string | null;
  readonly volume: string | null;
};
type Item = {
  readonly venue: string;
  readonly quote: string;
  readonly units: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
};
type Answer = {
  readonly from: string;
  readonly to: string;
  readonly items: readonly Item[];
};

const toHole = ({ open_time, close_time, status, reason, gap_cause }: Row): Hole => {
  const cause = gap_cause ?? null;
  // A minute that is proven to have had no trades is not a gap, but it has no price either.
  const why = status === 'present' ? 'no_trades' : (reason ?? status);
  return {
    ...{ fromMs: Date.parse(open_time), toMs: Date.parse(close_time), reason: why, cause },
    label: formatReason(why, cause ?? undefined),
    words: why === 'no_trades' ? 'Nothing was traded.' : describeReason(why, cause ?? undefined),
  };
};

const joinHoles = (holes: readonly Hole[]): readonly Hole[] => {
  const all: Hole[] = [];
  for (const hole of holes) {
    const last = all.at(-1);
    const goesOn = last?.toMs === hole.fromMs && last.reason === hole.reason && last.cause === hole.cause;
    if (last !== undefined && goesOn) all[all.length - 1] = { ...last, toMs: hole.toMs };
    else all.push(hole);
  }
  return all;
};

const toCandle = ({ open_time, close_time, open, high, low, close }: Row): Candle | null =>
  open === null || high === null || low === null || close === null
    ? null
    : {
        ...{ fromMs: Date.parse(open_time), toMs: Date.parse(close_time) },
        ...{ open: Number(open), high: Number(high), low: Number(low), close: Number(close) },
      };

type Context = { readonly periodMs: number; readonly asset: string };

const toChartData = ({ from, to, items }: Answer, { periodMs, asset }: Context): ChartData => {
  const rows = items[0]?.rows ?? [];
  const candles = rows.map(toCandle);
  const unit = formatUnit(items[0]?.units['volume'], items[0]?.quote, asset);
  const line: Line = {
    name: items[0]?.venue ?? '',
    // The crosshair is in the middle of a candle.
    xs: rows.map(({ open_time, close_time }) => (Date.parse(open_time) + Date.parse(close_time)) / 2),
    ys: candles.map((candle) => candle?.close ?? Number.NaN),
    digits: rows.map(({ open, high, low, close, volume }, i) =>
      candles[i] === null
        ? null
        : [open, high, low, close, items[0]?.quote, ...(volume === null ? ['unknown'] : [volume, unit])].join(' '),
    ),
    holes: joinHoles(rows.filter((_, i) => candles[i] === null).map(toHole)),
    late: [],
  };
  const shown = candles.filter((candle) => candle !== null);
  return {
    fromMs: Date.parse(from),
    toMs: Date.parse(to),
    lines: [line],
    candles: shown,
    periodMs,
    axis: { times: 1, suffix: '' },
  };
};

const formatCandle = (text: string): string => {
  const [open = '', high = '', low = '', close = '', quote = '', volume = '', unit = ''] = text.split(' ');
  const prices = { open, high, low, close };
  const told = Object.entries(prices).map(([name, digits]) => `${name} ${formatForm('digits', digits)}`);
  return `${told.join(', ')} ${quote}, volume ${formatForm('digits', volume)} ${unit}`.trim();
};

const TIMEFRAME_MS: Readonly<Record<string, number>> = { '1m': 60_000, '5m': 300_000, '15m': 900_000, '1h': 3_600_000 };
const REFRESH_MS = 60_000;

type CandleQuestion = { readonly range: HistoryRange; readonly nowMs: () => number; readonly listing: DOMStringMap };

export const showCandles = (figure: HTMLElement, { range, nowMs, listing }: CandleQuestion): void => {
  const statusElement = figure.querySelector('[data-told]') as HTMLElement;
  const chart = new Chart(figure, formatCandle);
  const stepMs = TIMEFRAME_MS[range.timeframe] ?? 60_000;
  let shown = '';
  readWhileSeen(figure, REFRESH_MS, async () => {
    const to = Math.floor(nowMs() / stepMs) * stepMs;
    try {
      const answer = await callPatiently<Answer>('/candles', {
        body: {
          where: { venue: listing['venue'], symbol: listing['symbol'] },
          ...{ timeframe: range.timeframe, price_type: listing['price'], number_format: 'string' },
          from: new Date(to - Math.max(range.spanMs, 30 * stepMs)).toISOString(),
          to: new Date(to).toISOString(),
        },
      });
      chart.show(toChartData(answer, { periodMs: stepMs, asset: listing['asset'] ?? '' }));
      shown = `${range.timeframe} each, until ${formatClock(Date.parse(answer.to))}`;
      statusElement.textContent = shown;
    } catch (error) {
      statusElement.textContent = describeFailure(error, shown);
    }
  });
};
