// The request of a history answer: its shape, the instants that it selects, and the parameters that a mode excludes (H-02 to H-04).
import Type, { type Static } from 'typebox';
import { parseDuration } from '../../schemas/durations.ts';
import { type ApiError, makeShapeFault } from '../../schemas/errors.ts';
import { formatInstant, parseInstant } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import { ENDPOINT_LIMITS } from '../contract/endpoint-limits.ts';
import { findLayerFault, Layers } from '../contract/layer-names.ts';
import {
  AllowStale,
  IncludeSynthetic,
  makeInstantInput,
  NumberFormatParameter,
  Units,
} from '../contract/parameters.ts';
import { Where } from '../language/where-object.ts';
import { Freshness, findFreshnessFaults } from '../live/bounds.ts';
import type { RequestedTimes } from './gather.ts';
import { findInstantFaults, findWindowFaults } from './past.ts';

const { history_rows_per_layer: PER_LAYER, history_raw_rows: RAW_ROWS } = ENDPOINT_LIMITS;
const INTERVALS = ['10s', '30s', '1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d'] as const;

export const Input = Type.Object(
  {
    where: Type.Optional(Where),
    units: Units,
    number_format: NumberFormatParameter,
    include_synthetic: IncludeSynthetic,
    layers: Layers,
    interval: Type.Optional(
      Type.Enum([...INTERVALS], {
        description: `Mode: one row per period, with the last reading received in it; at most ${PER_LAYER} rows per listing and layer. Needs \`from\` and \`to\`.`,
      }),
    ),
    at: Type.Optional(
      Type.Array(makeInstantInput('Instant of a row.'), {
        minItems: 1,
        description:
          'Mode: one row per instant, strictly ascending, with the same limit of rows. Each has the newest window that ended by it, so choose full minutes: between them a reading with a short horizon is stale.',
      }),
    ),
    as_of: Type.Optional(
      makeInstantInput('Mode: one row at this instant, best a full minute; short for `at` with one instant.'),
    ),
    raw: Type.Optional(
      Type.Boolean({
        description: `Mode when true: every stored row; at most ${RAW_ROWS} rows an answer. Needs \`from\` and \`to\`, and the plan Standard or above.`,
      }),
    ),
    from: Type.Optional(
      makeInstantInput(
        'Start of the window. With `interval` it is moved up to a boundary of the periods and is exclusive; with `raw` it is inclusive.',
      ),
    ),
    to: Type.Optional(
      makeInstantInput(
        'End of the window. With `interval` it is moved down to a boundary of the periods and is inclusive; with `raw` it is exclusive. An end in the future is replaced by the current instant.',
      ),
    ),
    include_gaps: Type.Optional(
      Type.Boolean({ description: 'Whether instants without a reading are rows. Default true.' }),
    ),
    freshness: Type.Optional(Freshness),
    allow_stale: AllowStale,
  },
  { additionalProperties: false },
);
export type Input = Static<typeof Input>;

const MODES = ['interval', 'at', 'as_of', 'raw'] as const;

/** Faults of the members that select the instants (H-02, H-03). A faulty member counts as given, except "raw": false may have been meant (E-01). */
const findModeFaults = (input: Partial<Input>, spoilt: Spoilt): ApiError[] => {
  const modes = MODES.filter((name) =>
    name === 'raw' ? input.raw === true : input[name] !== undefined || spoilt.has(name),
  );
  if (modes.length === 1 || (modes.length === 0 && spoilt.has('raw'))) return [];
  const message = modes.length === 0 ? 'No mode is given.' : `"${modes.join('" and "')}" are given together.`;
  return [makeShapeFault('', message, 'Send exactly one of interval, at (or as_of), raw: true.')];
};

const findRangeFaults = (input: Partial<Input>, spoilt: Spoilt): ApiError[] => {
  const { raw, from, to } = input;
  const isGiven = (name: 'interval' | 'at' | 'as_of'): boolean => input[name] !== undefined || spoilt.has(name);
  const namesInstants = isGiven('at') || isGiven('as_of');
  const ranged = input.interval !== undefined || raw === true || (isGiven('interval') && !namesInstants);
  const bounds = [
    ['from', from],
    ['to', to],
  ] as const;
  if (!ranged) {
    if (!namesInstants || spoilt.has('interval') || spoilt.has('raw')) return [];
    return bounds.flatMap(([name, text]) =>
      text === undefined ? [] : [makeShapeFault(`/${name}`, `"${name}" does not apply to instants.`, `Omit ${name}.`)],
    );
  }
  const absent = bounds.flatMap(([name, text]) =>
    text === undefined && !spoilt.has(name)
      ? [makeShapeFault(`/${name}`, `"${name}" is missing.`, `Send ${name}.`)]
      : [],
  );
  return [...absent, ...findWindowFaults(from, to)];
};

const findOrderFaults = (at: readonly string[]): ApiError[] => {
  const instants = at.map(parseInstant);
  return instants.flatMap((now, i): ApiError[] => {
    const before = instants[i - 1] ?? null;
    if (now === null || before === null || now > before) return [];
    const message = `"${at[i]}" is not later than the instant before it.`;
    return [makeShapeFault(`/at/${i}`, message, 'Send instants ascending.')];
  });
};

/** Faults of shape that the schema cannot express. */
export const refine = (input: Partial<Input>, spoilt: Spoilt): ApiError[] => [
  ...(input.layers ?? []).flatMap(findLayerFault),
  ...findFreshnessFaults(input.freshness),
  ...findModeFaults(input, spoilt),
  ...findInstantFaults(input.from, '/from'),
  ...findInstantFaults(input.to, '/to'),
  ...findInstantFaults(input.as_of, '/as_of'),
  ...(input.at ?? []).flatMap((text, i) => findInstantFaults(text, `/at/${i}`)),
  ...findRangeFaults(input, spoilt),
  ...findOrderFaults(input.at ?? []),
];

/** The requested instants. Periods are moved inwards to boundaries and cut at now; the result may be empty (H-02, H-04). */
export const readTimes = (input: Input, evaluatedAt: Micros): RequestedTimes => {
  const texts = input.at ?? (input.as_of === undefined ? undefined : [input.as_of]);
  if (texts !== undefined) return { mode: 'at', instants: texts.map((text) => parseInstant(text) ?? 0) };
  const from = parseInstant(input.from ?? '') ?? 0;
  const to = Math.min(parseInstant(input.to ?? '') ?? 0, evaluatedAt);
  if (input.interval === undefined) return { mode: 'raw', from: Math.min(from, to), to };
  const length = (parseDuration(input.interval) ?? 0) * 1_000;
  const start = Math.ceil(from / length) * length;
  return { mode: 'interval', length, from: start, to: Math.max(start, Math.floor(to / length) * length) };
};

export const findFirstInstant = (asked: RequestedTimes): Micros =>
  asked.mode === 'at' ? (asked.instants[0] ?? 0) : asked.from;
export const findLastInstant = (asked: RequestedTimes): Micros =>
  asked.mode === 'at' ? (asked.instants.at(-1) ?? 0) : asked.to;

/** Instants in the future. */
export const findFutureFaults = ({ at = [], as_of }: Partial<Input>, evaluatedAt: Micros): ApiError[] => {
  const named = at.map((text, i) => ({ text, path: `/at/${i}` }));
  const all = as_of === undefined ? named : [...named, { text: as_of, path: '/as_of' }];
  return all.flatMap(({ text, path }): ApiError[] => {
    const instant = parseInstant(text) ?? 0;
    if (instant <= evaluatedAt) return [];
    const message = `"${formatInstant(instant)}" is in the future.`;
    return [{ code: 'DQL_AS_OF_RANGE', message, hint: `Now is ${formatInstant(evaluatedAt)}.`, path }];
  });
};
