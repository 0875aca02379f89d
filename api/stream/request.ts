// GET /v2/stream: the declaration of its input, the selection of a valid request, and its output format (ST-01, ST-08).
import { createHash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { type ApiError, findNearest } from '../../schemas/errors.ts';
import type { NumberFormat } from '../../schemas/json.ts';
import { type ReadingLayer, ROW_STREAMS, type RowLayer } from '../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import { refuseOutside, type ScopeChoice, toNarrowing } from '../access/scope.ts';
import { findLayer, hasLayer, LAYER_NAMES } from '../contract/layer-names.ts';
import {
  IncludeSynthetic,
  makeDurationInput,
  makeUnitsInput,
  NumberFormatParameter,
  SCOPE_CODES,
  WHERE_CODES,
} from '../contract/parameters.ts';
import type { Plan } from '../contract/plans.ts';
import { throwAll } from '../contract/refusals.ts';
import { clip } from '../contract/sent-text.ts';
import { TIMEFRAMES, type Timeframe } from '../language/limits.ts';
import { type Bounds, findFreshnessFaults, findFreshnessLimits, makeBounds } from '../live/bounds.ts';
import type { LiveListing, Selected } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { collectErrors, findListingLimit, readNames } from '../operations/listing-input.ts';
import type { InputContext, ReadableEndpoint } from '../operations/operation.ts';
import { findTimeframeFaults, findTimeframeShapeFaults, readTimeframe } from '../operations/timeframe-input.ts';
import { findDirectory } from '../selection/directory.ts';
import { type Names, type Narrowing, selectListings } from '../selection/resolve.ts';
import events from './example.json' with { type: 'json' };

const DEFAULT_LAYERS = READING_LAYERS.filter((layer) => LAYERS[layer].isStreamedUnasked);
const OTHER_LAYERS = READING_LAYERS.filter((layer) => !LAYERS[layer].isStreamedUnasked);
/** Layers of rows, each row published once when it is received, ascending. */
const ROW_LAYERS = [...ROW_STREAMS.keys()].sort();
/** A collection and one of it name the same (L-01). */
const ROW_NAMES: ReadonlyMap<string, RowLayer> = new Map(
  [...ROW_STREAMS].flatMap(([streamed, { name, aliases }]) =>
    [streamed, name, ...aliases].map((alias) => [alias, streamed] as const),
  ),
);
const STREAMED: readonly string[] = [
  ...[...DEFAULT_LAYERS, ...OTHER_LAYERS].map((layer) => LAYERS[layer].recordName),
  ...ROW_LAYERS,
];

/** Every name and alias, as alternatives of a pattern. */
const NAMES = [...LAYER_NAMES, ...ROW_NAMES.keys()].join('|');

const Input = Type.Object(
  {
    where: Type.Optional(
      Type.String({
        description: 'Selection of listings as text, such as `base = BTC and quote = USDT`. Default: all listings.',
      }),
    ),
    layers: Type.Optional(
      Type.String({
        pattern: `^(${NAMES})(,(${NAMES}))*$`,
        description: `Layers separated by commas, of ${STREAMED.join(', ')}. Default: the first six that the plan has.`,
      }),
    ),
    units: makeUnitsInput(
      'Units of quantities: as published (default), base asset or quote currency. A quantity is converted with the mark that is present when its event is sent; a newer mark sends no event of other layers. Prices and rates are never converted.',
    ),
    number_format: NumberFormatParameter,
    include_synthetic: IncludeSynthetic,
    freshness: Type.Optional(
      makeDurationInput('Freshness bound of every layer, such as `60s`, from 1s to 604800s.', '60s'),
    ),
    allow_stale: Type.Optional(
      Type.Boolean({ description: 'Whether the numbers of stale readings are sent under `withheld`. Default false.' }),
    ),
    depth: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'Levels of `book` per side, reduced to the limit of the plan. Default 0: the top of the book only.',
      }),
    ),
    timeframe: Type.Optional(
      makeDurationInput(`Timeframe of \`candles\`, one of ${TIMEFRAMES.join(', ')}. Default 1m.`, '1h'),
    ),
    snapshot: Type.Optional(
      Type.Boolean({ description: 'Whether the stream begins with a snapshot of each reading. Default true.' }),
    ),
    rules: Type.Optional(
      Type.Boolean({
        description:
          'Whether `rule` events are sent: first the state of each rule of the account, then every move. Default false.',
      }),
    ),
    lastEventId: Type.Optional(
      Type.String({
        description:
          'Id to resume from, for readers that send it here and not in the header `Last-Event-ID`, such as event-source-polyfill. The header has precedence.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type StreamInput = Static<typeof Input>;

const findLayerFault = (name: string): ApiError[] => {
  if (findLayer(name) !== undefined || ROW_NAMES.has(name)) return [];
  const near = findNearest(name, STREAMED);
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Layers are ${STREAMED.join(', ')}.`;
  return [{ code: 'DQL_JSON_SCHEMA', message: `"${clip(name)}" is not a layer of the stream.`, hint, path: '/layers' }];
};

const refine = ({ layers, freshness, timeframe }: Partial<StreamInput>): ApiError[] => [
  ...findTimeframeShapeFaults(timeframe),
  ...(layers === undefined ? [] : layers.split(',').flatMap(findLayerFault)),
  ...findFreshnessFaults(freshness),
];

export const STREAM = {
  name: 'stream',
  method: 'GET',
  path: '/v2/stream',
  key: 'required',
  class: 'stream',
  price: null,
  cacheS: null,
  summary: 'Readings as they change, as server-sent events.',
  input: Input,
  output: Type.String({
    description:
      'Server-sent events. First come `hello`, one `snapshot` per listing and layer, and `ready`. Then come `update` (every change), `event` (trades, liquidations), `candle`, `listing`, `gap` (events left out), `rule` (with `rules=true`) and a `heartbeat` every 15 s. `error` and `bye` end the stream. `StreamEvent` has the shape of each. A request with the header `Last-Event-ID` resumes a stream of the last 300 s: send the id of the last event that came whole, with its blank line.',
  }),
  codes: [...WHERE_CODES, 'DQL_TIMEFRAME_UNSUPPORTED', ...SCOPE_CODES],
  example: {
    question: 'How do the mark and the funding of BTC change from now on?',
    input: { where: 'base = BTC', layers: 'mark,funding' },
    output: events.join('\n'),
  },
  refine: (input: unknown) => refine(input as Partial<StreamInput>),
  understand: (input: unknown, { live }: InputContext): Names => {
    const { timeframe, where } = input as Partial<StreamInput>;
    return collectErrors(findTimeframeFaults(timeframe), () => readNames(where, live));
  },
} as const satisfies ReadableEndpoint;

/** How states are printed: streams of one format share every text. */
export type Format = {
  readonly key: string;
  readonly units: UnitsMode;
  readonly bounds: Bounds;
  readonly allowStale: boolean;
  readonly numberFormat: NumberFormat;
  readonly depth: number;
};

/** The subject of a stream, fixed while it lives. */
export type StreamRequest = {
  readonly plan: Plan;
  readonly names: Names;
  readonly narrowing: Narrowing;
  /** In the order of their record names. */
  readonly layers: readonly ReadingLayer[];
  /** Layers of rows, ascending. */
  readonly rows: readonly RowLayer[];
  /** Timeframe of the candles, when they are requested. */
  readonly timeframe: Timeframe;
  readonly format: Format;
  readonly withSnapshots: boolean;
  /** Moves of the account's rules are sent too; they are no part of what an id resumes. */
  readonly withRules: boolean;
  /** Venues that it can ever contain, ascending. */
  readonly venues: readonly string[];
  /** Name of all of this in event ids. */
  readonly selection: string;
};

/** A plan states layers by the listing record's names (L-01): of its events the collection. */
const isInPlan = ({ layers }: Plan, name: string): boolean =>
  layers.includes(ROW_STREAMS.get(name as RowLayer)?.name ?? name);

const readRows = (asked: string | undefined): RowLayer[] => {
  const named = new Set(asked?.split(',').map((name) => ROW_NAMES.get(name)));
  return ROW_LAYERS.filter((layer) => named.has(layer));
};

const readLayers = (asked: string | undefined, plan: Plan): ReadingLayer[] => {
  const named = asked === undefined ? undefined : new Set(asked.split(',').map(findLayer));
  const layers = READING_LAYERS.filter((layer) =>
    named === undefined ? DEFAULT_LAYERS.includes(layer) && hasLayer(plan, layer) : named.has(layer),
  );
  return layers.sort((a, b) => (LAYERS[a].recordName < LAYERS[b].recordName ? -1 : 1));
};

const findLayerRefusals = (layers: readonly ReadingLayer[], rows: readonly RowLayer[], plan: Plan): ApiError[] =>
  [
    ...layers.filter((layer) => !hasLayer(plan, layer)).map((layer) => LAYERS[layer].recordName),
    ...rows.filter((layer) => !isInPlan(plan, layer)),
  ].map((name) => ({
    code: 'PLAN_LIMIT',
    message: `Layer "${name}" is not in the plan ${plan.name}.`,
    hint: `The plan has ${plan.layers.join(', ')}.`,
    path: '/layers',
  }));

const readFormat = (input: StreamInput, plan: Plan): Format => {
  const units = input.units ?? 'published';
  const numberFormat = input.number_format ?? 'json';
  const allowStale = input.allow_stale ?? false;
  const depth = Math.min(input.depth ?? 0, plan.limits.book_depth);
  const bounds = makeBounds(input.freshness);
  const key = JSON.stringify([units, numberFormat, allowStale, depth, bounds]);
  return { key, units, bounds, allowStale, numberFormat, depth };
};

const listCodes = (names: Names): unknown =>
  Object.entries(names)
    .map(([key, named]) => [key, [...new Set(named.map(({ code }) => code))].sort()])
    .sort();

const digestSelection = (parts: unknown): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 11);

/** Reads the request, within the plan. Throws ServiceError with all its faults. */
export const readRequest = (
  { input, names }: { readonly input: StreamInput; readonly names: Names },
  { live, plan, choice, at }: { live: LiveMemory; plan: Plan; choice: ScopeChoice; at: Micros },
): StreamRequest => {
  const [layers, rows] = [readLayers(input.layers, plan), readRows(input.layers)];
  const timeframe = readTimeframe(input.timeframe ?? '1m') ?? '1m';
  const served = [...live.venues()].map(({ venue }) => venue);
  const venues = names.venue === undefined ? served : [...new Set(names.venue.map(({ code }) => code))].sort();
  const format = readFormat(input, plan);
  const request: StreamRequest = {
    plan,
    names,
    narrowing: toNarrowing(choice),
    layers,
    rows,
    timeframe,
    format,
    withSnapshots: input.snapshot ?? true,
    withRules: input.rules ?? false,
    venues: choice.venues === null ? venues : venues.filter((v) => choice.venues?.includes(v)),
    selection: digestSelection([
      listCodes(names),
      // Without `known`, which changes with each new listing and selects nothing.
      { venues: choice.venues, instruments: choice.instruments },
      layers,
      rows,
      timeframe,
      format.key,
    ]),
  };
  throwAll([
    ...refuseOutside(names, plan, choice),
    ...findLayerRefusals(layers, rows, plan),
    ...findFreshnessLimits(input.freshness),
    ...findListingLimit(selectNow(request, live, at).length, plan.limits.stream_listings),
  ]);
  return request;
};

/** The listings of a stream at an instant. */
export const selectAt = ({ names, narrowing }: StreamRequest, live: LiveMemory, at: Micros): Selected[] =>
  selectListings(names, findDirectory(live), { at, narrowing });

/** The listings of a stream at present. A version is valid as soon as it is read, even if this node's clock is behind the log. */
export const selectNow = (request: StreamRequest, live: LiveMemory, now: Micros): Selected[] => {
  const findAhead = ({ versions }: LiveListing): Micros | null => {
    const writtenAt = versions.at(-1)?.written_at ?? now;
    return writtenAt > now ? writtenAt : null;
  };
  const ahead = findDirectory(live).listings.flatMap((listing) => {
    const at = findAhead(listing);
    return at === null ? [] : (selectOne(request, { live, listing, at }) ?? []);
  });
  return [...selectAt(request, live, now).filter(({ listing }) => findAhead(listing) === null), ...ahead];
};

/** One listing as a stream sees it at an instant: selected, with its version then, or null. */
export const selectOne = (
  { names, narrowing }: StreamRequest,
  { live, listing, at }: { live: LiveMemory; listing: LiveListing; at: Micros },
): Selected | null =>
  selectListings(names, { ...findDirectory(live), listings: [listing] }, { at, narrowing })[0] ?? null;
