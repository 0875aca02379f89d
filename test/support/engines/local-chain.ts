// The anvil of a test as viem sees it: a reader, and accounts with funds.
import { createPublicClient, defineChain, http } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';

export const connectChain = (url: string) => {
  const transport = http(url);
  const chain = defineChain({
    id: 8453,
    name: 'local',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  });
  const reader = createPublicClient({ chain, transport, pollingInterval: 20 });
  /** A new account with one Ether. */
  const fund = async (): Promise<PrivateKeyAccount> => {
    const account = privateKeyToAccount(generatePrivateKey());
    const params = [account.address, '0xde0b6b3a7640000'];
    await reader.request({ method: 'anvil_setBalance' as never, params: params as never });
    return account;
  };
  return { transport, chain, reader, fund };
};
