// The parts of the verifier that programs use; `verify.mjs` beside it is the service's own, copied unchanged.

export type ProofStep = {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'skipped';
  readonly claim?: string;
  readonly reason?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
};

export type ProofCheck = {
  /** Whether every step that was made holds. */
  readonly verified: boolean;
  /** Whether the root was also found on the chain. */
  readonly onChain: boolean;
  /** Whether the root lies on another chain than Base, where an anchor binds nobody. */
  readonly rehearsal: boolean;
  readonly day: string;
  readonly day_root: string;
  readonly steps: readonly ProofStep[];
};

export declare const verifyProofText: (
  text: string,
  options?: { readonly rpc?: string | null; readonly tell?: (line: string) => void },
) => Promise<ProofCheck>;

/** The verifier as a program: its arguments in, its exit code out. */
export declare const main: (words: readonly string[]) => Promise<number>;
