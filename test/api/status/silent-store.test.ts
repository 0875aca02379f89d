// The status while PostgreSQL is silent: what was read last, within the time that the page of the account site waits for it (OP-01).
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import t from 'tap';
import { ANSWER_MS as PAGE_MS } from '../../../api/open-pages/read-status.ts';
import { openStatusStore } from '../../../api/status/status-store.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';

t.test('the last status is given while the next one does not come, and the next one when it does', async (t) => {
  let failures = 1;
  let silence = Promise.withResolvers<void>();
  silence.resolve();
  const query = async (text: string) => {
    await silence.promise;
    return { rows: text.includes('failures') ? [{ failures }] : [] };
  };
  let nowMs = 0;
  const store = openStatusStore({ query } as unknown as Pick<Pool, 'query'>, createLog('test', 'silent'), () => nowMs);
  const readFailures = async () => (await store.read())?.recheckFailures;
  t.equal(await readFailures(), 1);

  silence = Promise.withResolvers<void>();
  [failures, nowMs] = [2, 60_000];
  t.equal(await Promise.race([readFailures(), pause(PAGE_MS, 'the page waits no longer')]), 1);
  silence.resolve();
  t.equal(await readFailures(), 2);
});
