// The node of the chain for the proof page: it answers whatever the verifier asks.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CHAIN_METHODS } from '../../../api/explorer/chain.ts';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';

t.test('every method that the verifier calls, and no other, is passed on', (t) => {
  const verifier = readFileSync(join(PROJECT_ROOT, 'infra', 'verify', 'verify.mjs'), 'utf8');
  const called = Array.from(verifier.matchAll(/\.ask\('(\w+)'/g), ([, method]) => method);
  t.same([...CHAIN_METHODS].sort(), [...new Set(called)].sort());
  t.end();
});
