// Rules on a clock over a store of history that is silent: one question waits for it, those after it do not, until it answers again (AG-03).
import t from 'tap';
import { createHistoryStore } from '../../../api/history/store.ts';
import { createImpatientStore } from '../../../api/rules/impatient-store.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { startSilentPostgres } from '../../support/engines/silent-postgres.ts';
import { waitFor } from '../../support/wait.ts';

t.test('a store that was found silent is not asked again until it answers', async (t) => {
  const { url } = await startSilentPostgres(t);
  const reader = openQuestdbReader(url, { max: 1, timeoutMs: 50, log: createLog('test', 'silent') });
  t.teardown(() => reader.close());
  let isSilent = false;
  const ping = (): Promise<void> => (isSilent ? reader.ping() : Promise.resolve());
  const store = createImpatientStore(createHistoryStore(reader, '', { ping }), 10);
  store.begin();
  t.equal(await store.isReachable(), true);
  store.begin();

  isSilent = true;
  store.begin();
  t.equal(await store.isReachable(), false);
  for (let question = 0; question < 3; question++)
    t.throws(() => store.begin(), { errors: [{ code: 'UNAVAILABLE' }] }, 'at once');

  isSilent = false;
  const isBack = (): boolean => {
    try {
      return store.begin() !== null;
    } catch {
      return false;
    }
  };
  await waitFor('it is asked again', isBack);
  t.equal(await store.isReachable(), true);
});
