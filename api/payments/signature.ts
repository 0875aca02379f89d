// Recovers the signer of a payment before the facilitator is called, so that a forged payer is never counted (P-11).
import type { Hex } from 'viem';
import { parseErc6492Signature, recoverTypedDataAddress } from 'viem/utils';
import type { SignedPayment } from './header.ts';
import type { Offer } from './offers.ts';

/** EIP-3009. */
const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;
/** r, s and v as hex. Contract wallets have longer signatures, which only their contract can check (ERC-1271). */
const PLAIN_LENGTH = 2 + 2 * 65;
/** Of secp256k1. */
const HALF_ORDER = 0x7fff_ffff_ffff_ffff_ffff_ffff_ffff_ffff_5d57_6e73_57a4_501d_dfe9_2f46_681b_20a0n;

/** USDC takes one spelling of a signature: `v` is 27 or 28 (some wallets give 0 or 1), `s` at most half the order of the curve. */
const isTakenByToken = (signature: string): boolean =>
  BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER && /1[bc]$/i.test(signature);

/** A signature with the mark of ERC-6492 must be the wrapper of a wallet's factory and signature: libraries fail on any other. */
const isReadable = (signature: string): boolean => {
  try {
    return parseErc6492Signature(signature as Hex).signature.length > 0;
  } catch {
    return false;
  }
};

/** `nobody`: it is the signature of no wallet. `stranger`: for the token it is not the payer who signed. `contract`: only the chain can decide. About 5 ms of the main thread: it comes after every cheaper check. */
export const checkSigner = async (
  { payload }: SignedPayment,
  offer: Offer,
): Promise<'payer' | 'stranger' | 'contract' | 'nobody'> => {
  const { authorization, signature } = payload;
  if (!isReadable(signature)) return 'nobody';
  if (signature.length > PLAIN_LENGTH) return 'contract';
  if (signature.length < PLAIN_LENGTH) return 'stranger';
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  try {
    const signer = await recoverTypedDataAddress({
      domain: {
        name: offer.extra.name,
        version: offer.extra.version,
        chainId: Number(offer.network.split(':')[1]),
        verifyingContract: offer.asset.toLowerCase() as Hex,
      },
      types: TYPES,
      primaryType: 'TransferWithAuthorization',
      message: {
        from: from as Hex,
        to: to as Hex,
        value: BigInt(value),
        validAfter: BigInt(validAfter),
        validBefore: BigInt(validBefore),
        nonce: nonce as Hex,
      },
      signature: signature as Hex,
    });
    return signer.toLowerCase() === from && isTakenByToken(signature) ? 'payer' : 'stranger';
  } catch {
    return 'stranger';
  }
};
