// Checkpoints that earlier versions wrote: today's task goes on from each as if it had read the whole log itself.
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { createRestorer } from '../../../processors/runner/checkpoint.ts';
import { STATE_VERSION, type TaskState } from '../../../processors/task/state.ts';
import { type LogRecord, Task } from '../../../processors/task/task.ts';
import type { CheckpointEntry, RawMessage } from '../../../schemas/topics.ts';
import { allLayers } from '../../support/tasks/task-logs.ts';

/**
 * A file is one round of a task with two listings and two connections, and its whole log, written by the version of the day in its name. One of
 * another state version is not restored. Whoever changes what a state holds adds a file, or increments `STATE_VERSION`.
 */
const FOLDER = new URL('../../fixtures/checkpoints/', import.meta.url);

type KeptMessage = Omit<RawMessage, 'payload'> & { readonly payload: string };
type Kept = {
  readonly checkpoint: readonly CheckpointEntry[];
  readonly log: readonly (readonly [offset: number, timestampMs: number, message: KeptMessage])[];
};

const readKept = (name: string): { checkpoint: Kept['checkpoint']; records: readonly LogRecord[] } => {
  const { checkpoint, log } = JSON.parse(gunzipSync(readFileSync(new URL(name, FOLDER))).toString()) as Kept;
  const records = log.map(([offset, timestampMs, message]): LogRecord => {
    return { offset, timestampMs, message: { ...message, payload: Buffer.from(message.payload) } };
  });
  return { checkpoint, records };
};

/** What a task gives for the records above `after`, in words of topics. */
const workOn = (records: readonly LogRecord[], after: number, state?: TaskState): readonly string[] => {
  const task = new Task({ venue: allLayers, partition: 0, shards: 1, ...(state === undefined ? {} : { state }) });
  const found: string[] = [];
  for (const record of records) {
    if (state !== undefined && record.offset <= after) continue;
    const { rows, live, md, deadLetters } = task.process(record);
    if (record.offset > after)
      found.push(...[...rows, ...live, ...md, ...deadLetters].map((one) => JSON.stringify(one)));
  }
  return found;
};

t.test('each is restored, and gives the same outputs as the whole log', (t) => {
  let current = 0;
  for (const name of readdirSync(FOLDER)) {
    const { checkpoint, records } = readKept(name);
    const restorer = createRestorer();
    for (const entry of checkpoint) restorer.add(entry);
    const state = restorer.state();
    if (checkpoint.at(-1)?.marker?.version !== STATE_VERSION) {
      t.same([state, restorer.problem()], [null, 'version'], name);
      continue;
    }
    current += 1;
    if (state === null) return t.fail(`${name} is not restored: ${restorer.problem()}`);
    const { offset } = state;
    const whole = workOn(records, offset);
    t.ok(whole.length > 1_000, `${whole.length} outputs behind the checkpoint of ${name}`);
    t.strictSame(workOn(records, offset, state), whole, `${name}: the same outputs`);
  }
  t.ok(current > 0, 'one is of the present state version');
  t.end();
});
