// Settings that commands take from the local run on this machine.
import t from 'tap';
import { withRunningService } from '../../../../infra/runtime/process/running-service.ts';

const LOCAL = 'postgres://local';

t.test('a command has the settings of the local run that its environment lacks', (t) => {
  const folder = t.testdir({ 'endpoints.json': JSON.stringify({ database_url: LOCAL, kafka: '127.0.0.1:9092' }) });
  const own = { ENDPOINTS_FILE: `${folder}/endpoints.json` };
  t.match(withRunningService({ ...own, KAFKA_BROKERS: 'kafka:1' }), { DATABASE_URL: LOCAL, KAFKA_BROKERS: 'kafka:1' });
  t.match(withRunningService({ ...own, DATABASE_URL: '' }), { DATABASE_URL: LOCAL }, 'an empty one names none');
  const named = { ...own, DATABASE_URL: 'postgres://named' };
  t.same(withRunningService(named), named, 'nothing is mixed with a database that is named');
  t.equal(withRunningService({ ENDPOINTS_FILE: `${folder}/none.json` }), null);
  t.end();
});
