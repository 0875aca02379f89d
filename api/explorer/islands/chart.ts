// A chart on the page: its canvas, a crosshair for pointer and keyboard, the values at an instant as text, and all values as a table.
import { formatClock, formatUtc } from '../board/figure-text.ts';
import { findHole, findNearestPoint, type Hole, type Line } from '../chart/line.ts';
import {
  type ChartData,
  computeX,
  type Frame,
  findStroke,
  makeFrame,
  measureGutter,
  type Palette,
  paintChart,
} from './chart-paint.ts';

const MOST_TABLE_ROWS = 400;

const readToken = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const readPalette = (): Palette => ({
  series: [1, 2, 3, 4, 5].map((n) => readToken(`--series-${n}`)),
  ...{ text: readToken('--text'), muted: readToken('--muted'), line: readToken('--line'), panel: readToken('--panel') },
  ...{ up: readToken('--series-1'), down: readToken('--series-2'), late: readToken('--bad') },
});

const renderElement = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  text = '',
  className = '',
): HTMLElementTagNameMap[K] => {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== '') made.className = className;
  return made;
};

const formatHole = ({ label, words }: Hole): string => `hole, ${label}: ${words}`;

/** A candle has the instant at which it opens, as in answers (H-10). */
const findOpen = (ms: number, { periodMs }: ChartData): number => ms - periodMs / 2;

/** With its day where the chart has several. */
const formatInstant = (ms: number, data: ChartData): string => {
  const { fromMs, toMs, candles } = data;
  const shownMs = findOpen(ms, data);
  const isOneDay = formatUtc(fromMs).slice(0, 10) === formatUtc(toMs).slice(0, 10);
  return `${candles === null ? '' : 'from '}${isOneDay ? formatClock(shownMs) : `${formatUtc(shownMs)} UTC`}`;
};

const formatFigure = ({ unit = '' }: Line, text: string): string => (unit === '' ? text : `${text} ${unit}`);

/** The text of a line at an instant: its digits, or why there are none. */
const formatLine = (line: Line, ms: number, toText: (digits: string) => string): string => {
  const hole = findHole(line, ms);
  if (hole !== null) return formatHole(hole);
  const point = findNearestPoint(line.xs, ms);
  const digits = line.digits[point];
  if (digits === undefined || digits === null) return 'nothing';
  const at = line.xs[point] ?? ms;
  const late = line.late.includes(point) ? ' (recorded late)' : '';
  return `${formatFigure(line, toText(digits))}${late}${at === ms ? '' : ` at ${formatClock(at)}`}`;
};

/** For a table, whose headings name the units: only the values of this very instant. */
const formatExact = ({ unit: _, ...line }: Line, ms: number, toText: (digits: string) => string): string =>
  line.xs[findNearestPoint(line.xs, ms)] === ms || findHole(line, ms) !== null ? formatLine(line, ms, toText) : '';

const formatHeading = ({ name, unit = '' }: Line): string => (unit === '' ? name : `${name}, ${unit}`);

export class Chart {
  readonly #figure: HTMLElement;
  readonly #canvas = renderElement('canvas');
  readonly #cross = renderElement('canvas', '', 'cross');
  readonly #toText: (digits: string) => string;
  #data: ChartData | null = null;
  #atMs: number | null = null;
  #gutter = 0;

  /** `figure` has places named `data-plot`, `data-readout` and `data-rows`. */
  constructor(figure: HTMLElement, toText: (digits: string) => string) {
    this.#figure = figure;
    this.#toText = toText;
    const plot = this.#part('plot');
    const label = figure.querySelector('h3')?.textContent ?? 'Chart';
    this.#cross.tabIndex = 0;
    this.#cross.setAttribute('role', 'slider');
    this.#cross.setAttribute('aria-label', `Instant on the chart: ${label}`);
    this.#cross.setAttribute('aria-valuenow', '0');
    this.#cross.setAttribute('aria-valuetext', 'nothing read yet');
    for (const earlier of plot.querySelectorAll('canvas')) earlier.remove();
    plot.append(this.#canvas, this.#cross);
    this.#cross.addEventListener('pointermove', ({ offsetX }) => this.#point(this.#msAt(offsetX)));
    this.#cross.addEventListener('pointerleave', () => this.#point(null));
    this.#cross.addEventListener('blur', () => this.#point(null));
    this.#cross.addEventListener('keydown', (event) => this.#press(event));
    new ResizeObserver(() => this.#paint()).observe(plot);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint());
    figure.querySelector('details')?.addEventListener('toggle', () => this.#updateTable());
  }

  show(data: ChartData): void {
    this.#data = data;
    this.#cross.setAttribute('aria-valuemin', String(data.fromMs));
    this.#cross.setAttribute('aria-valuemax', String(data.toMs));
    this.#paint();
    this.#point(this.#atMs);
    this.#updateTable();
    // For programs that read the page: every hole with its cause.
    this.#figure.dataset['holes'] = JSON.stringify(
      data.lines.flatMap(({ name, holes }) =>
        holes.map(({ fromMs, toMs, reason, cause }) => ({ name, fromMs, toMs, reason, cause })),
      ),
    );
  }

  #part(name: string): HTMLElement {
    return this.#figure.querySelector(`[data-${name}]`) as HTMLElement;
  }

  #paint(): void {
    const data = this.#data;
    if (data === null) return;
    const on = this.#canvas.getContext('2d') as CanvasRenderingContext2D;
    this.#gutter = measureGutter(on, data, this.#part('plot').clientWidth);
    const frame = this.#frame();
    const { width, height } = frame;
    const dots = devicePixelRatio;
    for (const canvas of [this.#canvas, this.#cross]) {
      canvas.width = Math.round(width * dots);
      canvas.height = Math.round(height * dots);
    }
    on.scale(dots, dots);
    const begun = performance.now();
    const drawn = paintChart({ on, data, frame, palette: readPalette() });
    Object.assign(this.#figure.dataset, {
      points: data.lines.reduce((sum, { xs }) => sum + xs.length, 0),
      drawn,
      paintMs: (performance.now() - begun).toFixed(1),
    });
    this.#drawCross();
  }

  #frame(): Frame {
    const { clientWidth: width, clientHeight: height } = this.#part('plot');
    return makeFrame({ width, height, gutter: this.#gutter, lanes: this.#data?.lines.length ?? 0 });
  }

  #msAt(x: number): number | null {
    const { left, right } = this.#frame();
    if (this.#data === null || x < left - 4 || x > right + 4) return null;
    const { fromMs, toMs } = this.#data;
    const share = Math.min(1, Math.max(0, (x - left) / (right - left)));
    return this.#snap(fromMs + share * (toMs - fromMs));
  }

  /** Moves to the nearest point of any line: figures belong to instants, not to pixels. */
  #snap(ms: number): number {
    let nearest = Number.NaN;
    for (const { xs } of this.#data?.lines ?? []) {
      const x = xs[findNearestPoint(xs, ms)];
      if (x !== undefined && !(Math.abs(nearest - ms) <= Math.abs(x - ms))) nearest = x;
    }
    return Number.isNaN(nearest) ? ms : nearest;
  }

  #press(event: KeyboardEvent): void {
    const data = this.#data;
    const xs = data?.lines.reduce<readonly number[]>(
      (longest, line) => (line.xs.length > longest.length ? line.xs : longest),
      [],
    );
    if (data === null || xs === undefined || xs.length === 0) return;
    const last = xs.length - 1;
    const at = this.#atMs === null ? last : findNearestPoint(xs, this.#atMs);
    const page = Math.max(2, Math.round(xs.length / 20));
    const moves: Readonly<Record<string, number>> = {
      ...{ ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1 },
      ...{ PageDown: at - page, PageUp: at + page, Home: 0, End: last },
    };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#point(xs[Math.min(last, Math.max(0, to))] ?? null);
  }

  #point(ms: number | null): void {
    this.#atMs = ms;
    this.#drawCross();
    this.#read();
  }

  #drawCross(): void {
    const on = this.#cross.getContext('2d') as CanvasRenderingContext2D;
    on.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const frame = this.#frame();
    on.clearRect(0, 0, frame.width, frame.height);
    if (this.#data === null || this.#atMs === null) return;
    const x = Math.round(computeX(this.#data, frame, this.#atMs)) + 0.5;
    on.strokeStyle = readToken('--text');
    on.beginPath();
    on.moveTo(x, frame.top);
    on.lineTo(x, frame.height - 18);
    on.stroke();
  }

  /** Shows the values at the crosshair, or at the end. */
  #read(): void {
    const data = this.#data;
    if (data === null) return;
    const ms = this.#atMs ?? this.#snap(data.toMs);
    const palette = readPalette();
    const list = renderElement('ul');
    const spoken: string[] = [];
    for (const [place, line] of data.lines.entries()) {
      const text = formatLine(line, ms, this.#toText);
      const key = renderElement('span', '', 'key');
      const { colour, border } = findStroke(place, palette);
      key.style.borderTop = `3px ${border} ${colour}`;
      const item = renderElement('li');
      item.append(key, renderElement('span', line.name, 'muted'), document.createTextNode(` ${text}`));
      list.append(item);
      spoken.push(`${line.name}: ${text}`);
    }
    this.#part('readout').replaceChildren(renderElement('strong', formatInstant(ms, data)), list);
    this.#cross.setAttribute('aria-valuenow', String(ms));
    this.#cross.setAttribute('aria-valuetext', `${formatInstant(ms, data)}. ${spoken.join('. ')}`);
  }

  /** The same as a table, newest first, once it is opened. */
  #updateTable(): void {
    const data = this.#data;
    if (data === null || this.#figure.querySelector('details')?.open !== true) return;
    const instants = [...new Set(data.lines.flatMap(({ xs }) => xs))].sort((a, b) => b - a);
    const table = renderElement('table');
    const head = table.createTHead().insertRow();
    const place = data.candles === null ? 'Instant, UTC' : 'Opened, UTC';
    for (const [i, name] of [place, ...data.lines.map(formatHeading)].entries()) {
      const heading = renderElement('th', name, i === 0 ? '' : 'number');
      heading.scope = 'col';
      head.append(heading);
    }
    const body = table.createTBody();
    for (const ms of instants.slice(0, MOST_TABLE_ROWS)) {
      const row = body.insertRow();
      const heading = renderElement('th', formatUtc(findOpen(ms, data)));
      heading.scope = 'row';
      row.append(heading);
      for (const line of data.lines) {
        const cell = row.insertCell();
        cell.textContent = formatExact(line, ms, this.#toText);
        cell.className = findHole(line, ms) === null ? 'number' : 'wraps';
      }
    }
    const rest = instants.length - MOST_TABLE_ROWS;
    this.#part('rows').replaceChildren(
      table,
      ...(rest > 0 ? [renderElement('p', `${rest} older rows are not listed.`)] : []),
    );
  }
}
