// The anchor contract as used by the service: its calls and event, and the committed artefact (AN-08).
import { readFileSync } from 'node:fs';
import { encodeDeployData, encodeFunctionData, type Hex, parseAbi } from 'viem';
import { toDayNumber } from '../../../../schemas/anchor-chain.ts';
import type { Day } from '../../day.ts';

export const ANCHOR_ABI = parseAbi([
  'constructor(address owner)',
  'function owner() view returns (address)',
  'function roots(uint32 day) view returns (bytes32)',
  'function post(uint32 day, bytes32 root)',
  'event Anchored(uint32 indexed day, bytes32 root, uint64 ts)',
  'error NotOwner()',
  'error EmptyRoot()',
  'error BadDay(uint32 day)',
  'error AlreadyAnchored(uint32 day)',
]);

type Artefact = { readonly bytecode: Hex; readonly deployedBytecode: Hex };

const ARTEFACT = JSON.parse(
  readFileSync(new URL('../../../../infra/contract/AnchorRoots.json', import.meta.url), 'utf8'),
) as Artefact;

/** The code at the address of a deployed contract of ours. */
export const DEPLOYED_CODE = ARTEFACT.deployedBytecode;

/** Data of a deployment transaction. */
export const encodeDeploy = (owner: Hex): Hex =>
  encodeDeployData({ abi: ANCHOR_ABI, bytecode: ARTEFACT.bytecode, args: [owner] });

/** Data of the transaction that posts a day; `root` as 64 hex digits. */
export const encodePost = (day: Day, root: string): Hex =>
  encodeFunctionData({ abi: ANCHOR_ABI, functionName: 'post', args: [toDayNumber(day), `0x${root}`] });
