// A wallet that is a contract, on a chain of the test: payments signed for it are valid when the contract accepts them (ERC-1271).
import type { PaymentPayload } from '@x402/core/types';
import { type Abi, type Address, createWalletClient, type Hex, http, publicActions } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { giveEther, makeLocalBase } from '../../../infra/dev/facilitator/local-usdc.ts';
import { compileSource } from '../../../infra/dev/tools/compile-contract.ts';

type ContractWallet = {
  readonly address: Address;
  /** The account that signs for it. */
  readonly owner: PrivateKeyAccount;
  /** From now on it accepts nothing. */
  readonly freeze: () => Promise<void>;
};

/** Deploys a wallet of a new owner. */
export const deployWallet = async (rpcUrl: string): Promise<ContractWallet> => {
  const { abi, bytecode } = compileSource(new URL('ContractWallet.sol', import.meta.url), 'ContractWallet');
  const owner = privateKeyToAccount(generatePrivateKey());
  await giveEther(rpcUrl, owner.address);
  const transport = http(rpcUrl);
  const client = createWalletClient({
    account: owner,
    chain: makeLocalBase(rpcUrl),
    transport,
    pollingInterval: 20,
  }).extend(publicActions);
  const mined = (hash: Hex) => client.waitForTransactionReceipt({ hash });
  const made = { abi: abi as Abi, bytecode: bytecode as Hex, args: [owner.address] };
  const { contractAddress } = await mined(await client.deployContract(made));
  if (!contractAddress) throw new Error('the wallet was not deployed');
  return {
    address: contractAddress,
    owner,
    freeze: async () => {
      await mined(await client.writeContract({ address: contractAddress, abi: made.abi, functionName: 'freeze' }));
    },
  };
};

/** The same signature with a 32-byte word before it: 97 bytes, which only the contract can read. */
export const lengthened = (payment: PaymentPayload): PaymentPayload => {
  const payload = payment.payload as { readonly signature: string };
  return { ...payment, payload: { ...payload, signature: `0x${'0'.repeat(64)}${payload.signature.slice(2)}` } };
};
