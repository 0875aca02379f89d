// Collects a venue for a minute, maps its messages, and compares each layer with what is stated: nothing is stored or sent on.
//
//   npm run check-venues -- --venue <id>[,<id>…] [--seconds 60]
//
// Endpoints are the venue's own; VENUE_ENDPOINTS overrides them, as for the collector (simulators).
import { parseArgs } from 'node:util';
import { parseEndpoints } from '../../ingest/config.ts';
import { startCollector } from '../../ingest/feed/collector.ts';
import { createMeters } from '../../ingest/feed/meters.ts';
import type { Venue } from '../../ingest/venues/contract/venue.ts';
import { venues } from '../../ingest/venues/index.ts';
import { describeError } from '../../schemas/thrown.ts';
import type { LayerCapability } from '../../schemas/topics.ts';
import { createLog } from '../runtime/process/log.ts';
import { createMetrics } from '../runtime/process/metrics.ts';
import { isHelpAsked } from '../runtime/process/print-outcome.ts';
import { createClock } from '../runtime/time/clock.ts';
import { pauseUnlessAborted } from '../runtime/time/pause.ts';
import { type LayerSeen, VenueCheck } from './venue-check.ts';

type CheckOptions = {
  readonly venue: Venue;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly seconds: number;
  /** Ends it early. */
  readonly signal?: AbortSignal;
  /** Receives the check, which fills while it collects. */
  readonly onStart?: (check: VenueCheck) => void;
};

/** Collects for the given time, with the collector's own feed; its messages are only checked here. */
export const checkVenue = async ({ venue, endpoints, seconds, signal, onStart }: CheckOptions): Promise<VenueCheck> => {
  const check = new VenueCheck(venue);
  onStart?.(check);
  const meters = createMeters(createMetrics());
  const collector = startCollector({
    venue,
    endpoints,
    shards: 1,
    collector: 'check',
    writer: {
      write: (_shards, message) => {
        check.take(message);
        return true;
      },
      isFull: () => false,
      ready: () => Promise.resolve(),
    },
    nowMicros: createClock().nowMicros,
    meters: meters.venue(venue.id),
    random: Math.random,
    log: createLog('check-venues', 'silent'),
  });
  await pauseUnlessAborted(seconds * 1_000, signal);
  // A connection that ends because we stop is no finding about the venue.
  const lost = new Map(check.lost);
  collector.stop();
  check.lost.clear();
  for (const [why, count] of lost) check.lost.set(why, count);
  return check;
};

const computeMedian = (values: readonly number[]): number | null =>
  values.length === 0 ? null : (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null);
const formatMs = (ms: number | null): string =>
  ms === null ? '-' : ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1_000)} s`;

/** Rows of events arrive only when there are events. */
const MAY_BE_QUIET: ReadonlySet<string> = new Set(['trades', 'liquidation', 'candles']);
/** Names of records that differ from the names of their layers in capabilities. */
const RECORD_LAYERS: Readonly<Record<string, string>> = { trades: 'trade', candles: 'candle' };
/** Computed by the service from the book, not sent by a venue. */
const DERIVED: ReadonlySet<string> = new Set(['book_bands', 'venue_depth']);

const NOTHING: LayerSeen = { records: 0, symbols: new Set(), gapsMs: [], lagsMs: [] };

type Line = { readonly text: string; readonly isWrong: boolean };

const makeLayerLine = (check: VenueCheck, layer: string, { policy, cadence_ms: stated }: LayerCapability): Line => {
  const seen = check.layers.get(layer) ?? check.layers.get(RECORD_LAYERS[layer] ?? '') ?? NOTHING;
  const cadence = policy === 'on' ? (stated === null ? 'live' : formatMs(stated)) : policy;
  const isWrong = policy === 'on' && seen.records === 0 && !MAY_BE_QUIET.has(layer);
  const facts = [
    layer.padEnd(14),
    cadence.padEnd(14),
    formatMs(computeMedian(seen.gapsMs)).padStart(9),
    String(seen.records).padStart(9),
    `${seen.symbols.size}`.padStart(9),
    formatMs(computeMedian(seen.lagsMs)).padStart(10),
  ].join('  ');
  const verdict = isWrong
    ? '  NOTHING RECEIVED'
    : policy !== 'on' && seen.records > 0
      ? `  received, although ${policy}`
      : '';
  return { text: `${facts}${verdict}`, isWrong };
};

/** The least time from a stamp to its receipt: the latency of the fastest message, and the difference of the two clocks. */
const formatClock = ({ layers }: VenueCheck): string => {
  const lags = [...layers.values()].flatMap(({ lagsMs }) => lagsMs);
  const least = lags.reduce((min, lag) => Math.min(min, lag), Number.POSITIVE_INFINITY);
  if (!Number.isFinite(least)) return 'clock: no message carried a stamp';
  return least < 0
    ? `clock: the venue's is ahead of ours by ${formatMs(-least)} or more`
    : `clock: the fastest message was received ${formatMs(least)} after its timestamp, so the venue's clock is behind ours by at most that`;
};

const listDeadLetterLines = ({ deadLetters }: VenueCheck): readonly string[] =>
  [...deadLetters.values()]
    .toSorted((a, b) => b.count - a.count)
    .flatMap(({ code, message, count, example }) => [
      `  ${count} ${code}: ${message}`,
      `    ${example.replaceAll(/\p{Cc}/gu, ' ')}`,
    ]);

type Report = { readonly lines: readonly string[]; readonly isGood: boolean };

/** The findings, and whether everything stated arrived and could be read. */
export const reportCheck = ({ id, name }: Venue, check: VenueCheck, seconds: number): Report => {
  const { capability, listings, messages, bytes, opened, lost, deadLetters, unexpected } = check;
  const stated = Object.entries(capability?.layers ?? {}).filter(([layer]) => !DERIVED.has(layer));
  const layers = stated.map(([layer, facts]) => makeLayerLine(check, layer, facts));
  const refused = [...deadLetters.values()].reduce((sum, { count }) => sum + count, 0);
  const books =
    check.wholeBooks === 0 && check.breaks === 0
      ? []
      : [`books: ${check.wholeBooks} whole, ${check.breaks} sequence breaks`];
  const lines = [
    `${name} (${id}), ${seconds} s: connections ${opened}, listings ${listings.size}, messages ${messages}, ${(bytes / 1e6).toFixed(1)} MB`,
    [
      'layer'.padEnd(14),
      'stated'.padEnd(14),
      'seen'.padStart(9),
      'records'.padStart(9),
      'listings'.padStart(9),
      'lag'.padStart(10),
    ].join('  '),
    ...layers.map(({ text }) => text),
    ...(listings.size === 0
      ? ['no listings were received: their endpoint did not respond, so nothing was subscribed']
      : []),
    ...books,
    formatClock(check),
    `dead letters: ${refused === 0 ? 'none' : refused}`,
    ...listDeadLetterLines(check),
    ...[...lost].map(([why, count]) => `lost or refused: ${count} ${why}`),
    ...(unexpected.size === 0
      ? []
      : [`passed over: ${[...unexpected].map(([kind, count]) => `${count} ${kind}`).join(', ')}`]),
  ];
  return { lines, isGood: opened > 0 && listings.size > 0 && refused === 0 && layers.every(({ isWrong }) => !isWrong) };
};

const USAGE = 'usage: npm run check-venues -- --venue <id>[,<id>…] [--seconds 60]';

/** Venues are checked at the same time; the exit code is 1 when one is not as stated. */
const main = async (): Promise<number> => {
  if (isHelpAsked(process.argv)) {
    console.log(USAGE);
    return 0;
  }
  const { values } = parseArgs({ options: { venue: { type: 'string' }, seconds: { type: 'string', default: '60' } } });
  const seconds = Number(values.seconds);
  const ids = values.venue?.split(',') ?? [];
  const unknown = ids.filter((id) => !venues.has(id));
  if (ids.length === 0 || !(seconds > 0) || unknown.length > 0) {
    if (unknown.length > 0)
      console.error(`unknown: ${unknown.join(', ')}; known: ${[...venues.keys()].sort().join(', ')}`);
    console.error(USAGE);
    return 2;
  }
  const endpoints = parseEndpoints(JSON.parse(process.env['VENUE_ENDPOINTS'] || '{}'));
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const reports = await Promise.all(
    ids.flatMap((id) => {
      const venue = venues.get(id);
      if (venue === undefined) return [];
      const options = { venue, endpoints: endpoints[id] ?? {}, seconds, signal: stop.signal };
      return [checkVenue(options).then((check) => reportCheck(venue, check, seconds))];
    }),
  );
  for (const { lines } of reports) console.log(`${lines.join('\n')}\n`);
  return reports.every(({ isGood }) => isGood) ? 0 : 1;
};

// Requests that are still in flight would keep the process alive.
if (import.meta.main)
  process.exit(
    await main().catch((error: unknown) => {
      console.error(describeError(error));
      return 1;
    }),
  );
