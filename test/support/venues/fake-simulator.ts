// A simulator whose clock only moves when a test moves it, and clients of its sockets.
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../infra/dev/simulator/simulator.ts';
import type { TruthRow } from '../../../infra/dev/simulator/truth-rows.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { waitFor } from '../wait.ts';

export const START_MS = Date.UTC(2026, 10, 21, 6);
const LISTINGS = 10;

export type Fake = { readonly sim: Simulator; readonly run: (ms: number) => void; readonly nowMs: () => number };
export type Client = {
  readonly number: number;
  readonly socket: WebSocket;
  readonly frames: string[];
  readonly isClosed: () => boolean;
};

/** A simulator that `run` moves on, four milliseconds at a time. */
export async function fakeSimulator(test: Test, options: SimulatorOptions = {}): Promise<Fake> {
  let nowMs = START_MS;
  const sim = await startSimulator({
    listings: LISTINGS,
    levels: 60,
    rate: 150,
    manual: true,
    nowMs: () => nowMs,
    ...options,
  });
  test.teardown(() => sim.stop());
  const run = (ms: number): void => {
    for (const end = nowMs + ms; nowMs < end; ) {
      nowMs = Math.min(end, nowMs + 4);
      sim.advance();
    }
  };
  return { sim, run, nowMs: () => nowMs };
}

/** `path` with the venue's prefix. */
export async function connect(test: Test, sim: Simulator, path: string): Promise<Client> {
  const socket = new WebSocket(`${sim.control.replace('http', 'ws').replace('/control', '')}${path}`);
  const frames: string[] = [];
  let isClosed = false;
  socket.on('message', (data) => frames.push(data.toString()));
  socket.on('close', () => {
    isClosed = true;
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
  });
  test.teardown(() => socket.terminate());
  return { number: sim.sent.connections.length, socket, frames, isClosed: () => isClosed };
}

/** Sends a frame and waits for what comes next; answers that. */
export async function exchange(client: Client, frame: string): Promise<string> {
  const before = client.frames.length;
  client.socket.send(frame);
  await waitFor('a reply', () => client.frames.length > before);
  return client.frames[before] ?? '';
}

export const ask = async (client: Client, command: object): Promise<unknown> =>
  JSON.parse(await exchange(client, JSON.stringify(command)));

/** Every frame that the simulator reports as sent has arrived. */
export async function settle(sim: Simulator, client: Client): Promise<void> {
  const sentFrames = (): number => sim.sent.connections[client.number - 1]?.frames ?? 0;
  await waitFor('all sent frames arrived', () => client.frames.length >= sentFrames());
}

export type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T };

export async function get<T>(sim: Simulator, path: string): Promise<Answer<T>> {
  const answer = await fetch(new URL(path, sim.control));
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as T };
}

export const listTruth = (sim: Simulator, symbol: string, layer: TruthRow['layer']): readonly TruthRow[] => [
  ...sim.truth.rows({ symbol, layer }),
];

/** Phases that the collector's book goes through by the frames of a client, without repetitions. */
export const listPhases = ({ bookRule, classify, sequence }: Venue, { frames }: Client): readonly string[] => {
  let state = makeBookSync<null>();
  const phases: string[] = [];
  for (const text of frames) {
    const chain = classify(text) === 'data' ? sequence(text) : null;
    if (chain === null) continue;
    ({ state } = stepBookSync(bookRule, state, { chain, payload: null }));
    if (phases.at(-1) !== state.phase) phases.push(state.phase);
  }
  return phases;
};

/** A figure without zeros at the end of its fraction. */
export const trimZeros = (figure: string): string => (figure.includes('.') ? figure.replace(/\.?0+$/, '') : figure);
