// Recovers the signer of a payment before the facilitator is called, so that a forged payer counts nowhere (P-11).
import type { Hex } from 'viem';
import { recoverTypedDataAddress } from 'viem/utils';
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

/** `contract`: only the chain can decide. About 5 ms of the main thread: it comes after every cheaper check. */
export const checkSigner = async (
  { payload }: SignedPayment,
  offer: Offer,
): Promise<'payer' | 'stranger' | 'contract'> => {
  const { authorization, signature } = payload;
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
    return signer.toLowerCase() === from ? 'payer' : 'stranger';
  } catch {
    return 'stranger';
  }
};
