// Latency of each hop of a reading: venue's stamp, received, recorded, readable on `live`, served by the API.
import { setTimeout as pause } from 'node:timers/promises';
import { codecs } from '../../../schemas/avro/codec.ts';
import { parseInstant } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Reading } from '../../../schemas/topics.ts';
import { topics } from '../../../schemas/topics.ts';
import { createClock } from '../../runtime/clock.ts';
import { readPartitions } from '../../runtime/kafka.ts';
import type { ApiClient } from './api-client.ts';
import { below, type Figure, figureOf, quantile } from './figures.ts';
import { inRounds } from './rounds.ts';
import { type Run, VENUE } from './run.ts';

export type HopsSpec = {
  readonly rate: number;
  /** Of each round. */
  readonly seconds: number;
  readonly rounds: number;
  readonly client: ApiClient;
};

type Hop = 'received' | 'recorded' | 'sent' | 'live' | 'whole';
type Samples = Record<Hop, number[]>;
const noSamples = (): Samples => ({ received: [], recorded: [], sent: [], live: [], whole: [] });

/** Their mark and index come in two streams, and the reading bears the older stamp, up to a second. */
const JOINED = /_PERP$/;

const POLL_PAUSE_MS = 3;
const POLLED_LISTINGS = 20;

type Times = { readonly sent: Micros; readonly arrived: Micros };

/** Only the first reading with a stamp tells its way. */
const addReading = (samples: Samples, reading: Reading, { sent, arrived }: Times): void => {
  const { venue_ts: venueTs, received_at: received, recorded_at: recorded } = reading;
  if (venueTs === null) return;
  samples.received.push((received - venueTs) / 1_000);
  samples.recorded.push((recorded - received) / 1_000);
  samples.sent.push((sent - recorded) / 1_000);
  samples.live.push((arrived - sent) / 1_000);
  samples.whole.push((arrived - venueTs) / 1_000);
};

/** Readings as a consumer of `live` gets them, by layer. */
const followLive = async (run: Run, byLayer: ReadonlyMap<string, Samples>) => {
  const { nowMicros } = createClock();
  const newest = new Map<string, number | null>();
  return readPartitions(run.handle, {
    topic: topics().live(VENUE),
    from: () => 'latest',
    onBatch: (_partition, messages) => {
      const arrived = nowMicros();
      for (const { value, timestampMs } of messages) {
        const entry = value === null ? null : codecs.live.decode(value);
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

type Item = {
  readonly venue_symbol: string;
  readonly layers: { readonly mark?: { readonly venue_ts: string | null } };
};

/** Asks again and again: a new stamp in an answer is as old as the poll was late, so this errs on the long side. */
const pollServed = async (client: ApiClient, symbols: readonly string[], untilMs: number): Promise<number[]> => {
  const seen = new Map<string, string>();
  const delays: number[] = [];
  const body = { where: { symbol: symbols }, layers: ['mark'] };
  while (performance.now() < untilMs) {
    const { text } = await client.post('/v2/snapshots', body);
    const atMs = Date.now();
    for (const { venue_symbol: symbol, layers } of (JSON.parse(text) as { items: readonly Item[] }).items) {
      const stamp = layers.mark?.venue_ts ?? null;
      const micros = stamp === null ? null : parseInstant(stamp);
      if (stamp === null || micros === null || seen.get(symbol) === stamp) continue;
      if (seen.has(symbol)) delays.push(atMs - micros / 1_000);
      seen.set(symbol, stamp);
    }
    await pause(POLL_PAUSE_MS);
  }
  return delays;
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

const figuresOf = (layer: string, samples: Samples, rate: number): Figure[] =>
  HOPS.flatMap(([hop, words]) =>
    [0.5, 0.99].map((q) =>
      figureOf(`${layer}: ${words} p${q * 100}`, 'ms', quantile(samples[hop], q), {
        note: hop === 'whole' ? `at ${rate}/s; ${samples[hop].length} readings; ${NOTES[layer] ?? ''}` : '',
      }),
    ),
  );

const measureRound = async (
  run: Run,
  { rate, seconds, client }: HopsSpec,
  symbols: readonly string[],
): Promise<Figure[]> => {
  const byLayer = new Map(['mark', 'book'].map((layer) => [layer, noSamples()]));
  const reader = await followLive(run, byLayer);
  const served = await pollServed(client, symbols, performance.now() + seconds * 1_000);
  await reader.stop();
  const note = `at ${rate}/s; ${served.length} readings of ${symbols.length} listings polled, the poll's own time included`;
  return [
    ...[...byLayer].flatMap(([layer, samples]) => figuresOf(layer, samples, rate)),
    figureOf("mark: venue's stamp to served p50", 'ms', quantile(served, 0.5), { aim: below(20), note }),
    figureOf("mark: venue's stamp to served p99", 'ms', quantile(served, 0.99), { aim: below(100) }),
  ];
};

export const measureHops = async (run: Run, spec: HopsSpec): Promise<Figure[]> => {
  await run.setRate(spec.rate);
  await pause(2_000);
  const symbols = (await spec.client.symbols()).filter((symbol) => !JOINED.test(symbol)).slice(0, POLLED_LISTINGS);
  return inRounds(spec.rounds, () => measureRound(run, spec, symbols));
};
