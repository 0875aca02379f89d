// Draws a chart on its canvas: axes, lines or candles, and below them a lane a line in which holes are hatched with their cause.
import { groupThousands } from '../board/figure-text.ts';
import { decimateLine } from '../chart/decimate.ts';
import { shortenNames } from '../chart/lane-names.ts';
import type { Line } from '../chart/line.ts';
import { findRange, formatTick, formatTimeTick, listTicks, makeTimeTicks, type Range } from '../chart/scales.ts';

export type Candle = {
  readonly fromMs: number;
  readonly toMs: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
};

export type ChartData = {
  readonly fromMs: number;
  readonly toMs: number;
  readonly lines: readonly Line[];
  /** Drawn in place of the lines, of which there is one then: of their closes. Its points are in the middle of their periods. */
  readonly candles: readonly Candle[] | null;
  /** The length of a period of candles; 0 for readings, whose points are instants. */
  readonly periodMs: number;
  /** Figures of the axis are multiplied and named so. */
  readonly axis: { readonly times: number; readonly suffix: string };
};

export type Palette = {
  readonly series: readonly string[];
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly panel: string;
  readonly up: string;
  readonly down: string;
  readonly late: string;
};

export type Frame = {
  readonly width: number;
  readonly height: number;
  /** Of the plot inside the frame. */
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
};

/** For names of lanes and figures of the axis, left of the plot. */
const GUTTER = { least: 84, most: 220, share: 0.32 };
const AXIS = 20;
const TICK_EVERY = 64;
/** Its height in the style sheet. */
const LANE = 14;
const LANE_FONT = '11px system-ui, sans-serif';
const DASHES = [
  { dash: [], border: 'solid' },
  { dash: [6, 3], border: 'dashed' },
  { dash: [2, 2], border: 'dotted' },
] as const;

/** As wide as the longest name of a lane, within bounds. */
export const measureGutter = (on: CanvasRenderingContext2D, { lines }: ChartData, width: number): number => {
  on.font = LANE_FONT;
  const longest = Math.max(0, ...lines.map(({ name }) => on.measureText(name).width));
  return Math.min(GUTTER.most, width * GUTTER.share, Math.max(GUTTER.least, Math.ceil(longest) + 14));
};

type Size = { readonly width: number; readonly height: number; readonly gutter: number; readonly lanes: number };

export const makeFrame = ({ width, height, gutter, lanes }: Size): Frame => ({
  ...{ width, height, left: gutter, right: width - 8, top: 8 },
  bottom: height - lanes * LANE - 4 - AXIS,
});

export const computeX = ({ fromMs, toMs }: ChartData, { left, right }: Frame, ms: number): number =>
  left + ((ms - fromMs) / (toMs - fromMs)) * (right - left);

const computeY = ({ low, high }: Range, { top, bottom }: Frame, figure: number): number =>
  bottom - ((figure - low) / (high - low)) * (bottom - top);

/** Colour and dash of a line by its place: five colours, then the same dashed. */
export const findStroke = (
  place: number,
  { series }: Palette,
): { readonly colour: string; readonly dash: readonly number[]; readonly border: string } => ({
  colour: series[place % series.length] ?? '#888',
  ...(DASHES[Math.floor(place / series.length) % DASHES.length] ?? DASHES[0]),
});

type Paint = {
  readonly on: CanvasRenderingContext2D;
  readonly data: ChartData;
  readonly frame: Frame;
  readonly palette: Palette;
};

const listShownFigures = ({ lines, candles, fromMs, toMs }: ChartData): readonly number[] => {
  if (candles !== null) return candles.flatMap(({ high, low }) => [high, low]);
  const isShown = (x = 0): boolean => x >= fromMs && x <= toMs;
  return lines.flatMap(({ xs, ys }) => [...ys].filter((_, place) => isShown(xs[place])));
};

const findShownRange = (data: ChartData): Range => findRange(listShownFigures(data)) ?? { low: 0, high: 1 };

const paintAxes = ({ on, data, frame, palette }: Paint, range: Range): void => {
  const { times, suffix } = data.axis;
  const hasFigures = data.lines.some(({ ys }) => ys.some((y) => !Number.isNaN(y)));
  on.font = '12px system-ui, sans-serif';
  on.strokeStyle = palette.line;
  on.fillStyle = palette.muted;
  on.lineWidth = 1;
  on.textBaseline = 'middle';
  on.textAlign = 'right';
  const ticks = hasFigures ? listTicks({ low: range.low * times, high: range.high * times }, 5) : [];
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  for (const tick of ticks) {
    const y = Math.round(computeY(range, frame, tick / times)) + 0.5;
    on.beginPath();
    on.moveTo(frame.left, y);
    on.lineTo(frame.right, y);
    on.stroke();
    on.fillText(`${groupThousands(formatTick(tick, step))}${suffix}`, frame.left - 6, y, frame.left - 8);
  }
  on.textAlign = 'center';
  on.textBaseline = 'alphabetic';
  const { stepMs, at } = makeTimeTicks(data.fromMs, data.toMs, (frame.right - frame.left) / TICK_EVERY);
  for (const ms of at) {
    const x = computeX(data, frame, ms);
    if (x > frame.left + 16 && x < frame.right - 16) on.fillText(formatTimeTick(ms, stepMs), x, frame.height - 5);
  }
};

/** Draws points as paths; joined points have no hole between them. Returns how many points it drew. */
const paintLine = ({ on, data, frame, palette }: Paint, range: Range, place: number): number => {
  const line = data.lines[place] as Line;
  const { colour, dash } = findStroke(place, palette);
  const x = (point: number): number => computeX(data, frame, line.xs[point] ?? 0);
  const y = (point: number): number => computeY(range, frame, line.ys[point] ?? 0);
  on.strokeStyle = colour;
  on.fillStyle = colour;
  on.lineWidth = 1.5;
  on.setLineDash([...dash]);
  let drawn = 0;
  on.beginPath();
  const alone: number[] = [];
  for (const run of decimateLine(line.xs, line.ys, {
    ...data,
    columns: Math.max(1, Math.floor(frame.right - frame.left)),
  })) {
    drawn += run.length;
    if (run.length === 1) alone.push(run[0] as number);
    for (const [i, point] of run.entries()) {
      if (i === 0) on.moveTo(x(point), y(point));
      else on.lineTo(x(point), y(point));
    }
  }
  on.stroke();
  on.setLineDash([]);
  for (const point of alone) on.fillRect(x(point) - 1.5, y(point) - 1.5, 3, 3);
  return drawn;
};

const paintLate = ({ on, data, frame, palette }: Paint, range: Range, { xs, ys, late }: Line): void => {
  on.strokeStyle = palette.late;
  on.lineWidth = 1.5;
  let last = Number.NEGATIVE_INFINITY;
  for (const point of late) {
    const x = computeX(data, frame, xs[point] ?? 0);
    if (x - last < 3) continue;
    last = x;
    const y = computeY(range, frame, ys[point] ?? 0);
    on.beginPath();
    on.moveTo(x, y - 5);
    on.lineTo(x + 5, y);
    on.lineTo(x, y + 5);
    on.lineTo(x - 5, y);
    on.closePath();
    on.stroke();
  }
};

const paintCandles = ({ on, data, frame, palette }: Paint, range: Range): number => {
  const candles = data.candles ?? [];
  for (const { fromMs, toMs, open, high, low, close } of candles) {
    const [from, to] = [computeX(data, frame, fromMs), computeX(data, frame, toMs)];
    const middle = Math.round((from + to) / 2) + 0.5;
    const colour = close >= open ? palette.up : palette.down;
    on.strokeStyle = colour;
    on.fillStyle = colour;
    on.lineWidth = 1;
    on.beginPath();
    on.moveTo(middle, computeY(range, frame, high));
    on.lineTo(middle, computeY(range, frame, low));
    on.stroke();
    const width = Math.floor((to - from) * 0.7);
    const [top, bottom] = [
      computeY(range, frame, Math.max(open, close)),
      computeY(range, frame, Math.min(open, close)),
    ];
    // A rising candle is hollow: some readers do not see colours.
    if (width < 3) continue;
    if (close >= open) {
      on.fillStyle = palette.panel;
      on.fillRect(middle - width / 2, top, width, Math.max(1, bottom - top));
      on.strokeRect(middle - width / 2, top, width, Math.max(1, bottom - top));
    } else on.fillRect(middle - width / 2, top, width, Math.max(1, bottom - top));
  }
  return candles.length;
};

const hatchArea = (
  { on, palette }: Paint,
  [left, top, right, bottom]: readonly [number, number, number, number],
): void => {
  on.save();
  on.beginPath();
  on.rect(left, top, right - left, bottom - top);
  on.clip();
  on.fillStyle = palette.panel;
  on.fillRect(left, top, right - left, bottom - top);
  on.strokeStyle = palette.muted;
  on.globalAlpha = 0.45;
  on.lineWidth = 1;
  on.beginPath();
  for (let x = left - (bottom - top); x < right; x += 6) {
    on.moveTo(x, bottom);
    on.lineTo(x + (bottom - top), top);
  }
  on.stroke();
  on.restore();
};

const paintLane = (paint: Paint, place: number, name: string): void => {
  const { on, data, frame, palette } = paint;
  const line = data.lines[place] as Line;
  const top = frame.bottom + 4 + place * LANE;
  const [upper, lower] = [top + 1, top + LANE - 1];
  const { colour, dash } = findStroke(place, palette);
  on.strokeStyle = colour;
  on.lineWidth = 2;
  on.setLineDash([...dash]);
  on.beginPath();
  on.moveTo(frame.left, (upper + lower) / 2);
  on.lineTo(frame.right, (upper + lower) / 2);
  on.stroke();
  on.setLineDash([]);
  on.font = LANE_FONT;
  on.textBaseline = 'middle';
  for (const { fromMs, toMs, label } of line.holes) {
    const left = Math.max(frame.left, computeX(data, frame, fromMs));
    const right = Math.min(frame.right, computeX(data, frame, toMs));
    if (right <= left) continue;
    hatchArea(paint, [left, upper, Math.max(right, left + 2), lower]);
    const width = on.measureText(label).width + 8;
    if (right - left < width) continue;
    on.fillStyle = palette.panel;
    on.fillRect((left + right - width) / 2, upper, width, lower - upper);
    on.fillStyle = palette.text;
    on.textAlign = 'center';
    on.fillText(label, (left + right) / 2, (upper + lower) / 2);
  }
  on.fillStyle = palette.muted;
  on.textAlign = 'right';
  on.fillText(name, frame.left - 6, (upper + lower) / 2);
};

/** Draws everything but the crosshair; returns how many points it drew. */
export const paintChart = (paint: Paint): number => {
  const { on, data, frame } = paint;
  on.clearRect(0, 0, frame.width, frame.height);
  const range = findShownRange(data);
  // One line has the whole height for its holes.
  const [only] = data.lines;
  if (data.lines.length === 1 && only !== undefined)
    for (const { fromMs, toMs } of only.holes) {
      const left = Math.max(frame.left, computeX(data, frame, fromMs));
      const right = Math.min(frame.right, computeX(data, frame, toMs));
      if (right > left) hatchArea(paint, [left, frame.top, Math.max(right, left + 2), frame.bottom]);
    }
  paintAxes(paint, range);
  on.save();
  on.beginPath();
  on.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
  on.clip();
  let drawn = 0;
  if (data.candles !== null) drawn = paintCandles(paint, range);
  else for (const place of data.lines.keys()) drawn += paintLine(paint, range, place);
  for (const line of data.lines) paintLate(paint, range, line);
  on.restore();
  on.font = LANE_FONT;
  const fits = (text: string): boolean => on.measureText(text).width <= frame.left - 10;
  const names = shortenNames(
    data.lines.map(({ name }) => name),
    fits,
  );
  for (const [place, name] of names.entries()) paintLane(paint, place, name);
  return drawn;
};
