// Charts of an instrument's history: each is read when it comes into sight, again each minute while it is looked at.
import { type Form, formatClock, formatForm, formatUnit } from '../board/figure-text.ts';
import { type HistoryRange, WINDOW_MS } from '../board/instrument-view.ts';
import { toListingKey } from '../board/reading.ts';
import { buildLine, type HistoryRow, type Line } from '../chart/line.ts';
import { toUnitPrice } from '../chart/unit-price.ts';
import { Chart } from './chart.ts';
import type { ChartData } from './chart-paint.ts';
import { callPatiently, describeFailure } from './patient-call.ts';

type LayerRows = {
  readonly rows: readonly HistoryRow[];
  readonly units?: Readonly<Record<string, string>>;
  readonly history_cadence: string;
};
type Item = {
  readonly venue: string;
  readonly venue_symbol: string;
  readonly quote: string;
  readonly layers: Readonly<Record<string, LayerRows>>;
};
type Answer = {
  readonly from: string;
  readonly to: string;
  readonly settled: boolean;
  readonly items: readonly Item[];
};

const FORMS: Readonly<Record<string, Form>> = { funding: 'rate', spread: 'width', oi: 'quantity' };
const AXES: Readonly<Record<string, ChartData['axis']>> = {
  funding: { times: 100, suffix: ' %' },
  spread: { times: 10_000, suffix: ' bps' },
};
const PLAIN = { times: 1, suffix: '' };

/** Names of listings: the venue, and its symbol where it has several. */
export const listLineNames = (items: readonly { readonly venue: string; readonly venue_symbol: string }[]): string[] =>
  items.map(({ venue, venue_symbol }) =>
    items.filter((other) => other.venue === venue).length > 1 ? `${venue} ${venue_symbol}` : venue,
  );

/** An interval no shorter than what the layer is stored by. */
const chooseInterval = ({ intervalMs, interval }: HistoryRange, layer: string) =>
  intervalMs >= (WINDOW_MS[layer] ?? 0) ? { interval, stepMs: intervalMs } : { interval: '1m', stepMs: 60_000 };

type HistoryQuestion = {
  /** Selection of listings. */
  readonly where: string;
  readonly range: HistoryRange;
  readonly isRaw: boolean;
  /** By the service's clock. */
  readonly nowMs: () => number;
};

const readHistory = async (
  { where, range, isRaw, nowMs }: HistoryQuestion,
  { layer = '', units = 'published' }: DOMStringMap,
): Promise<Answer> => {
  const to = nowMs();
  return callPatiently<Answer>('/snapshots/history', {
    body: {
      where,
      layers: [layer],
      ...{ units, number_format: 'string' },
      from: new Date(to - range.spanMs).toISOString(),
      to: new Date(to).toISOString(),
      ...(isRaw ? { raw: true } : { interval: chooseInterval(range, layer).interval }),
    },
  });
};

/** Rates and widths name theirs in their form. */
const formatLineUnit = (unit: string | undefined, quote: string, base: string | undefined): string =>
  unit === 'fraction' ? '' : formatUnit(unit, quote, base);

/** Of listings, by their keys; null where the chart needs none. */
const readMultipliers = ({ multipliers }: DOMStringMap): Readonly<Record<string, string | null>> | null =>
  multipliers === undefined ? null : (JSON.parse(multipliers) as Record<string, string | null>);

const toChartData = (answer: Answer, { range, isRaw }: HistoryQuestion, figure: DOMStringMap): ChartData => {
  const { layer = '', member = '', chart = '', base } = figure;
  const multipliers = readMultipliers(figure);
  const stepMs = isRaw ? (WINDOW_MS[layer] ?? 10_000) : chooseInterval(range, layer).stepMs;
  const items = answer.items.filter((item) => item.layers[layer] !== undefined);
  const names = listLineNames(items);
  const lines = items.map((item, i): Line => {
    const { rows = [], units } = item.layers[layer] ?? {};
    const multiplier = multipliers === null ? '1' : (multipliers[toListingKey(item)] ?? null);
    return {
      ...buildLine(
        names[i] ?? '',
        rows.map((row) => toUnitPrice(row, member, multiplier)),
        { member, stepMs },
      ),
      unit: formatLineUnit(units?.[member], item.quote, base),
    };
  });
  return {
    ...{ fromMs: Date.parse(answer.from), toMs: Date.parse(answer.to), lines },
    candles: null,
    periodMs: 0,
    axis: AXES[chart] ?? PLAIN,
  };
};

/** Reads it when it is first seen, then each `everyMs` while it is, one reading at a time. `read` does not throw. */
export const readWhileSeen = (element: Element, everyMs: number, read: () => Promise<void>): void => {
  let timer: ReturnType<typeof setInterval> | undefined;
  let isReading = false;
  const readOnce = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    await read();
    isReading = false;
  };
  new IntersectionObserver(
    (entries) => {
      clearInterval(timer);
      if (entries.at(-1)?.isIntersecting !== true) return;
      void readOnce();
      timer = setInterval(() => (document.hidden ? undefined : void readOnce()), everyMs);
    },
    { rootMargin: '120px' },
  ).observe(element);
};

const REFRESH_MS = 60_000;

export const showHistory = (figures: Iterable<HTMLElement>, asked: HistoryQuestion): void => {
  for (const figure of figures) {
    const status = figure.querySelector('[data-told]') as HTMLElement;
    const form = FORMS[figure.dataset['chart'] ?? ''] ?? 'digits';
    const chart = new Chart(figure, (digits) => formatForm(form, digits));
    let shown = '';
    readWhileSeen(figure, REFRESH_MS, async () => {
      try {
        const answer = await readHistory(asked, figure.dataset);
        chart.show(toChartData(answer, asked, figure.dataset));
        const until = formatClock(Date.parse(answer.to));
        shown = answer.settled ? `until ${until}, settled` : `until ${until}, its end not settled yet`;
        status.textContent = shown;
      } catch (error) {
        status.textContent = describeFailure(error, shown);
      }
    });
  }
};
