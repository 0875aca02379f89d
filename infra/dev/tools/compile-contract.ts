// `node infra/dev/tools/compile-contract.ts` writes the artefact of the anchor contract: the service reads only that, so the compiler stays a development tool.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const FOLDER = new URL('../../contract/', import.meta.url);
const SOURCE = 'AnchorRoots.sol';
/** The bytes depend on every one of these; no metadata hash, so that comments and paths do not change them. */
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'paris',
  metadata: { bytecodeHash: 'none', appendCBOR: false },
} as const;

export type ContractArtefact = {
  readonly contract: string;
  readonly compiler: string;
  readonly settings: typeof SETTINGS;
  readonly sourceSha256: string;
  readonly abi: readonly unknown[];
  readonly bytecode: string;
  readonly deployedBytecode: string;
};

type Solc = { readonly version: () => string; readonly compile: (input: string) => string };
type Compiled = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly abi: readonly unknown[];
            readonly evm: { readonly bytecode: { object: string }; readonly deployedBytecode: { object: string } };
          }
        >
      >
    >
  >;
};

/** What the pinned compiler makes of the committed source. Throws with the compiler's own messages. */
export const compileContract = (): ContractArtefact => {
  const solc = createRequire(import.meta.url)('solc') as Solc;
  const content = readFileSync(new URL(SOURCE, FOLDER), 'utf8');
  const outputSelection = { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } };
  const input = {
    language: 'Solidity',
    sources: { [SOURCE]: { content } },
    settings: { ...SETTINGS, outputSelection },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Compiled;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const contract = output.contracts[SOURCE]?.['AnchorRoots'];
  if (contract === undefined) throw new Error(`${SOURCE} holds no contract AnchorRoots`);
  return {
    contract: 'AnchorRoots',
    compiler: solc.version(),
    settings: SETTINGS,
    sourceSha256: createHash('sha256').update(content).digest('hex'),
    abi: contract.abi,
    bytecode: `0x${contract.evm.bytecode.object}`,
    deployedBytecode: `0x${contract.evm.deployedBytecode.object}`,
  };
};

if (import.meta.main) {
  writeFileSync(new URL('AnchorRoots.json', FOLDER), `${JSON.stringify(compileContract(), null, 2)}\n`);
  process.stdout.write('infra/contract/AnchorRoots.json written\n');
}
