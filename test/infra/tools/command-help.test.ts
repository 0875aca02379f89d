// Every command of the project says how it is called, without a service beside it; a wrong option is a message, not a stack.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';

const COMMANDS = [
  ...['keys', 'rules', 'payments', 'anchors', 'check-venues', 'normalise'].map((name) => `infra/tools/${name}.ts`),
  ...['replay', 'hash-tables'].map((name) => `infra/dev/tools/${name}.ts`),
  'processors/nightly.ts',
  'infra/verify/verify.mjs',
];

const run = (file: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [join(PROJECT_ROOT, file), ...args], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    encoding: 'utf8',
    input: '',
  });

for (const file of COMMANDS)
  t.test(file, (t) => {
    const { status, stdout, stderr } = run(file, '--help');
    t.equal(status, 0);
    t.match(stdout, /^usage: /);
    t.equal(stderr, '');
    const wrong = run(file, '--no-such-option');
    t.not(wrong.status, 0);
    t.match(wrong.stderr, /no-such-option/);
    t.notMatch(wrong.stderr, /^\s+at /m, 'no stack');
    t.end();
  });

t.test('the tool server over standard input names its settings, and the one that it lacks', (t) => {
  const help = run('api/perp-mcp.ts', '--help');
  t.match([help.status, help.stdout, help.stderr], [0, /^usage: [\s\S]*API_KEY/, '']);
  const { status, stderr } = run('api/perp-mcp.ts');
  t.equal(status, 1);
  t.match(stderr, /API_KEY is required/);
  t.notMatch(stderr, /^\s+at /m, 'no stack');
  t.end();
});

t.test('a day that its month does not have is refused before anything is asked', (t) => {
  for (const day of ['2027-02-29', '2026-11-31']) {
    const { status, stderr } = run('infra/tools/anchors.ts', 'post', day);
    t.not(status, 0);
    t.match(stderr, `"${day}" is not a day such as 2026-01-15`);
  }
  t.end();
});
