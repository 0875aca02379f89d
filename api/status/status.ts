// The documents /status.json and /incidents.json: what is present now, service levels as measured, presence by day, incidents (OP-01, OP-02).
import { formatInstant, formatInstantOrNull } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, writeJson } from '../../schemas/json.ts';
import { READINGS } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory, LiveVenue } from '../live/memory.ts';
import { deriveVenueState } from '../live/venue-state.ts';
import { type LayerCoverage, lookAtVenue, type ReceiptLags } from './coverage.ts';
import type { ServiceLevels } from './service-levels.ts';
import type { Quantiles } from './sliding-quantiles.ts';
import type { IncidentRow, KeptStatus, PresenceRow, StatusStore } from './status-store.ts';

type StatusDeps = {
  readonly live: LiveMemory;
  readonly nowMicros: () => Micros;
  readonly simulated: boolean;
  readonly levels: ServiceLevels;
  /** Absent: nothing of the past is known. */
  readonly store?: StatusStore;
};

type Status = {
  /** Text of /status.json; at most ten seconds old. */
  readonly document: () => Promise<string>;
  /** Text of /incidents.json. Rejects when it was never read. */
  readonly incidents: () => Promise<string>;
};

const KEPT: Micros = 10_000_000;

const formatDate = (date: Date | null): string | null => date?.toISOString() ?? null;
/** Four places are enough for a share. */
const toShare = (part: number, whole: number): JsonValue =>
  whole === 0 ? null : makeRawJson(String(Math.floor((part / whole) * 1e4) / 1e4));
const toLevel = (found: Quantiles | null): JsonValue => (found === null ? null : { p50: found.p50, p99: found.p99 });

/** Live: all of it is present; down: nothing; degraded: between. */
const judgeLayer = ({ policy, listings, present }: LayerCoverage): string => {
  if (policy !== 'on') return policy;
  if (present === 0) return 'down';
  return present < listings ? 'degraded' : 'live';
};

type Days = ReadonlyMap<string, readonly PresenceRow[]>;

/** Its name in listing records, incidents and presence (L-01). */
const RECORD_NAMES: ReadonlyMap<string, string> = new Map(READINGS.map(({ name, recordName }) => [name, recordName]));

const makeLayerStatus = (
  coverage: LayerCoverage,
  venue: string,
  { incidents, days, at }: { readonly incidents: readonly IncidentRow[]; readonly days: Days; readonly at: Micros },
): JsonValue => {
  const { layer, listings, present, lastReceived, receiptLag } = coverage;
  const name = RECORD_NAMES.get(layer) ?? layer;
  return {
    layer: name,
    state: judgeLayer(coverage),
    listings,
    present,
    present_share: toShare(present, listings),
    last_received: formatInstantOrNull(lastReceived),
    receipt_lag_ms: toLevel(receiptLag.read(at / 1_000)),
    open_incidents: incidents.filter(({ layers }) => layers?.includes(name)).map(({ id }) => id),
    days: (days.get(`${venue} ${name}`) ?? []).map(({ day, presentS, missingS }) => ({
      day,
      present_share: toShare(presentS, presentS + missingS),
    })),
  };
};

type Kept = { readonly open: readonly IncidentRow[]; readonly days: Days };

const makeVenueStatus = (
  { live, levels }: StatusDeps,
  venue: LiveVenue,
  { coverage, open, days, at }: Kept & { readonly coverage: readonly LayerCoverage[]; readonly at: Micros },
): JsonValue => {
  const { state, since } = deriveVenueState(live, venue, at);
  const watermark = live.watermark(venue.venue);
  const incidents = open.filter((incident) => incident.venue === venue.venue);
  return {
    venue: venue.venue,
    name: venue.capabilities.at(-1)?.name ?? venue.venue,
    state,
    state_since: formatInstantOrNull(since),
    lag_ms: watermark === null ? null : Math.max(0, Math.floor((at - watermark) / 1_000)),
    pipeline_lag_ms: toLevel(levels.pipelineLag(venue.venue)),
    open_incidents: incidents.map(({ id }) => id),
    layers: coverage.map((layer) => makeLayerStatus(layer, venue.venue, { incidents, days, at })),
  };
};

const makeServiceStatus = ({ levels }: StatusDeps, kept: KeptStatus | null): JsonValue => ({
  window: '1h',
  answers_ms: Object.fromEntries(
    [...levels.answers()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([route, { p50, p99, count }]) => [route, { p50, p99, count }]),
  ),
  stream_delivery_ms: toLevel(levels.delivery()),
  settled_recheck_failures: kept?.recheckFailures ?? null,
});

const makeIncidentRecord = ({ id, kind, venue, layers, from, to, gapCause, state, note }: IncidentRow): JsonValue => ({
  id,
  kind,
  venue,
  layers: layers === null ? [] : [...layers],
  from: formatDate(from),
  to: formatDate(to),
  gap_cause: gapCause,
  state,
  note,
});

const makeDocument = async (deps: StatusDeps, lags: ReceiptLags): Promise<string> => {
  const at = deps.nowMicros();
  const kept = (await deps.store?.read()) ?? null;
  const open = (kept?.incidents ?? []).filter(({ state }) => state === 'open');
  const days = Map.groupBy(kept?.presence ?? [], ({ venue, layer }) => `${venue} ${layer}`);
  const venues: JsonValue[] = [];
  // What comes in during the look is seen, and a collector's clock may be ahead: nothing is received after the evaluation.
  let evaluatedAt = at;
  for (const venue of deps.live.venues()) {
    const coverage = await lookAtVenue(deps.live, venue, { lags, at });
    venues.push(makeVenueStatus(deps, venue, { coverage, open, days, at }));
    for (const { lastReceived } of coverage) evaluatedAt = Math.max(evaluatedAt, lastReceived ?? evaluatedAt);
  }
  return writeJson({
    evaluated_at: formatInstant(evaluatedAt),
    simulated: deps.simulated,
    venues,
    service: makeServiceStatus(deps, kept),
    open_incidents: open.map(makeIncidentRecord),
    anchored: kept?.anchored ?? null,
    history_read_at: formatDate(kept?.readAt ?? null),
  });
};

export const createStatus = (deps: StatusDeps): Status => {
  const lags: ReceiptLags = new Map();
  let made: { readonly at: Micros; readonly text: Promise<string> } | null = null;
  return {
    document: () => {
      const at = deps.nowMicros();
      if (made === null || at - made.at >= KEPT) made = { at, text: makeDocument(deps, lags) };
      return made.text;
    },
    incidents: async () => {
      const kept = (await deps.store?.read()) ?? null;
      if (kept === null) throw new Error('incidents were never read');
      return writeJson({ read_at: formatDate(kept.readAt), items: kept.incidents.map(makeIncidentRecord) });
    },
  };
};
