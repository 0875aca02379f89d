// Which failures of stored history are answered as a store that is away, and which are faults of this service (E-07, D-520).
import t from 'tap';
import { explainStore } from '../../../api/history/store.ts';

/** As the driver gives an ErrorResponse of the server. */
const told = (message: string): Error => Object.assign(new Error(message), { severity: 'ERROR', code: '00000' });

t.test('a store that is away, out of resources or being changed is 503', (t) => {
  for (const message of [
    'global RSS memory limit exceeded [usage=1073741824, RSS_MEM_LIMIT=1073741824, size=67108864, memoryTag=30]',
    'could not mmap column [fd=12, size=65536]',
    'could not open read-only [file=/data/db/mark/2026-01-10/at.d]',
    'table busy [reason=insert]',
    'table is locked [table=mark]',
    'cached query plan cannot be used because table schema has changed [table=mark]',
    'table does not exist [table=mark]',
    'timeout, query aborted [fd=12]',
  ])
    t.match(explainStore(told(message)), { errors: [{ code: 'UNAVAILABLE' }] }, message);
  t.match(explainStore(new Error('Connection terminated unexpectedly')), { errors: [{ code: 'UNAVAILABLE' }] });
  t.end();
});

t.test('a statement that the store does not understand stays a fault', (t) => {
  for (const message of ['Invalid column: nonesuch', "unexpected token [')']", 'access denied [SELECT]']) {
    const fault = told(message);
    t.equal(explainStore(fault), fault, message);
  }
  t.end();
});
