// Free ports: no two processes that live at once are given the same one, so that an engine that is started anew finds its own again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { findFreePort, isFree } from '../../../infra/dev/engines/ports.ts';

const MODULE = new URL('../../../infra/dev/engines/ports.ts', import.meta.url).href;
const EACH = 150;
/** Of 17,000 ports, taken by chance, 900 would meet some twenty times. */
const PROCESSES = 6;
const SCRIPT = `import { findFreePort } from ${JSON.stringify(MODULE)};
const ports = [];
for (let i = 0; i < ${EACH}; i++) ports.push(await findFreePort());
console.log(JSON.stringify(ports));
process.stdin.resume();`;

t.test('processes that live at once are given different ports', async (t) => {
  const cwd = fileURLToPath(new URL('../../../', import.meta.url));
  const children = Array.from({ length: PROCESSES }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], { cwd, stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  t.teardown(() => {
    for (const child of children) child.kill();
  });
  const lists = await Promise.all(
    children.map(async ({ stdout }) => JSON.parse(String((await once(createInterface({ input: stdout }), 'line'))[0]))),
  );
  const ports = lists.flat() as number[];
  t.equal(ports.length, PROCESSES * EACH);
  t.equal(new Set(ports).size, ports.length, 'each port once');
  t.ok(
    ports.every((port) => port > 15_000 && port < 32_768),
    'below those of outgoing connections',
  );
});

t.test('a process is given each port once, and each is free', async (t) => {
  const ports = await Promise.all(Array.from({ length: 250 }, () => findFreePort()));
  t.equal(new Set(ports).size, ports.length);
  t.ok(await isFree(ports[0] ?? 0));
});
