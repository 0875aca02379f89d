// The Python client as a user installs it, over an API of this process with real QuestDB and PostgreSQL: its own tests, and generated sources.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import t from 'tap';
import { useEngines } from '../support/engines/engines.ts';
import { PYTHON_CLIENT, pythonWithClient } from '../support/python/python-venv.ts';
import { startPythonMarket } from './python-market.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['postgres', 'questdb']);
const packages = ['httpx2', 'pandas', 'pyarrow', 'polars', 'pytest', 'matplotlib', 'mypy'];
const [python, market] = await Promise.all([pythonWithClient('client', packages), startPythonMarket(t, engines)]);

type Result = { readonly name: string; readonly outcome: string; readonly text: string };

t.test('the tests of the client', async (t) => {
  const child = spawn(python, ['-m', 'pytest', '--quiet', '--tb=short', '-p', 'tests.report_tests'], {
    cwd: PYTHON_CLIENT,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], MPLBACKEND: 'agg', PYTHONDONTWRITEBYTECODE: '' },
      ...{ PERP_TEST_URL: market.baseUrl, PERP_TEST_KEYS: market.keys.join(','), PERP_TEST_NOW: String(market.now) },
      ...(process.env['PERP_SEED'] === undefined ? {} : { PERP_SEED: process.env['PERP_SEED'] }),
    },
  });
  const ended = new Promise<number | null>((settle) => child.on('close', settle));
  t.teardown(() => child.kill());
  let count = 0;
  for await (const line of createInterface({ input: child.stderr })) {
    if (!line.startsWith('{"name"')) {
      t.comment(line);
      continue;
    }
    const { name, outcome, text } = JSON.parse(line) as Result;
    count += 1;
    t.equal(outcome, 'passed', `${name}${text === '' ? '' : `\n${text}`}`);
  }
  t.equal(await ended, 0, 'pytest ends well');
  t.ok(count > 50, `${count} tests ran`);
});
