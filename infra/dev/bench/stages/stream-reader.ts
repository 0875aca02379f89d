// A thread that holds many streams open and reads them as cheaply as possible: counts events, and times one in many from the venue's stamp.
import { request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { parseInstant } from '../../../../schemas/instants.ts';
import { isConfirmation } from './confirmation.ts';

export type ReaderData = {
  readonly baseUrl: string;
  /** One stream each: its key and its query. */
  readonly streams: readonly { readonly key: string; readonly query: string }[];
};
/** Since the previous report. */
export type ReaderReport = {
  readonly ready: number;
  readonly refused: string | null;
  readonly events: number;
  readonly bytes: number;
  readonly chunks: number;
  readonly delaysMs: readonly number[];
};

const { baseUrl, streams } = workerData as ReaderData;
/** One chunk of this many is parsed. */
const TIMED_CHUNKS = 50;
const STAMPS = /"change":"(?:value|both)".*?"venue_ts":"([^"]+)","received_at":"([^"]+)"/;
const BLANK_LINE = Buffer.from('\n\n');
const READY = Buffer.from('event: ready\n');

let [ready, events, bytes, chunks] = [0, 0, 0, 0];
let refused: string | null = null;
let delaysMs: number[] = [];

const countFrames = (chunk: Buffer): number => {
  let count = 0;
  for (let at = chunk.indexOf(BLANK_LINE); at !== -1; at = chunk.indexOf(BLANK_LINE, at + 2)) count += 1;
  return count;
};

const open = ({ key, query }: ReaderData['streams'][number]): void => {
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' };
  const call = request(`${baseUrl}/v2/stream?${query}`, { headers, agent: false }, (answer) => {
    let isReady = false;
    answer.on('data', (chunk: Buffer) => {
      if (answer.statusCode !== 200) refused = chunk.toString();
      if (!isReady && chunk.includes(READY)) {
        isReady = true;
        ready += 1;
      }
      events += countFrames(chunk);
      bytes += chunk.length;
      chunks += 1;
      if (chunks % TIMED_CHUNKS !== 0) return;
      const [, stamp = '', received = ''] = STAMPS.exec(chunk.toString('latin1', 0, 4_096)) ?? [];
      const [stampedAt, receivedAt] = [parseInstant(stamp), parseInstant(received)];
      if (stampedAt === null || receivedAt === null || isConfirmation(stampedAt, receivedAt)) return;
      delaysMs.push(Date.now() - stampedAt / 1_000);
    });
    answer.on('error', () => undefined);
  });
  call.on('error', (error) => {
    refused = error.message;
  });
  call.end();
};

parentPort?.on('message', () => {
  const report: ReaderReport = { ready, refused, events, bytes, chunks, delaysMs };
  parentPort?.postMessage(report);
  [events, bytes, chunks, delaysMs] = [0, 0, 0, []];
});
for (const stream of streams) open(stream);
