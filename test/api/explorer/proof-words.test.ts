// The conclusion of the proof page: it claims no more than the verifier does, and no less.
import t from 'tap';
import { formatConclusion } from '../../../api/explorer/islands/proof-words.ts';
import type { ProofStep } from '../../../infra/verify/verify.mjs';

const step = (name: string, outcome: ProofStep['outcome'] = 'ok'): ProofStep => ({ name, outcome });
const HELD = [step('form'), step('chain root')];

t.test('steps that hold prove a row on Base, and in a rehearsal elsewhere', (t) => {
  const checked = { steps: HELD, onChain: true, rehearsal: false };
  t.equal(formatConclusion(checked), 'Proven: all 2 steps hold, the root on the chain among them.');
  t.match(formatConclusion({ ...checked, rehearsal: true }), /^Proven in a rehearsal: all 2 .* is not binding\.$/);
  t.end();
});

t.test('a step that fails proves nothing, nor do steps without the chain', (t) => {
  const offChain = { onChain: false, rehearsal: false };
  const failed = [...HELD, step('path', 'failed')];
  t.equal(formatConclusion({ steps: failed, ...offChain }), 'Not proven: path does not hold.');
  const offline = [step('form'), step('path'), step('chain id', 'skipped'), step('chain root', 'skipped')];
  t.match(formatConclusion({ steps: offline, ...offChain }), /^2 steps hold\. The chain itself was not/);
  t.end();
});

t.test('an anchor whose transaction is not known is proven by the root that the chain holds', (t) => {
  const checked = { steps: [...HELD, step('transaction', 'skipped')], onChain: true, rehearsal: false };
  const held = '2 steps hold, the root on the chain among them; not checked: transaction.';
  t.equal(formatConclusion(checked), `Proven: ${held}`);
  t.match(formatConclusion({ ...checked, rehearsal: true }), `Proven in a rehearsal: ${held} `);
  t.end();
});
