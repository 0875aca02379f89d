// USDC on a local chain: the token of LocalUsdc.sol at the address of USDC on Base, with any balance.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Abi,
  type Address,
  type Chain,
  createPublicClient,
  createWalletClient,
  defineChain,
  type Hex,
  http,
  parseEther,
  TransactionReceiptNotFoundError,
} from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

/** USDC of Base: the stock clients of x402 pay with this asset by default. */
export const USDC: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
/** Address of Multicall3 on every chain. */
const MULTICALL: Address = '0xcA11bde05977b3631167028862bE2a173976CA11';

const LOOK_EVERY_MS = 20;
const MINED_MS = 180_000;

type Artefact = { readonly abi: Abi; readonly deployedBytecode: Hex };

const readArtefact = (name: string): Artefact =>
  JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as Artefact;

/** A chain with the id of Base: the id is part of what a payer signs. */
export const makeLocalBase = (rpcUrl: string): Chain =>
  defineChain({
    id: 8453,
    name: 'local',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });

export type LocalUsdc = {
  readonly mint: (to: Address, atomicUnits: bigint) => Promise<void>;
  /** Atomic units: a millionth of a dollar. */
  readonly balanceOf: (owner: Address) => Promise<bigint>;
  /** Whether the authorisation of this nonce was used or cancelled. */
  readonly authorizationState: (authorizer: Address, nonce: Hex) => Promise<boolean>;
};

/** Writes code and Ether as only a development chain allows; idempotent. */
export const placeUsdc = async (rpcUrl: string): Promise<LocalUsdc> => {
  const chain = makeLocalBase(rpcUrl);
  const transport = http(rpcUrl);
  const reader = createPublicClient({ chain, transport, pollingInterval: 20 });
  const { abi, deployedBytecode } = readArtefact('LocalUsdc');
  await setOnChain(rpcUrl, 'anvil_setCode', [USDC, deployedBytecode]);
  await setOnChain(rpcUrl, 'anvil_setCode', [MULTICALL, readArtefact('LocalMulticall').deployedBytecode]);
  const minter = createWalletClient({ chain, transport, account: privateKeyToAccount(generatePrivateKey()) });
  await giveEther(rpcUrl, minter.account.address);
  const token = { address: USDC, abi } as const;
  return {
    mint: async (to, atomicUnits) => {
      const hash = await minter.writeContract({ ...token, functionName: 'mint', args: [to, atomicUnits] });
      await waitForMined(() => reader.getTransactionReceipt({ hash }));
    },
    balanceOf: async (owner) =>
      (await reader.readContract({ ...token, functionName: 'balanceOf', args: [owner] })) as bigint,
    authorizationState: async (authorizer, nonce) =>
      (await reader.readContract({
        ...token,
        functionName: 'authorizationState',
        args: [authorizer, nonce],
      })) as boolean,
  };
};

/**
 * viem's own wait looks again with each new block, and drops a look that falls into the one before; a chain that mines only when something is sent
 * then has no further block, and the wait ends with a timeout.
 */
const waitForMined = async (findReceipt: () => Promise<unknown>): Promise<void> => {
  for (const end = performance.now() + MINED_MS; ; ) {
    try {
      await findReceipt();
      return;
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError) || performance.now() > end) throw error;
      await pause(LOOK_EVERY_MS);
    }
  }
};

/** Enough for the gas of every transaction of a run. */
export const giveEther = (rpcUrl: string, to: Address): Promise<void> =>
  setOnChain(rpcUrl, 'anvil_setBalance', [to, `0x${parseEther('100').toString(16)}`]);

const setOnChain = async (rpcUrl: string, method: string, params: readonly string[]): Promise<void> => {
  const chain = createPublicClient({ chain: makeLocalBase(rpcUrl), transport: http(rpcUrl) });
  await chain.request({ method: method as never, params: params as never });
};
