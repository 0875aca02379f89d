// The page of an instrument: its table live, its charts, candles, book and liquidations as they come into sight.
import { parseRange } from '../board/instrument-view.ts';
import { showBook } from './book-view.ts';
import { showCandles } from './candle-chart.ts';
import { showHistory } from './history-charts.ts';
import { showLiquidations } from './liquidation-table.ts';
import { openLivePage } from './live-page.ts';

const start = (side: HTMLElement, charts: HTMLElement): void => {
  const { layers = '', where = '' } = side.dataset;
  const { feed } = openLivePage({ table: side, query: { layers, where } });
  const nowMs = (): number => feed.nowMs();
  const range = parseRange(charts.dataset['range']);
  showHistory(charts.querySelectorAll<HTMLElement>('figure.chart'), {
    ...{ where, range, isRaw: charts.dataset['raw'] === 'yes', nowMs },
  });
  const [one, candles, book] = ['one', 'candles', 'book'].map((id) => document.getElementById(id));
  if (one && candles) showCandles(candles, { range, nowMs, listing: one.dataset });
  if (one && book) showBook(book, one.dataset);
  const liquidations = document.getElementById('liquidations');
  if (liquidations !== null) showLiquidations(liquidations, { where, spanMs: range.spanMs, nowMs });
};

const [side, charts] = [document.getElementById('side'), document.getElementById('charts')];
if (side !== null && charts !== null) start(side, charts);
