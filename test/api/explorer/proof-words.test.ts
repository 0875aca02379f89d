// The conclusion of the proof page: it claims no more than the verifier does.
import t from 'tap';
import { formatConclusion } from '../../../api/explorer/islands/proof-words.ts';
import type { ProofStep } from '../../../infra/verify/verify.mjs';

const step = (name: string, outcome: ProofStep['outcome'] = 'ok'): ProofStep => ({ name, outcome });
const HELD = [step('form'), step('chain root')];
const BASE = { network: 'eip155:8453', binding: true };

t.test('steps that hold prove a row on Base, and in a rehearsal elsewhere', (t) => {
  t.equal(formatConclusion(HELD, BASE), 'Proven: all 2 steps hold, the root on the chain among them.');
  t.match(formatConclusion(HELD, { ...BASE, binding: false }), /^Proven in a rehearsal: all 2 .* binds nobody\.$/);
  t.match(formatConclusion(HELD, { network: 'eip155:31337' }), /^Proven in a rehearsal: /);
  t.end();
});

t.test('a step that fails or was not checked proves nothing', (t) => {
  t.equal(formatConclusion([...HELD, step('path', 'failed')], BASE), 'Not proven: path does not hold.');
  t.match(
    formatConclusion([...HELD, step('transaction', 'skipped')], BASE),
    /^2 steps hold\. The chain itself was not/,
  );
  t.end();
});
