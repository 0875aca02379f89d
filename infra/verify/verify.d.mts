// What pages of the service use of the verifier.
export type ProofStep = {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'skipped';
  readonly claim?: string;
  readonly reason?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
};

export declare const verifyProofText: (
  text: string,
  options?: { readonly rpc?: string | null; readonly tell?: (line: string) => void },
) => Promise<{
  readonly verified: boolean;
  readonly onChain: boolean;
  /** Whether the root lies on another chain than Base. */
  readonly rehearsal: boolean;
  readonly steps: readonly ProofStep[];
}>;
