// What the proof page concludes of the steps of the verifier, as the verifier says it itself.
import { type Anchored, isRehearsal, type ProofStep } from '../../../infra/verify/verify.mjs';

export const formatConclusion = (steps: readonly ProofStep[], proof: Anchored): string => {
  const failed = steps.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  const count = steps.filter(({ outcome }) => outcome === 'ok').length;
  if (failed.length > 0) return `Not proven: ${failed.join(', ')} ${failed.length === 1 ? 'does' : 'do'} not hold.`;
  if (steps.some(({ outcome }) => outcome === 'skipped'))
    return `${count} steps hold. The chain itself was not asked: this site knows no node of it.`;
  const held = `all ${count} steps hold, the root on the chain among them.`;
  return isRehearsal(proof)
    ? `Proven in a rehearsal: ${held} The chain is not Base itself, so the anchor binds nobody.`
    : `Proven: ${held}`;
};
