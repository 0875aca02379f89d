// `.env.example` names every setting of every process; GOLDEN_UPDATE=1 writes it anew.
import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { envExample } from '../../../../infra/dev/tools/env-example.ts';

const FILE = new URL('../../../../.env.example', import.meta.url);

t.test('.env.example says what the processes read', (t) => {
  if (process.env['GOLDEN_UPDATE'] === '1') writeFileSync(FILE, envExample());
  t.equal(readFileSync(FILE, 'utf8'), envExample(), 'npm run golden:update writes it anew');
  t.notMatch(envExample(), /PASSWORD=\S/, 'no secret has a default that is shown');
  t.end();
});
