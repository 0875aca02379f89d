// A thousand mutated frames through the real pipeline: nothing stops, nothing served changes, each unreadable one is kept with a code.
import t, { type Test } from 'tap';
import type { FaultEntry } from '../../infra/dev/simulator/faults.ts';
import { createPublisher, readToEnd } from '../../infra/runtime/kafka/kafka.ts';
import { binance } from '../../ingest/venues/binance/index.ts';
import { VenueError } from '../../ingest/venues/contract/listings.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { type DeadLetter, nameTopics, type RawMessage } from '../../schemas/topics.ts';
import { createRandom, mutate } from '../support/mutations.ts';
import { until } from '../support/services/pipeline.ts';
import { checkCompared, watch } from '../support/truth/true-watch.ts';
import {
  answerWhen,
  isPresent,
  nowMicros,
  SEED,
  SHARDS,
  startWorld,
  tally,
  type World,
} from '../support/truth/true-world.ts';

const MUTANTS = 1_000;
const SECONDS = 10;
const CUT_BOOKS = 12;
const SOURCE_FRAMES = 200;

const isJson = (payload: Buffer): boolean => {
  try {
    JSON.parse(payload.toString());
    return true;
  } catch {
    return false;
  }
};

type Frame = { readonly partition: number; readonly payload: Buffer };

/** Whole frames of real connections (the simulator has cut some), with their partition. */
const realFrames = async ({ handle, spec }: World): Promise<Frame[]> => {
  const frames: Frame[] = [];
  await readToEnd(
    handle,
    { topic: nameTopics(spec.namespace).raw('binance'), from: () => 'earliest' },
    ({ value }, partition) => {
      if (value === null) return;
      const raw = codecs.raw.decode(value);
      const payload = Buffer.from(raw.payload);
      if (raw.kind !== 'frame' || !payload.includes('"e":') || !isJson(payload)) return;
      frames.push({ partition, payload });
    },
  );
  const step = Math.max(1, Math.floor(frames.length / SOURCE_FRAMES));
  return frames.filter((_, n) => n % step === 0);
};

/** The result of the venue's mapping for a payload: its error's code, or null when it can be read. */
const findCode = (payload: Buffer): string | null => {
  try {
    binance.map({}, { kind: 'frame', received_at: nowMicros(), request: null, payload }, { listings: new Map() });
    return null;
  } catch (error) {
    return error instanceof VenueError ? error.code : `not a VenueError: ${String(error)}`;
  }
};

/** Writes mutated frames beside the collector, as a connection that opened before every other: its values are never served. */
const writeMutants = async (world: World): Promise<Map<string, string>> => {
  const frames = await realFrames(world);
  const random = createRandom(Number(SEED));
  const publisher = createPublisher(world.handle, {});
  const topic = nameTopics(world.spec.namespace).raw('binance');
  const unreadable = new Map<string, string>();
  const write = (partition: number, message: Omit<RawMessage, 'conn_id' | 'request' | 'received_at'>): void => {
    const value = codecs.raw.encode({ ...message, conn_id: 'mutant', request: null, received_at: nowMicros() });
    publisher.publish({ topic, partition, key: message.slot, value });
  };
  const opened = { opened_at: 1, url: 'ws://mutant', covers: [] };
  for (let p = 0; p < SHARDS; p++)
    write(p, { slot: 'mutant', seq: 1, kind: 'open', payload: Buffer.from(JSON.stringify(opened)) });
  for (let n = 0; n < MUTANTS; n++) {
    const frame = frames[n % frames.length];
    if (frame === undefined) throw new Error('no frame in the raw topic');
    const payload = mutate(frame.payload, random);
    const code = findCode(payload);
    if (code === null && !isJson(payload)) throw new Error(`the venue reads what is no JSON: ${payload.toString()}`);
    if (code !== null) unreadable.set(payload.toString('base64'), code);
    write(frame.partition, { slot: 'mutant', seq: n + 2, kind: 'frame', payload });
    await publisher.ready();
  }
  await publisher.close();
  return unreadable;
};

const readDeadLetters = async ({ handle, spec }: World): Promise<DeadLetter[]> => {
  const letters: DeadLetter[] = [];
  await readToEnd(handle, { topic: nameTopics(spec.namespace).deadLetters, from: () => 'earliest' }, ({ value }) => {
    if (value === null) return;
    const letter = codecs.deadLetter.decode(value);
    letters.push({ ...letter, payload: Buffer.from(letter.payload) });
  });
  return letters;
};

const asKey = ({ payload }: DeadLetter): string => Buffer.from(payload).toString('base64');

const checkMutants = async (t: Test, world: World): Promise<void> => {
  const watching = watch(world, SECONDS);
  const symbols = [...world.listed.values()].map(({ symbol }) => symbol);
  await world.simulator.fault({ kind: 'malformed', stream: 'markPrice', symbols, count: 2 });
  // Cut behind their ids: collector and task must both see the hole, or the book stays broken.
  await world.simulator.fault({ kind: 'malformed', stream: 'depth', symbols: symbols.slice(0, CUT_BOOKS), count: 4 });
  const unreadable = await writeMutants(world);
  await checkCompared(t, world, await watching, 'while mutated frames came');
  const letters = await until('every unreadable frame is a dead letter', 30_000, async () => {
    const found = await readDeadLetters(world);
    const held = new Set(found.map(asKey));
    return [...unreadable.keys()].every((key) => held.has(key)) ? found : null;
  });
  const faults = await world.simulator.get<FaultEntry[]>('/faults');
  const cut = faults.filter(({ kind }) => kind === 'malformed').reduce((sum, { hit_count }) => sum + hit_count, 0);
  const codes = new Map(letters.map((letter) => [asKey(letter), letter.code]));
  const others = [...unreadable].filter(([key, code]) => codes.get(key) !== code);
  t.ok(
    unreadable.size > MUTANTS / 4,
    `${unreadable.size} of ${MUTANTS} mutated frames are unreadable, each is a dead letter`,
  );
  t.same(others.slice(0, 3), [], 'each with the code of what is wrong with it');
  // A mutant that the mapping reads may have a record that the task refuses, as a stamp far ahead: that is whole JSON.
  const isCut = (letter: DeadLetter): boolean => !unreadable.has(asKey(letter)) && !isJson(Buffer.from(letter.payload));
  t.equal(letters.filter(isCut).length, cut, `each of the ${cut} frames that the simulator cut is one too`);
  t.comment(`dead letters: ${tally(letters.map(({ code }) => code))}`);
  t.same(
    letters.filter(({ code, message }) => code === 'INTERNAL' || message === '').slice(0, 3),
    [],
    'none is our own failure',
  );
  for (const [name, child] of Object.entries({
    ingest: world.ingest,
    processors: world.processors,
    api: world.api.child,
  }))
    t.equal(child.process.exitCode, null, `${name} runs on`);
  const { ms } = await answerWhen(world, 'everything is present again', (s) => s.every(isPresent));
  t.comment(`everything present ${(ms / 1_000).toFixed(1)} s later`);
};

t.setTimeout(900_000);

t.test('a thousand mutated frames never stop it, and each unreadable one is kept', { timeout: 600_000 }, async (t) => {
  const world = await startWorld(t);
  await answerWhen(world, 'everything is present', (s) => s.every(isPresent));
  await checkMutants(t, world);
});
