// A pipeline that stands still is said to: values are stale with `state_lag`, and back when it goes on.
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { answerWhen, isPresent, PAIRS, startWorld } from '../support/true-world.ts';
import { stateOf } from '../support/truth.ts';

t.setTimeout(900_000);

t.test('while the processors stand still values are stale with state_lag, and back when they go on', async (t) => {
  const world = await startWorld(t);
  const { api, processors } = world;
  const ready = async (): Promise<boolean> => (await fetch(`${api.baseUrl}/readyz`)).ok;
  const mostly = (seen: Parameters<Parameters<typeof answerWhen>[2]>[0]): boolean =>
    seen.filter(isPresent).length >= 0.99 * PAIRS;
  const { seen: before } = await answerWhen(world, '99 % present', mostly, 90_000);
  const wasPresent = new Set(before.filter(isPresent).map(({ symbol, layer }) => `${symbol} ${layer}`));
  processors.process.kill('SIGSTOP');
  const { seen, before: last, ms } = await answerWhen(world, 'nothing present', (all) => !all.some(isPresent));
  t.comment(`nothing was present ${Math.round(ms)} ms after the stop`);
  t.ok(last.some(isPresent), 'not at once: W may stand back five seconds (L-07)');
  const others = seen.filter(({ symbol, layer, object }) => {
    return wasPresent.has(`${symbol} ${layer}`) && stateOf(object) !== 'stale state_lag';
  });
  t.same(
    others.slice(0, 3).map(({ symbol, layer, object }) => `${symbol} ${layer} ${stateOf(object)}`),
    [],
  );
  t.notOk(await ready(), '/readyz says that the state is behind');
  await pause(10_000);
  processors.process.kill('SIGCONT');
  const back = await answerWhen(world, '99 % present again', mostly, 60_000);
  t.comment(`present again ${Math.round(back.ms)} ms after the processors went on`);
  t.ok(await ready());
});
