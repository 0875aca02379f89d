// Latency of each hop of a reading: venue's stamp, received, recorded, readable on `live`, served by the API.
import { setTimeout as pause } from 'node:timers/promises';
import { toBucketEnd } from '../../../../processors/task/books.ts';
import { codecs } from '../../../../schemas/avro/codec.ts';
import { parseInstant } from '../../../../schemas/instants.ts';
import type { Micros } from '../../../../schemas/records.ts';
import type { Reading } from '../../../../schemas/topics.ts';
import { nameTopics } from '../../../../schemas/topics.ts';
import { readPartitions } from '../../../runtime/kafka/kafka.ts';
import { createClock } from '../../../runtime/time/clock.ts';
import type { ApiClient } from '../instruments/api-client.ts';
import { type Figure, findQuantile, makeFigure, makeUpperAim } from '../instruments/figures.ts';
import { runRounds } from '../instruments/rounds.ts';
import { type Run, VENUE } from '../run.ts';
import { isConfirmation } from './confirmation.ts';

type HopsSpec = {
  readonly rate: number;
  /** Per round. */
  readonly seconds: number;
  readonly rounds: number;
  readonly client: ApiClient;
};

type Hop = 'received' | 'recorded' | 'sent' | 'live' | 'whole';
type Samples = Record<Hop, number[]>;
const makeNoSamples = (): Samples => ({ received: [], recorded: [], sent: [], live: [], whole: [] });

/** Their mark and index arrive in two streams, and the reading has the older stamp, up to a second. */
const JOINED = /_PERP$/;

/** One record of this many is decoded: decoding all would add load to the measurement. */
const READ_ONE_OF = 8;
const SERVED_LISTINGS = 20;

type Times = { readonly sent: Micros; readonly arrived: Micros };

/** Only the first reading with a stamp measures its latency. */
const addReading = (samples: Samples, reading: Reading, { sent, arrived }: Times): void => {
  const { venue_ts: venueTs, received_at: received, recorded_at: recorded } = reading;
  if (venueTs === null || isConfirmation(venueTs, received)) return;
  samples.received.push((received - venueTs) / 1_000);
  samples.recorded.push((recorded - received) / 1_000);
  samples.sent.push((sent - recorded) / 1_000);
  samples.live.push((arrived - sent) / 1_000);
  samples.whole.push((arrived - venueTs) / 1_000);
};

/** Readings as a consumer of `live` receives them, by layer. */
const followLive = async (run: Run, byLayer: ReadonlyMap<string, Samples>) => {
  const { nowMicros } = createClock();
  const newest = new Map<string, number | null>();
  return readPartitions(run.handle, {
    topic: nameTopics().live(VENUE),
    from: () => 'latest',
    onBatch: (_partition, messages) => {
      const arrived = nowMicros();
      for (const { offset, value, timestampMs } of messages) {
        const entry = value === null || offset % READ_ONE_OF !== 0 ? null : codecs.live.decode(value);
        const reading = entry?.reading ?? null;
        const samples = reading === null ? undefined : byLayer.get(reading.layer);
        if (reading?.valid !== true || samples === undefined || JOINED.test(entry?.symbol ?? '')) continue;
        const key = `${reading.layer} ${entry?.symbol}`;
        if (newest.get(key) !== reading.venue_ts) addReading(samples, reading, { sent: timestampMs * 1_000, arrived });
        newest.set(key, reading.venue_ts);
      }
    },
  });
};

/** Layers that carry every frame of a listing once: `funding` comes with marks, `stats` with tickers, `book_bands` with books. */
const SERVED_LAYERS = ['mark', 'ticker', 'book'] as const;

type Update = {
  readonly venue_symbol: string;
  readonly layer: (typeof SERVED_LAYERS)[number];
  readonly change: 'value' | 'status' | 'both';
  readonly state: { readonly venue_ts?: string | null; readonly received_at?: string };
};

/** Detects the second reading of a book's bucket: the conflated tail, which waits for the bucket's end by design. */
const createTailDetector = (): ((update: Update) => boolean) => {
  const buckets = new Map<string, number>();
  return ({ venue_symbol: symbol, layer, state }) => {
    if (layer !== 'book') return false;
    const bucket = toBucketEnd(parseInstant(state.received_at ?? '') ?? 0);
    const before = buckets.get(symbol);
    buckets.set(symbol, bucket);
    return bucket === before;
  };
};

/** Updates as a client of the stream receives them, from the venue's stamp on: polling snapshots would be a load of its own. */
const followServed = async (client: ApiClient, symbols: readonly string[]) => {
  const { nowMicros } = createClock();
  const isTail = createTailDetector();
  const delays: { readonly layer: string; readonly ms: number }[] = [];
  const query = {
    layers: SERVED_LAYERS.join(','),
    where: `symbol in (${symbols.map((symbol) => `"${symbol}"`).join(', ')})`,
  };
  const stop = await client.stream(query, (event, data) => {
    if (event !== 'update') return;
    const arrived = nowMicros();
    const update = JSON.parse(data) as Update;
    const [stamp, received] = [update.state.venue_ts, update.state.received_at].map((text) => parseInstant(text ?? ''));
    if (update.change === 'status' || isTail(update) || stamp == null || received == null) return;
    if (isConfirmation(stamp, received)) return;
    delays.push({ layer: update.layer, ms: (arrived - stamp) / 1_000 });
  });
  return { delays, stop };
};

const HOPS: readonly (readonly [Hop, string])[] = [
  ['received', "venue's stamp to received_at"],
  ['recorded', 'received_at to recorded_at'],
  ['sent', 'recorded_at to sent by the task'],
  ['live', 'sent by the task to readable on live'],
  ['whole', "venue's stamp to readable on live"],
];

const NOTES: Readonly<Record<string, string>> = {
  mark: 'all listings step at once, each second',
  book: '100 ms conflation: the first change of a bucket at once, the last at its end',
};

const toFigures = (layer: string, samples: Samples, rate: number): Figure[] =>
  HOPS.flatMap(([hop, words]) =>
    [0.5, 0.99].map((q) =>
      makeFigure({
        name: `at ${rate}/s: ${layer}, ${words} p${q * 100}`,
        unit: 'ms',
        measured: findQuantile(samples[hop], q),
        note: hop === 'whole' ? `${samples[hop].length} readings; ${NOTES[layer] ?? ''}` : '',
      }),
    ),
  );

const measureRound = async (
  run: Run,
  { rate, seconds, client }: HopsSpec,
  symbols: readonly string[],
): Promise<Figure[]> => {
  const byLayer = new Map(['mark', 'book'].map((layer) => [layer, makeNoSamples()]));
  const reader = await followLive(run, byLayer);
  const served = await followServed(client, symbols);
  await pause(seconds * 1_000);
  served.stop();
  await reader.stop();
  const all = served.delays.map(({ ms }) => ms);
  const marks = served.delays.flatMap(({ layer, ms }) => (layer === 'mark' ? [ms] : []));
  const note = `at ${rate}/s; ${all.length} of marks, tickers and books (their conflated tails aside) of ${symbols.length} listings`;
  const servedAt = `at ${rate}/s: venue frame to served`;
  return [
    ...[...byLayer].flatMap(([layer, samples]) => toFigures(layer, samples, rate)),
    makeFigure({ name: `${servedAt} p50`, unit: 'ms', measured: findQuantile(all, 0.5), aim: makeUpperAim(20), note }),
    makeFigure({ name: `${servedAt} p99`, unit: 'ms', measured: findQuantile(all, 0.99), aim: makeUpperAim(100) }),
    makeFigure({
      name: `${servedAt}, marks alone p50`,
      unit: 'ms',
      measured: findQuantile(marks, 0.5),
      note: NOTES['mark'] ?? '',
    }),
    makeFigure({ name: `${servedAt}, marks alone p99`, unit: 'ms', measured: findQuantile(marks, 0.99) }),
  ];
};

export const measureHops = async (run: Run, spec: HopsSpec): Promise<Figure[]> => {
  await run.setRate(spec.rate);
  await pause(2_000);
  const known = (await spec.client.symbols()).filter((symbol) => !JOINED.test(symbol));
  // Neighbours arrive at the same moment of a second.
  const apart = Math.max(1, Math.floor(known.length / SERVED_LISTINGS));
  const symbols = known.filter((_, i) => i % apart === 0).slice(0, SERVED_LISTINGS);
  return runRounds(spec.rounds, () => measureRound(run, spec, symbols));
};
