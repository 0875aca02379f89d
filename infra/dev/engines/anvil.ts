/** A local EVM chain with Base's chain id, only for local runs and tests. */
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { DataDir } from './data-dir.ts';
import { EngineMissingError } from './java.ts';
import type { Supervised, Supervisor } from './supervisor.ts';

/** Base mainnet, the specified chain of payments and anchors. */
const CHAIN_ID = 8453;

/** Accounts and storage are kept of so many blocks. By default anvil writes those of thousands to the home directory: 2 GB a day at a block every 15 s. */
const STATES = '64';

interface AnvilOptions {
  readonly port: number;
  /** Interval of blocks, in addition to a block for each transaction; null: a block for each transaction only. */
  readonly blockSeconds: number | null;
}

/** Starts the chain; resolves once it returns its chain id. Its state is written at a clean stop and every minute. */
export async function startAnvil(supervisor: Supervisor, dataDir: DataDir, options: AnvilOptions): Promise<Supervised> {
  const { port, blockSeconds } = options;
  const folder = join(dataDir.path, 'anvil');
  mkdirSync(folder, { recursive: true });
  const state = ['--state', join(folder, 'state.json'), '--state-interval', '60'];
  const mining =
    blockSeconds === null ? [] : ['--mixed-mining', '--block-time', String(blockSeconds), '--prune-history', STATES];
  return supervisor.start({
    name: 'anvil',
    command: findAnvilBinary(),
    args: [
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--chain-id',
      String(CHAIN_ID),
      '--quiet',
      ...mining,
      ...state,
    ],
    isReady: () => isAnswering(`http://127.0.0.1:${port}`),
  });
}

async function isAnswering(url: string): Promise<boolean> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    signal: AbortSignal.timeout(2000),
  });
  const body = (await response.json()) as { result?: unknown };
  return body.result === `0x${CHAIN_ID.toString(16)}`;
}

/** The binary itself: the package's own launcher would add a process between us and it. */
function findAnvilBinary(): string {
  const machine = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const require = createRequire(import.meta.url);
  try {
    const manifest = require.resolve(`@foundry-rs/anvil-${machine}/package.json`);
    const binary = join(manifest, '..', 'bin', 'anvil');
    if (existsSync(binary)) return binary;
  } catch {
    // Reported below, together with a package that lacks its binary.
  }
  throw new EngineMissingError(`@foundry-rs/anvil has no binary for ${machine}: give RPC_URL of a chain instead`);
}
