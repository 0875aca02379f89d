// `.env.example` names every setting of every process; GOLDEN_UPDATE=1 writes it again.
import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { PROCESS_CONFIGS, printEnvExample } from '../../../../infra/dev/documents/env-example.ts';
import { ConfigError, readConfig } from '../../../../infra/runtime/process/config.ts';

const FILE = new URL('../../../../.env.example', import.meta.url);

t.test('.env.example lists what the processes read', (t) => {
  if (process.env['GOLDEN_UPDATE'] === '1') writeFileSync(FILE, printEnvExample());
  t.equal(readFileSync(FILE, 'utf8'), printEnvExample(), 'npm run golden:update writes it again');
  t.notMatch(printEnvExample(), /PASSWORD=\S/, 'no secret has a default that is shown');
  t.end();
});

t.test('a process takes an environment that has the settings of all others', (t) => {
  for (const [name, spec] of Object.entries(PROCESS_CONFIGS)) {
    const others = Object.values(PROCESS_CONFIGS).flatMap((other) => Object.keys(other));
    const env = Object.fromEntries(others.filter((setting) => !(setting in spec)).map((setting) => [setting, 'x']));
    const faults: string[] = [];
    try {
      readConfig(spec, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      faults.push(...error.faults.filter((fault) => fault.includes('is unknown')));
    }
    t.same(faults, [], name);
  }
  t.end();
});
