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
) => Promise<{ readonly verified: boolean; readonly onChain: boolean; readonly steps: readonly ProofStep[] }>;

export type Anchored = { readonly network: string | null; readonly binding?: boolean };

export declare const isRehearsal: (answer: Anchored) => boolean;
