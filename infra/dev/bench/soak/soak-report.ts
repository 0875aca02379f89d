// Results of a soak: memory and descriptors of each process over its time, lag, counters that must add up, and purity; pure.
import { type Figure, findQuantile, makeFigure, makeUpperAim } from '../instruments/figures.ts';
import { EVERY_PROCESS, type ProcessName } from '../instruments/machine.ts';
import { computeSpread } from '../instruments/rounds.ts';
import { renderColumns } from '../instruments/table.ts';
import type { Aftermath } from './aftermath.ts';
import type { Sample } from './health.ts';
import { VICTIMS } from './kills.ts';
import { computeSlopeAcross, computeSlopeWithin, groupLives, type Point, type Slope } from './slopes.ts';
import type { Load } from './soak.ts';

/** One quantity of one process. */
type Growth = {
  readonly process: ProcessName;
  readonly of: 'memory, MB' | 'descriptors';
  readonly lives: number;
  /** At a tenth, at half and at the end of the time. */
  readonly at10: number | null;
  readonly at50: number | null;
  readonly at100: number | null;
  readonly highest: number | null;
  /** Growth an hour, without the warm-up of each life; null where the time is too short. */
  readonly within: Slope | null;
  readonly across: Slope | null;
  /** Null where the time is too short, or its points too far apart. */
  readonly flat: boolean | null;
};

/** An hour may add a tenth, or this much: garbage collection varies by as much. */
const FLAT_SHARE = 0.1;
const FLAT_LEAST = { 'memory, MB': 10, descriptors: 5 } as const;
/** With this many lives their levels are more reliable than the slope of what remains of each after its warm-up. */
const MANY_LIVES = 4;
/** Number of standard errors of a slope within which growth may be chance. */
const CHANCE = 2;

const findNearest = (points: readonly Point[], atMs: number): number | null =>
  points.toSorted((a, b) => Math.abs(a.atMs - atMs) - Math.abs(b.atMs - atMs))[0]?.value ?? null;

const listPoints = (samples: readonly Sample[], process: ProcessName, of: Growth['of']): Point[] =>
  samples.flatMap(({ atMs, processes }) => {
    const found = processes.get(process);
    if (found === undefined) return [];
    return [{ atMs, life: found.pid, value: of === 'descriptors' ? found.descriptors : found.ownMb }];
  });

const isFlat = (growth: Pick<Growth, 'of' | 'lives' | 'at50' | 'within' | 'across'>): boolean | null => {
  const slope = growth.lives >= MANY_LIVES ? growth.across : growth.within;
  if (slope === null) return null;
  const bound = Math.max(FLAT_LEAST[growth.of], (growth.at50 ?? 0) * FLAT_SHARE);
  if (slope.perHour < bound) return true;
  return slope.perHour - CHANCE * slope.error < bound ? null : false;
};

const measureGrowth = (samples: readonly Sample[], process: ProcessName, of: Growth['of']): Growth => {
  const points = listPoints(samples, process, of);
  const endMs = samples.at(-1)?.atMs ?? 0;
  const [at10 = null, at50 = null, at100 = null] = [0.1, 0.5, 1].map((share) => findNearest(points, share * endMs));
  const highest = findQuantile(
    points.map(({ value }) => value),
    1,
  );
  const slopes = { within: computeSlopeWithin(points), across: computeSlopeAcross(points) };
  const known = { process, of, lives: groupLives(points).length, at10, at50, at100, highest, ...slopes };
  return { ...known, flat: isFlat(known) };
};

export const measureGrowths = (samples: readonly Sample[]): Growth[] =>
  (['memory, MB', 'descriptors'] as const).flatMap((of) =>
    EVERY_PROCESS.map((process) => measureGrowth(samples, process, of)).filter(({ lives }) => lives > 0),
  );

const HEAD = ['process', 'of', 'lives', '10 %', '50 %', '100 %', 'highest', 'an hour within', 'life to life', 'flat'];

export const renderGrowths = (growths: readonly Growth[]): string => {
  const whole = (value: number | null): string => (value === null ? '-' : Math.round(value).toLocaleString('en-US'));
  const signed = (slope: Slope | null): string =>
    slope === null ? '-' : `${slope.perHour < 0 ? '' : '+'}${slope.perHour.toFixed(1)} ± ${slope.error.toFixed(1)}`;
  const rows = growths.map(({ process, of, lives, at10, at50, at100, highest, within, across, flat }) => [
    ...[process, of, String(lives), whole(at10), whole(at50), whole(at100), whole(highest)],
    ...[signed(within), signed(across), flat === null ? '?' : flat ? 'yes' : 'NO'],
  ]);
  return renderColumns(HEAD, rows, new Set([2, 3, 4, 5, 6, 7, 8]));
};

const findMost = (samples: readonly Sample[], of: (sample: Sample) => number): number | null =>
  findQuantile(samples.map(of), 1);

const toLagFigures = ({ samples }: Load): Figure[] => {
  const known = samples.flatMap(({ atMs, lag }) => (lag === null ? [] : [{ atMs, ...lag }]));
  const third = Math.ceil(known.length / 3);
  const usual = (part: typeof known): number | null =>
    findQuantile(
      part.map(({ usualMs }) => usualMs),
      0.5,
    );
  const points = known.map(({ atMs, usualMs }) => ({ atMs, life: 0, value: usualMs }));
  return [
    makeFigure({
      name: 'task lag, highest',
      unit: 'ms',
      measured: findQuantile(
        known.map(({ highestMs }) => highestMs),
        1,
      ),
      note: 'kills of the processors included',
    }),
    makeFigure({ name: 'task lag, usual in the first third', unit: 'ms', measured: usual(known.slice(0, third)) }),
    makeFigure({ name: 'task lag, usual in the last third', unit: 'ms', measured: usual(known.slice(-third)) }),
    makeFigure({
      name: 'drift of the usual lag',
      unit: 'ms/h',
      measured: computeSlopeWithin(points)?.perHour ?? null,
      aim: makeUpperAim(100),
      note: 'the first ten minutes, or half of the time, left out',
    }),
    makeFigure({
      name: 'rows waiting for the sink, highest',
      unit: '',
      measured: findMost(samples, ({ totals }) => totals.published - totals.written),
    }),
    makeFigure({
      name: 'QuestDB: transactions waiting, highest',
      unit: '',
      measured: findMost(samples, ({ tables }) => tables.waiting),
    }),
    makeFigure({
      name: 'QuestDB: suspended tables, most',
      unit: '',
      measured: findMost(samples, ({ tables }) => tables.suspended.length),
      aim: makeUpperAim(1),
      note: [...new Set(samples.flatMap(({ tables }) => tables.suspended))].join(', '),
    }),
  ];
};

const toKillFigures = ({ kills }: Load): Figure[] =>
  VICTIMS.flatMap((victim) => {
    const back = kills.filter((kill) => kill.victim === victim).map(({ backMs }) => backMs);
    if (back.length === 0) return [];
    const known = back.filter((ms) => ms !== null).map((ms) => ms / 1_000);
    const missing = back.length - known.length;
    return [
      makeFigure({
        name: `${victim}: kill -9 to ready`,
        unit: 's',
        measured: findQuantile(known, 0.5),
        spread: computeSpread(known),
        note: `${back.length} kills${missing === 0 ? '' : `, ${missing} NOT BACK WITHIN A MINUTE`}`,
      }),
    ];
  });

const toAnswerFigures = ({ answers }: Load): Figure[] => [
  makeFigure({
    name: 'snapshots of every listing, one a second: p50',
    unit: 'ms',
    measured: findQuantile(answers.answeredMs, 0.5),
  }),
  makeFigure({
    name: 'snapshots of every listing, one a second: p99',
    unit: 'ms',
    measured: findQuantile(answers.answeredMs, 0.99),
    note: `${answers.answeredMs.length} answered, ${answers.failed} not (the API is killed too)`,
  }),
];

const toRateFigures = ({ samples, rest }: Load, asked: number): Figure[] => {
  const [first, last] = [samples[0], samples.at(-1)];
  const seconds = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 1_000;
  const per = (of: (sample: Sample) => number): number | null =>
    first === undefined || last === undefined || seconds === 0 ? null : (of(last) - of(first)) / seconds;
  return [
    makeFigure({
      name: 'frames sent',
      unit: '/s',
      measured: per(({ totals }) => totals.sent),
      limit: asked,
      limitIs: 'the rate asked for',
    }),
    makeFigure({
      name: 'raw records written',
      unit: '/s',
      measured: per(({ totals }) => totals.collected),
      note: 'ticks included',
    }),
    makeFigure({ name: 'raw records applied', unit: '/s', measured: per(({ totals }) => totals.applied) }),
    makeFigure({
      name: 'rows published',
      unit: '/s',
      measured: per(({ totals }) => totals.published),
      note: `${rest.totals.published.toLocaleString('en-US')} in all, ${rest.totals.written.toLocaleString('en-US')} written when the load had ended`,
    }),
    makeFigure({ name: 'dead letters', unit: '', measured: rest.totals.deadLetters, aim: makeUpperAim(1) }),
  ];
};

const toFrameFigures = ({ frames }: Aftermath): Figure[] => [
  makeFigure({ name: 'frames sent, all', unit: '', measured: frames.sent, note: `${frames.connections} connections` }),
  makeFigure({
    name: 'frames in raw once',
    unit: '',
    measured: frames.stored,
    note: `${frames.repeats} written again, dropped by seq`,
  }),
  makeFigure({
    name: 'frames inside recorded losses',
    unit: '',
    measured: frames.lost,
    note: `the first ${frames.earliestLostMs.toFixed(0)} ms before its loss`,
  }),
  makeFigure({
    name: 'frames unaccounted for',
    unit: '',
    measured: frames.sent - frames.stored - frames.lost,
    aim: makeUpperAim(1),
    note: frames.unaccounted.join('; '),
  }),
];

/** Tables whose replay has other rows, or none. */
const listUnlike = ({ live, replayed }: Aftermath): readonly string[] =>
  Object.entries(live ?? {})
    .filter(([table, hash]) => replayed?.[table]?.sha256 !== hash.sha256 || replayed[table].rows !== hash.rows)
    .map(([table, hash]) => `${table} ${hash.rows} rows, replayed ${replayed?.[table]?.rows ?? 0}`);

const toEndFigure = ({ live }: Aftermath): Figure => {
  const tables = Object.values(live ?? {});
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return makeFigure({
    name: 'raw records not applied, or rows not written, at the end',
    unit: '',
    measured: live === null ? null : 0,
    aim: makeUpperAim(1),
    note: live === null ? 'THE END WAS NOT REACHED' : `${rows.toLocaleString('en-US')} rows in ${tables.length} tables`,
  });
};

const toReplayFigure = (aftermath: Aftermath): Figure => {
  const found = aftermath.replayed === null ? null : listUnlike(aftermath);
  return makeFigure({
    name: 'tables unlike those of a replay of the log',
    unit: '',
    measured: found?.length ?? null,
    aim: makeUpperAim(1),
    note: found?.join('; ') ?? 'NO REPLAY CAME TO ITS END',
  });
};

export const toSoakFigures = (
  load: Load,
  aftermath: Aftermath,
  asked: { readonly rate: number; readonly replay: boolean },
): Figure[] => [
  ...toRateFigures(load, asked.rate),
  ...toLagFigures(load),
  ...toKillFigures(load),
  ...toAnswerFigures(load),
  ...toFrameFigures(aftermath),
  toEndFigure(aftermath),
  ...(asked.replay ? [toReplayFigure(aftermath)] : []),
];
