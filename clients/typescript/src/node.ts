// The part that needs Node: archive files on disk, and proofs checked by the service's own verifier.
import type { AnchorProofRequest, Digits } from './api-types.ts';
import type { Client } from './client.ts';
import { type ProofCheck, verifyProofText } from './verify.mjs';

export {
  type ArchiveFormat,
  archiveFileName,
  type DownloadOptions,
  type DownloadProgress,
  downloadArchive,
} from './download.ts';
export { type ProofCheck, type ProofStep, verifyProofText } from './verify.mjs';

/** Requests the proof of a row and recomputes every step of it; with `rpc`, a node of the chain, up to the contract. */
export const verifyProof = async (
  client: Client<Digits>,
  request: AnchorProofRequest,
  options: { readonly rpc?: string | null; readonly tell?: (line: string) => void } = {},
): Promise<ProofCheck> => verifyProofText(await client.text('anchorProof', request), options);
