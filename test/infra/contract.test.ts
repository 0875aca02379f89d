// The contracts: each committed artefact is what the pinned compiler gives. The anchor contract (AN-08) follows the rule on a real chain.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type Abi, createWalletClient, type Hex } from 'viem';
import { CONTRACT_NAMES, compileContract, toArtefactFile } from '../../infra/dev/tools/compile-contract.ts';
import { useEngines } from '../support/engines/engines.ts';
import { connectChain } from '../support/engines/local-chain.ts';

const ARTEFACT = JSON.parse(readFileSync(toArtefactFile('AnchorRoots'), 'utf8')) as {
  abi: Abi;
  bytecode: Hex;
  deployedBytecode: Hex;
};
const ROOT = `0x${createHash('sha256').update('a day').digest('hex')}` as const;
const NO_ROOT = `0x${'0'.repeat(64)}` as const;

t.test('each artefact is what the compiler makes of the source', (t) => {
  for (const name of CONTRACT_NAMES) {
    const committed: unknown = JSON.parse(readFileSync(toArtefactFile(name), 'utf8'));
    t.same(
      committed,
      JSON.parse(JSON.stringify(compileContract(name))),
      'run `node infra/dev/tools/compile-contract.ts`',
    );
  }
  t.end();
});

t.test('the anchor contract has no further function', (t) => {
  const functions = ARTEFACT.abi.flatMap((entry) => (entry.type === 'function' ? [entry.name] : []));
  t.same(functions.sort(), ['owner', 'post', 'roots'], 'nothing else can be called');
  t.notOk(ARTEFACT.abi.some(({ type }) => type === 'receive' || type === 'fallback'));
  t.end();
});

t.test('a root is posted once, by the owner', async (t) => {
  const { endpoints } = await useEngines(t, ['anvil']);
  const { transport, chain, reader, fund } = connectChain(endpoints.rpc_url);
  const [owner, stranger] = [await fund(), await fund()];
  const wallet = createWalletClient({ chain, transport, account: owner });
  const awaitReceipt = (hash: Hex) => reader.waitForTransactionReceipt({ hash });
  const deployed = await awaitReceipt(
    await wallet.deployContract({ abi: ARTEFACT.abi, bytecode: ARTEFACT.bytecode, args: [owner.address] }),
  );
  const address = deployed.contractAddress as Hex;
  const contract = { address, abi: ARTEFACT.abi } as const;
  const post = (day: number, root: Hex, account = owner): Promise<unknown> =>
    reader.simulateContract({ ...contract, functionName: 'post', args: [day, root], account });

  t.equal(await reader.getCode({ address }), ARTEFACT.deployedBytecode, 'the chain holds the committed code');
  await t.rejects(post(20260110, ROOT, stranger), /NotOwner/);
  await t.rejects(post(20260110, NO_ROOT), /EmptyRoot/);
  for (const day of [20261310, 20260100, 20260132, 20190110]) await t.rejects(post(day, ROOT), /BadDay/, String(day));
  await t.rejects(reader.call({ account: owner.address, to: address, value: 1n }), /revert/, 'it receives no funds');

  const hash = await wallet.writeContract({ ...contract, functionName: 'post', args: [20260110, ROOT] });
  const { blockNumber } = await awaitReceipt(hash);
  const { timestamp } = await reader.getBlock({ blockNumber });
  const data = `0x081dc681${(20260110).toString(16).padStart(64, '0')}` as const;
  t.equal((await reader.call({ to: address, data })).data, ROOT, 'read with the published selector');
  const [event] = await reader.getContractEvents({ ...contract, eventName: 'Anchored', fromBlock: blockNumber });
  t.same(event?.args, { day: 20260110, root: ROOT, ts: timestamp });
  t.equal(event?.topics[0], '0xc65c085fad1f04cace9334a961f4b11c9ba3cd3e53ac7e3d686d950cc8c32b42');
  await t.rejects(post(20260110, ROOT), /AlreadyAnchored/);
  t.equal(await reader.readContract({ ...contract, functionName: 'roots', args: [20260111] }), NO_ROOT);
});
