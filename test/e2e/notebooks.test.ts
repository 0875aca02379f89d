// The example notebooks of the Python client on a running demo, each cell by a real kernel. On request, with the lines that the demo prints:
// `PERP_BASE_URL=... PERP_API_KEY=... npm test -- notebooks`.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import t from 'tap';
import { PYTHON_CLIENT, pythonWithClient } from '../support/python/python-venv.ts';

t.setTimeout(900_000);
const { PERP_BASE_URL, PERP_API_KEY } = process.env;

t.test('the notebooks run to their end', async (t) => {
  const isGiven = PERP_BASE_URL !== undefined && PERP_API_KEY !== undefined;
  if (!t.ok(isGiven, 'PERP_BASE_URL and PERP_API_KEY name a running service: start npm run demo')) return;
  const packages = ['httpx2', 'pandas', 'pyarrow', 'nbclient', 'nbformat', 'ipykernel'];
  const python = await pythonWithClient('notebooks', packages);
  const child = spawn(python, ['tests/run_notebooks.py'], {
    cwd: PYTHON_CLIENT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PERP_BASE_URL, PERP_API_KEY },
  });
  const ended = new Promise<number | null>((settle) => child.on('close', settle));
  t.teardown(() => child.kill());
  const outputLines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) outputLines.push(line);
  t.equal(await ended, 0, outputLines.join('\n'));
  t.equal(outputLines.filter((line) => line.startsWith('ok ')).length, 3, 'three notebooks');
});
