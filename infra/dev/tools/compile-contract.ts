// `node infra/dev/tools/compile-contract.ts` writes the artefact of each contract: programs read only that, so only development needs the compiler.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const INFRA = new URL('../../', import.meta.url);
/** Name of a contract -> folder of its source and artefact, below `infra`. */
const FOLDERS = { AnchorRoots: 'contract', LocalUsdc: 'dev/facilitator', LocalMulticall: 'dev/facilitator' } as const;
type ContractName = keyof typeof FOLDERS;
export const CONTRACT_NAMES = Object.keys(FOLDERS) as readonly ContractName[];

/** The bytes depend on every one of these; no metadata hash, so that comments and paths do not change them. */
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'paris',
  metadata: { bytecodeHash: 'none', appendCBOR: false },
} as const;

type ContractArtefact = {
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

export const toArtefactFile = (name: ContractName): URL => new URL(`${FOLDERS[name]}/${name}.json`, INFRA);

/** The output of the pinned compiler for a source that contains the contract. Throws with the compiler's own messages. */
export const compileSource = (source: URL, name: string): ContractArtefact => {
  const solc = createRequire(import.meta.url)('solc') as Solc;
  const file = `${name}.sol`;
  const content = readFileSync(source, 'utf8');
  const outputSelection = { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } };
  const input = { language: 'Solidity', sources: { [file]: { content } }, settings: { ...SETTINGS, outputSelection } };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Compiled;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const contract = output.contracts[file]?.[name];
  if (contract === undefined) throw new Error(`${file} holds no contract ${name}`);
  return {
    contract: name,
    compiler: solc.version(),
    settings: SETTINGS,
    sourceSha256: createHash('sha256').update(content).digest('hex'),
    abi: contract.abi,
    bytecode: `0x${contract.evm.bytecode.object}`,
    deployedBytecode: `0x${contract.evm.deployedBytecode.object}`,
  };
};

/** The artefact of a committed contract. */
export const compileContract = (name: ContractName): ContractArtefact =>
  compileSource(new URL(`${FOLDERS[name]}/${name}.sol`, INFRA), name);

if (import.meta.main) {
  for (const name of CONTRACT_NAMES) {
    writeFileSync(toArtefactFile(name), `${JSON.stringify(compileContract(name), null, 2)}\n`);
    process.stdout.write(`infra/${FOLDERS[name]}/${name}.json written\n`);
  }
}
