// Latency of snapshots while the service is under load, compared with serialising the same response as JSON.
import type { ApiClient } from '../instruments/api-client.ts';
import { type Call, listTimes, measureCall, measureStringify, toCallFigures } from '../instruments/calls.ts';
import { type Figure, findQuantile, makeFigure } from '../instruments/figures.ts';
import { runRounds } from '../instruments/rounds.ts';

type SnapshotsSpec = {
  readonly client: ApiClient;
  /** Process ids of the API. */
  readonly passes: readonly number[];
  /** Per round and number of callers. */
  readonly seconds: number;
  readonly rounds: number;
};

const CONNECTIONS = 8;
/** `where` takes at most 32 members a list. */
const SOME = 32;

type Loop = { readonly calls: readonly Call[]; readonly perSecond: number; readonly text: string };

/** This many concurrent callers; each sends its next request after a response. */
const ask = async (
  { client, passes, seconds }: Omit<SnapshotsSpec, 'rounds'>,
  body: unknown,
  callers: number,
): Promise<Loop> => {
  const calls: Call[] = [];
  const began = performance.now();
  let last = '';
  const caller = async (): Promise<void> => {
    while (performance.now() - began < seconds * 1_000) {
      calls.push(
        await measureCall(async () => {
          last = (await client.post('/v2/snapshots', body)).text;
        }, passes),
      );
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { calls, perSecond: (calls.length * 1_000) / (performance.now() - began), text: last };
};

type Case = { readonly body: unknown; readonly layers: string; readonly aimMs: number | null };

const measureRound = async (spec: SnapshotsSpec, { body, layers, aimMs }: Case): Promise<Figure[]> => {
  const alone = await ask(spec, body, 1);
  const many = await ask(spec, body, CONNECTIONS);
  const answer = JSON.parse(alone.text) as { readonly items: readonly unknown[] };
  const bare = await measureStringify(answer);
  const name = `snapshot of ${answer.items.length} listings x ${layers}`;
  const limitIs = 'JSON.stringify of the same answer';
  const manyMs = listTimes(many.calls);
  return [
    ...toCallFigures(name, alone.calls, {
      ...{ aimMs, bare, limitIs },
      note: `${Math.round(Buffer.byteLength(alone.text) / 1024)} kB, ${alone.calls.length} calls, one after the other`,
    }),
    makeFigure({
      name: `${name}, ${CONNECTIONS} callers`,
      unit: '/s',
      measured: many.perSecond,
      limit: 1_000 / (findQuantile(listTimes(bare), 0.5) ?? Number.NaN),
      limitIs,
      note: `p50 ${findQuantile(manyMs, 0.5)?.toFixed(1)} ms, p99 ${findQuantile(manyMs, 0.99)?.toFixed(1)} ms`,
    }),
  ];
};

export const measureSnapshots = async (spec: SnapshotsSpec): Promise<Figure[]> => {
  const { client, rounds } = spec;
  const symbols = (await client.symbols()).slice(0, SOME);
  const some = { where: { symbol: symbols }, layers: ['mark', 'funding', 'book', 'venue_depth'] };
  const cases: readonly Case[] = [
    { body: some, layers: '4 layers', aimMs: null },
    { body: {}, layers: 'all 7 layers', aimMs: 50 },
  ];
  const figures: Figure[] = [];
  for (const one of cases) {
    await ask({ ...spec, seconds: 1 }, one.body, 1);
    figures.push(...(await runRounds(rounds, () => measureRound(spec, one))));
  }
  return figures;
};
