// The pictures of docs/guides/concepts.md, drawn from a recording of the demo: `npm run docs` writes them, a test compares them.
// Colours are classes: the site's sheet gives them its tokens, a style of the file's own those of readers elsewhere.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../engines/java.ts';

export const PICTURES = join(PROJECT_ROOT, 'docs', 'guides', 'pictures');
export const RECORDED = join(PICTURES, 'recorded.json');

/** One layer in a snapshot at `at`; `figure` is null while it is withheld. */
export type Sample = {
  readonly at: string;
  readonly status: string;
  readonly reason: string | null;
  readonly age_ms: number | null;
  readonly venue_ts: string | null;
  readonly received_at: string | null;
  readonly valid_until: string | null;
  readonly figure: string | null;
};
export type OpenInterest = {
  readonly venue: string;
  readonly figure: string;
  readonly unit: string;
  readonly in_base: string;
};
/** A stored window: `at` is its end. */
export type Gap = {
  readonly layer: string;
  readonly at: string;
  readonly status: string;
  readonly cause: string | null;
};
/** A reading by its receipt. */
export type Late = { readonly at: string; readonly late: boolean };
export type Recorded = {
  readonly provenance: Readonly<Record<string, string>>;
  readonly mark: readonly Sample[];
  readonly book: readonly Sample[];
  readonly oi: readonly Sample[];
  readonly oi_bounded: readonly Sample[];
  readonly oi_by_venue: readonly OpenInterest[];
  readonly gaps: readonly Gap[];
  readonly late: readonly Late[];
};

const [WIDTH, LEFT, RIGHT] = [720, 96, 12];
const PLOT = WIDTH - LEFT - RIGHT;
const WINDOW_MS = 10_000;

const STYLE = `<style>
svg{--text:#16202b;--muted:#55616e;--line:#dde3e9;--good:#0b6e5a;--good-bg:#ecf7f3;--bad:#b3261e;--bad-bg:#fdf0ef;--warn:#7a5200;--warn-bg:#fdf6e4}
@media (prefers-color-scheme:dark){svg{--text:#e6ebf0;--muted:#a0acb8;--line:#2a343e;--good:#58d0b0;--good-bg:#12271f;--bad:#ff8f85;--bad-bg:#2c1917;--warn:#efc15a;--warn-bg:#2a2212}}
text{font:13px system-ui,sans-serif;fill:var(--text)}.p-muted{fill:var(--muted)}.p-axis{stroke:var(--line);fill:none}
.p-line{stroke:var(--good);fill:none;stroke-width:2}.p-good{fill:var(--good)}.p-good-bg{fill:var(--good-bg);stroke:var(--good)}
.p-bad-bg{fill:var(--bad-bg);stroke:var(--bad);stroke-dasharray:4 3}.p-warn-bg{fill:var(--warn-bg);stroke:var(--warn);stroke-dasharray:4 3}
.p-warn{fill:var(--warn)}.p-bound{stroke:var(--warn);fill:none;stroke-width:2;stroke-dasharray:6 4}
</style>`;

const roundTenth = (value: number): number => Math.round(value * 10) / 10;
const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const toMs = (instant: string | null): number => Date.parse(instant ?? '');

type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
const drawBox = (kind: string, { x, y, width, height }: Box): string =>
  `<rect class="${kind}" x="${roundTenth(x)}" y="${roundTenth(y)}" width="${roundTenth(Math.max(width, 1))}" height="${height}" rx="2"/>`;
type At = {
  readonly x: number;
  readonly y: number;
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly kind?: string;
};
const drawWords = (text: string, { x, y, anchor = 'start', kind }: At): string =>
  `<text${kind === undefined ? '' : ` class="${kind}"`} x="${roundTenth(x)}" y="${roundTenth(y)}" text-anchor="${anchor}">${escapeText(text)}</text>`;
const drawPath = (kind: string, points: readonly (readonly [x: number, y: number])[]): string =>
  `<path class="${kind}" d="M${points.map(([x, y]) => `${roundTenth(x)} ${roundTenth(y)}`).join('L')}"/>`;

type Picture = { readonly name: string; readonly title: string; readonly told: string; readonly height: number };
const drawSvg = ({ name, title, told, height }: Picture, parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="${name}-title ${name}-told">
<title id="${name}-title">${escapeText(title)}</title>
<desc id="${name}-told">${escapeText(told)}</desc>
${STYLE}
${parts.join('\n')}
</svg>
`;

/** Milliseconds since 1970. */
type Span = readonly [from: number, to: number];

/** Maps instants from `from` to `to` to the width of the plot. */
const makeTimeScale =
  (from: number, to: number) =>
  (ms: number): number =>
    LEFT + ((ms - from) / (to - from)) * PLOT;

const drawSecondsAxis = ([from, to]: Span, y: number, stepS: number): string[] => {
  const x = makeTimeScale(from, to);
  const count = Math.floor((to - from) / 1_000 / stepS);
  return [
    drawPath('p-axis', [
      [LEFT, y],
      [LEFT + PLOT, y],
    ]),
    ...Array.from({ length: count + 1 }, (_, i) =>
      drawWords(`${i * stepS} s`, {
        x: x(from + i * stepS * 1_000),
        y: y + 18,
        anchor: i === 0 ? 'start' : 'middle',
        kind: 'p-muted',
      }),
    ),
  ];
};

type Run = { readonly state: string; readonly from: number; readonly to: number; readonly isPresent: boolean };

/** Consecutive samples in one state. */
const groupRuns = (samples: readonly Sample[]): readonly Run[] => {
  const runs: Run[] = [];
  for (const { at, status, reason } of samples) {
    const [ms, state] = [toMs(at), reason === null ? status : `${status}: ${reason}`];
    const last = runs.at(-1);
    if (last !== undefined) runs[runs.length - 1] = { ...last, to: ms };
    if (last?.state !== state) runs.push({ state, from: ms, to: ms, isPresent: status === 'present' });
  }
  return runs.filter(({ from, to }) => to > from);
};

/** A run has its label only where it fits; the alternative text contains the others. */
const drawStrip = (runs: readonly Run[], x: (ms: number) => number, y: number): string[] =>
  runs.flatMap(({ state, from, to, isPresent }) => {
    const [left, width] = [x(from), x(to) - x(from)];
    const fits = width > state.length * 7 + 8;
    return [
      drawBox(isPresent ? 'p-good-bg' : 'p-bad-bg', { x: left, y, width, height: 24 }),
      ...(fits ? [drawWords(state, { x: left + 6, y: y + 17 })] : []),
    ];
  });

const toSpan = (samples: readonly Sample[]): Span => [toMs(samples[0]?.at ?? null), toMs(samples.at(-1)?.at ?? null)];
const describeRuns = (runs: readonly Run[], from: number): string =>
  runs
    .map(
      (run) =>
        `from ${((run.from - from) / 1_000).toFixed(1)} to ${((run.to - from) / 1_000).toFixed(1)} s ${run.state.replaceAll('_', ' ')}`,
    )
    .join(', ');

const drawStatus = ({ mark }: Recorded): string => {
  const [from, to] = toSpan(mark);
  const x = makeTimeScale(from, to);
  const runs = groupRuns(mark);
  const figures = mark.flatMap(({ figure }) => (figure === null ? [] : [Number(figure)]));
  const [least, most] = [Math.min(...figures), Math.max(...figures)];
  const y = (figure: number): number => 110 - ((figure - least) / (most - least)) * 90;
  const lines = runs
    .filter(({ isPresent }) => isPresent)
    .map((run) => {
      const own = mark.filter(({ at, figure }) => figure !== null && toMs(at) >= run.from && toMs(at) < run.to);
      return drawPath(
        'p-line',
        own.map(({ at, figure }) => [x(toMs(at)), y(Number(figure))]),
      );
    });
  const told = `A mark price over ${Math.round((to - from) / 1_000)} seconds; its connection is cut on the way. Its status is ${describeRuns(runs, from)}. While it is not present no figure is drawn.`;
  return drawSvg({ name: 'status', title: 'The status of a mark while its connection is lost', told, height: 200 }, [
    drawWords('mark', { x: 0, y: 66 }),
    drawWords(most.toFixed(2), { x: LEFT - 8, y: 24, anchor: 'end', kind: 'p-muted' }),
    drawWords(least.toFixed(2), { x: LEFT - 8, y: 114, anchor: 'end', kind: 'p-muted' }),
    ...lines,
    drawWords('status', { x: 0, y: 149 }),
    ...drawStrip(runs, x, 132),
    ...drawSecondsAxis([from, to], 170, 10),
  ]);
};

/** Readings in their order, each once. */
const findReadings = (samples: readonly Sample[], [from, to]: Span): readonly Sample[] => {
  const byStamp = new Map(samples.map((sample) => [sample.venue_ts, sample]));
  return [...byStamp.values()].filter(({ venue_ts }) => toMs(venue_ts) >= from && toMs(venue_ts) < to);
};

/** Length of the part of the recording that is drawn enlarged, in milliseconds. */
const HORIZON_MS = 16_000;

const drawHorizon = ({ mark, book }: Recorded): string => {
  const [from] = toSpan(mark);
  const span = [from, from + HORIZON_MS] as const;
  const x = makeTimeScale(...span);
  const clip = (ms: number): number => Math.min(Math.max(ms, span[0]), span[1]);
  const within = (samples: readonly Sample[]): readonly Run[] =>
    groupRuns(samples.filter(({ at }) => toMs(at) <= span[1]));
  const marks = findReadings(mark, span);
  const bars = marks.map(({ venue_ts, valid_until }, i) => {
    const left = x(toMs(venue_ts));
    return drawBox('p-good-bg', {
      x: left,
      y: 10 + (i % 2) * 18,
      width: x(clip(toMs(valid_until))) - left,
      height: 14,
    });
  });
  const ticks = findReadings(book, span).map(({ venue_ts }) =>
    drawPath('p-line', [
      [x(toMs(venue_ts)), 90],
      [x(toMs(venue_ts)), 102],
    ]),
  );
  const told = `${HORIZON_MS / 1_000} seconds of two layers of one listing. Each of ${marks.length} readings of the mark holds for two seconds from the venue's stamp, as the venue documents its rate; where the next one is not there in time the mark is stale: ${describeRuns(within(mark), from)}. The book holds while its connection lives, however long its last update is ago: ${describeRuns(within(book), from)}.`;
  return drawSvg(
    { name: 'horizon', title: 'How long a reading holds: a documented rate, and a connection', told, height: 176 },
    [
      drawWords('mark', { x: 0, y: 26 }),
      drawWords('documented', { x: 0, y: 44, kind: 'p-muted' }),
      ...bars,
      ...drawStrip(within(mark), x, 50),
      drawWords('book', { x: 0, y: 104 }),
      drawWords('connection', { x: 0, y: 122, kind: 'p-muted' }),
      ...ticks,
      ...drawStrip(within(book), x, 106),
      ...drawSecondsAxis(span, 145, 2),
    ],
  );
};

const drawFreshness = ({ oi, oi_bounded: bounded, provenance }: Recorded): string => {
  const [from, to] = toSpan(oi);
  const x = makeTimeScale(from, to);
  const ages = oi.filter(({ status, age_ms }) => status === 'present' && age_ms !== null);
  const most = Math.ceil(Math.max(...ages.map(({ age_ms }) => Number(age_ms))) / 1_000);
  const y = (ms: number): number => 120 - (ms / 1_000 / most) * 100;
  const boundMs = Number.parseFloat(provenance['freshness'] ?? '') * 1_000;
  const withheld = groupRuns(bounded).filter(({ isPresent }) => !isPresent);
  const share = withheld.reduce((sum, run) => sum + run.to - run.from, 0) / (to - from);
  const told = `The age of an open interest that is asked for every five seconds: it grows to about ${most} seconds and falls with each answer. With freshness ${provenance['freshness']} it is stale whenever it is older than that, ${Math.round(share * 100)} per cent of this time.`;
  return drawSvg(
    { name: 'freshness', title: 'The age of a polled value, and a bound of your own', told, height: 176 },
    [
      drawWords('age', { x: 0, y: 24 }),
      drawWords(`${most} s`, { x: LEFT - 8, y: y(most * 1_000) + 4, anchor: 'end', kind: 'p-muted' }),
      drawWords(`bound ${boundMs / 1_000} s`, { x: LEFT - 8, y: y(boundMs) + 4, anchor: 'end', kind: 'p-warn' }),
      ...withheld.map((run) =>
        drawBox('p-warn-bg', { x: x(run.from), y: 14, width: x(run.to) - x(run.from), height: 106 }),
      ),
      drawPath('p-bound', [
        [LEFT, y(boundMs)],
        [LEFT + PLOT, y(boundMs)],
      ]),
      drawPath(
        'p-line',
        ages.map(({ at, age_ms }) => [x(toMs(at)), y(Number(age_ms))]),
      ),
      drawWords('shaded: stale for whoever asks with this bound', {
        x: LEFT + PLOT,
        y: 170,
        anchor: 'end',
        kind: 'p-muted',
      }),
      ...drawSecondsAxis([from, to], 130, 10).slice(0, 4),
    ],
  );
};

const drawUnits = ({ oi_by_venue: rows }: Recorded): string => {
  const most = Math.max(...rows.map(({ in_base: figure }) => Number(figure)));
  const bars = rows.flatMap(({ venue, figure, unit, in_base: converted }, i) => {
    const top = 34 + i * 30;
    const width = (Number(converted) / most) * 240;
    const shown = Number(converted).toPrecision(6);
    return [
      drawWords(venue, { x: 0, y: top + 15 }),
      drawWords(figure, { x: 240, y: top + 15, anchor: 'end' }),
      drawWords(unit, { x: 250, y: top + 15, kind: 'p-muted' }),
      drawBox('p-good-bg', { x: 340, y: top, width, height: 20 }),
      drawWords(shown, { x: 340 + width + 6, y: top + 15 }),
    ];
  });
  const told = `The open interest of BTC as each venue publishes it, and asked for with units base: ${rows
    .map(
      ({ venue, figure, unit, in_base: converted }) =>
        `${venue} ${figure} ${unit}, ${Number(converted).toPrecision(6)} BTC`,
    )
    .join('; ')}.`;
  return drawSvg(
    {
      name: 'units',
      title: 'Open interest as published, and in units of the base',
      told,
      height: 40 + rows.length * 30,
    },
    [
      drawWords('as published', { x: 240, y: 18, anchor: 'end', kind: 'p-muted' }),
      drawWords('units: "base"', { x: 340, y: 18, kind: 'p-muted' }),
      ...bars,
    ],
  );
};

/** The minutes of the past, with the clock at both ends. */
const drawPastScale = ({
  gaps,
}: Recorded): { readonly from: number; readonly x: (ms: number) => number; readonly to: number } => {
  const ends = gaps.map(({ at }) => toMs(at));
  const [from, to] = [Math.min(...ends) - WINDOW_MS, Math.max(...ends)];
  return { from, to, x: makeTimeScale(from, to) };
};

const drawClockAxis = (from: number, to: number, y: number): string[] => {
  const clock = (ms: number): string => `${new Date(ms).toISOString().slice(11, 16)} UTC`;
  return [
    drawPath('p-axis', [
      [LEFT, y],
      [LEFT + PLOT, y],
    ]),
    drawWords(clock(from), { x: LEFT, y: y + 18, kind: 'p-muted' }),
    drawWords(clock(to), { x: LEFT + PLOT, y: y + 18, anchor: 'end', kind: 'p-muted' }),
  ];
};

/** Windows without a reading in a few words: layer, number, reason. */
const describeGaps = (gaps: readonly Gap[]): string =>
  [
    ...Map.groupBy(
      gaps.filter(({ status }) => status === 'missing'),
      ({ layer, cause }) => `${layer} ${cause}`,
    ),
  ]
    .map(([name, own]) => `${own.length} of ${name}`)
    .join(', ');

const drawWindowBox = ({ at, status, cause }: Gap, x: (ms: number) => number, y: number): string => {
  const [left, right] = [x(toMs(at) - WINDOW_MS), x(toMs(at))];
  const missing = cause === 'no_update' ? 'p-warn-bg' : 'p-bad-bg';
  return drawBox(status === 'missing' ? missing : 'p-good-bg', { x: left + 1, y, width: right - left - 2, height: 22 });
};

const drawSettled = (recorded: Recorded): string => {
  const { gaps, late: rows } = recorded;
  const { from, to, x } = drawPastScale(recorded);
  const dot = ({ at, late }: Late): string =>
    drawBox(late ? 'p-warn-bg' : 'p-good', { x: x(toMs(at)) - 4, y: late ? 94 : 24, width: 8, height: 8 });
  const count = rows.filter(({ late }) => late).length;
  const windows = gaps.filter(({ layer }) => layer === 'mark');
  const told = `Four minutes of a mark. ${rows.length - count} readings were recorded in time; they count, and an answer has the last one of each window of ten seconds. ${count} readings were recorded after their instant had settled. They are kept as late rows, and the ${windows.filter(({ status }) => status === 'missing').length} windows they fall in stay gaps in every answer.`;
  return drawSvg({ name: 'settled', title: 'What is recorded after an instant has settled', told, height: 148 }, [
    drawWords('in time', { x: 0, y: 33 }),
    drawWords('an answer', { x: 0, y: 67 }),
    drawWords('late', { x: 0, y: 103, kind: 'p-warn' }),
    ...rows.map(dot),
    ...windows.map((window) => drawWindowBox(window, x, 51)),
    ...drawClockAxis(from, to, 118),
  ]);
};

const drawGaps = (recorded: Recorded): string => {
  const { gaps } = recorded;
  const { from, to, x } = drawPastScale(recorded);
  const layers = [...Map.groupBy(gaps, ({ layer }) => layer)];
  const bottom = 8 + layers.length * 32;
  const rows = layers.flatMap(([layer, windows], i) => [
    drawWords(layer, { x: 0, y: 24 + i * 32 }),
    ...windows.map((window) => drawWindowBox(window, x, 8 + i * 32)),
  ]);
  const told = `Stored windows of ten seconds of ${layers.length} layers of one listing over four minutes. Without a reading are ${describeGaps(gaps)}: each is a row with its cause. The other ${gaps.filter(({ status }) => status === 'present').length} windows have a reading.`;
  return drawSvg(
    { name: 'gaps', title: 'Windows with a reading, and gaps with their cause', told, height: bottom + 54 },
    [
      ...rows,
      ...drawClockAxis(from, to, bottom),
      drawBox('p-bad-bg', { x: LEFT, y: bottom + 32, width: 16, height: 14 }),
      drawWords('collector_down', { x: LEFT + 22, y: bottom + 44 }),
      drawBox('p-warn-bg', { x: LEFT + 150, y: bottom + 32, width: 16, height: 14 }),
      drawWords('no_update', { x: LEFT + 172, y: bottom + 44 }),
    ],
  );
};

/** Generated files by name. */
export const drawPictures = (): ReadonlyMap<string, string> => {
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Recorded;
  return new Map(
    Object.entries({
      ...{ status: drawStatus, horizon: drawHorizon, freshness: drawFreshness },
      ...{ units: drawUnits, settled: drawSettled, gaps: drawGaps },
    }).map(([name, draw]) => [`${name}.svg`, draw(recorded)]),
  );
};

/** The pictures by their paths. */
export const renderPictures = (): ReadonlyMap<string, string> =>
  new Map([...drawPictures()].map(([name, text]) => [join(PICTURES, name), text]));
