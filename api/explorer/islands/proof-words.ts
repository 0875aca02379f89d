// The conclusion of the proof page from the steps of the verifier, in the words of the verifier.
import type { ProofStep } from '../../../infra/verify/verify.mjs';

/** `onChain`: a node of the chain was queried, and no step failed. `rehearsal`: the chain is not Base. */
type Checked = { readonly steps: readonly ProofStep[]; readonly onChain: boolean; readonly rehearsal: boolean };

const listNames = (steps: readonly ProofStep[], outcome: ProofStep['outcome']): readonly string[] =>
  steps.filter((step) => step.outcome === outcome).map(({ name }) => name);

const describeHeld = (steps: readonly ProofStep[]): string => {
  const [count, skipped] = [listNames(steps, 'ok').length, listNames(steps, 'skipped')];
  const unchecked = skipped.length === 0 ? '.' : `; not checked: ${skipped.join(', ')}.`;
  return `${skipped.length === 0 ? 'all ' : ''}${count} steps hold, the root on the chain among them${unchecked}`;
};

export const formatConclusion = ({ steps, onChain, rehearsal }: Checked): string => {
  const failed = listNames(steps, 'failed');
  if (failed.length > 0) return `Not proven: ${failed.join(', ')} ${failed.length === 1 ? 'does' : 'do'} not hold.`;
  if (!onChain)
    return `${listNames(steps, 'ok').length} steps hold. The chain itself was not queried, because this site has no node for it.`;
  return rehearsal
    ? `Proven in a rehearsal: ${describeHeld(steps)} The chain is not Base itself, so the anchor is not binding.`
    : `Proven: ${describeHeld(steps)}`;
};
