// Compares payments with the chain in both directions: those recorded as paid in the ledger, and those received on the chain (P-04, P-07).
import type { Pool } from 'pg';
import {
  type Address,
  createPublicClient,
  type Hex,
  parseAbi,
  parseEventLogs,
  TransactionReceiptNotFoundError,
} from 'viem';
import { openChainTransport } from '../runtime/network/chain-transport.ts';

const ANSWERS_WITHIN_MS = 10_000;
/** Public nodes refuse many requests in a row, and one that fails ends the comparison. */
const RETRIES = 3;
/** Blocks per request to a node: public nodes refuse more. */
const WINDOW = 2_000n;
/** The block of a transaction precedes its row, on clocks that differ. */
const ALLOWANCE_MS = 600_000;

const TOKEN = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

type PaymentChainSettings = { readonly rpcUrl: string; readonly asset: Address; readonly payTo: Address };

/** One finding; `isFault`: ledger and chain differ, and an operator must check. */
type Finding = { readonly isFault: boolean; readonly text: string };

type Reconciled = {
  readonly findings: readonly Finding[];
  /** Settled payments of the period, and authorised transfers to us on the chain in it. */
  readonly settled: number;
  readonly transfers: number;
  /** Atomic units. */
  readonly settledAmount: bigint;
  readonly transferredAmount: bigint;
};

type LedgerRow = {
  readonly receipt_id: string;
  readonly transaction: Hex;
  readonly payer: string;
  readonly nonce: string;
  readonly amount: string;
};
type Transfer = { readonly transaction: Hex; readonly payer: string; readonly nonce: string; readonly amount: bigint };

const LEDGER = 'select receipt_id, transaction, payer, nonce, amount from payment_ledger where settled_at >= $1';
const KNOWN = `select payer, nonce, state, receipt_id from payments where state <> 'settled'`;
const RECORDED = 'select payer, nonce from payment_ledger where settled_at >= $1';
const OVERDUE = `select receipt_id, state, presented_at, valid_before from payments
  where state = 'unknown' or (state in ('served', 'settling') and valid_before < now()) order by presented_at`;

const formatNonce = ({ payer, nonce }: { readonly payer: string; readonly nonce: string }): string =>
  `${payer} ${nonce}`;

type Chain = ReturnType<typeof openChain>;

const openChain = ({ rpcUrl, asset, payTo }: PaymentChainSettings) => {
  const client = createPublicClient({ transport: openChainTransport(rpcUrl, ANSWERS_WITHIN_MS, RETRIES) });

  /** Authorised transfers to us in a transaction; a transfer without an authorisation is no payment. */
  const transfersIn = async (transaction: Hex): Promise<readonly Transfer[]> => {
    const receipt = await client.getTransactionReceipt({ hash: transaction }).catch((error: unknown) => {
      if (error instanceof TransactionReceiptNotFoundError) return null;
      throw error;
    });
    if (receipt === null || receipt.status !== 'success') return [];
    const logs = receipt.logs.filter(({ address }) => address.toLowerCase() === asset.toLowerCase());
    const used = parseEventLogs({ abi: TOKEN, eventName: 'AuthorizationUsed', logs });
    const moved = parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs });
    // The token writes the use of an authorisation directly before the transfer that it authorises.
    return used.flatMap(({ args: { authorizer, nonce }, logIndex }) => {
      const transfer = moved.find((one) => one.logIndex === logIndex + 1 && one.args.from === authorizer);
      if (transfer?.args.to.toLowerCase() !== payTo.toLowerCase()) return [];
      return [{ transaction, payer: authorizer.toLowerCase(), nonce, amount: transfer.args.value }];
    });
  };

  /** The first block at or after an instant. */
  const blockAt = async (ms: number): Promise<bigint> => {
    const seconds = BigInt(Math.floor(ms / 1_000));
    let [low, high] = [0n, await client.getBlockNumber({ cacheTime: 0 })];
    while (low < high) {
      const middle = (low + high) / 2n;
      if ((await client.getBlock({ blockNumber: middle })).timestamp < seconds) low = middle + 1n;
      else high = middle;
    }
    return low;
  };

  const transfersSince = async (ms: number): Promise<readonly Transfer[]> => {
    const newest = await client.getBlockNumber({ cacheTime: 0 });
    const hashes = new Set<Hex>();
    for (let from = await blockAt(ms); from <= newest; from += WINDOW) {
      const to = from + WINDOW - 1n < newest ? from + WINDOW - 1n : newest;
      const event = { address: asset, abi: TOKEN, eventName: 'Transfer', args: { to: payTo } } as const;
      for (const log of await client.getContractEvents({ ...event, fromBlock: from, toBlock: to }))
        hashes.add(log.transactionHash);
    }
    const found: Transfer[] = [];
    for (const hash of hashes) found.push(...(await transfersIn(hash)));
    return found;
  };

  return { transfersIn, transfersSince };
};

/** Rows of the ledger that differ from the chain. */
const checkLedger = async (
  rows: readonly LedgerRow[],
  transfers: readonly Transfer[],
  chain: Chain,
): Promise<readonly Finding[]> => {
  const seen = Map.groupBy(transfers, ({ transaction }) => transaction);
  const findings: Finding[] = [];
  for (const row of rows) {
    const inTransaction = seen.get(row.transaction) ?? (await chain.transfersIn(row.transaction));
    const found = inTransaction.find((transfer) => formatNonce(transfer) === formatNonce(row));
    if (found === undefined)
      findings.push(makeFault(`${row.receipt_id}: the chain has no such payment in ${row.transaction}`));
    else if (found.amount !== BigInt(row.amount))
      findings.push(makeFault(`${row.receipt_id}: the ledger says ${row.amount}, the chain ${found.amount}`));
  }
  return findings;
};

/** Received payments that the ledger lacks; a payment in progress is recorded without intervention. */
const checkTransfers = async (
  pool: Pool,
  transfers: readonly Transfer[],
  sinceMs: number,
): Promise<readonly Finding[]> => {
  // Read after the chain, so that it includes payments recorded meanwhile.
  const recorded = await pool.query<{ payer: string; nonce: string }>(RECORDED, [new Date(sinceMs - ALLOWANCE_MS)]);
  const known = new Set(recorded.rows.map(formatNonce));
  const underWay = await pool.query<{ payer: string; nonce: string; state: string; receipt_id: string }>(KNOWN);
  const open = new Map(underWay.rows.map((row) => [formatNonce(row), row]));
  return transfers.flatMap((transfer) => {
    const key = formatNonce(transfer);
    if (known.has(key)) return [];
    const row = open.get(key);
    const what = `${transfer.amount} of ${transfer.payer} in ${transfer.transaction}`;
    if (row === undefined) return [makeFault(`received and not in the ledger: ${what}`)];
    if (row.state === 'failed') return [makeFault(`${row.receipt_id}: failed, and received all the same: ${what}`)];
    return [makeNote(`${row.receipt_id}: ${row.state}, received: ${what}`)];
  });
};

const listOverdue = async (pool: Pool): Promise<readonly Finding[]> => {
  const { rows } = await pool.query<{ receipt_id: string; state: string; presented_at: Date; valid_before: Date }>(
    OVERDUE,
  );
  return rows.map(({ receipt_id, state, presented_at, valid_before }) =>
    makeNote(`${receipt_id}: ${state} since ${presented_at.toISOString()}, valid until ${valid_before.toISOString()}`),
  );
};

const makeFault = (text: string): Finding => ({ isFault: true, text });
const makeNote = (text: string): Finding => ({ isFault: false, text });
const addUp = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n);

/** Changes nothing: the API settles open payments itself. */
export const reconcilePayments = async (
  pool: Pool,
  settings: PaymentChainSettings,
  sinceMs: number,
): Promise<Reconciled> => {
  const chain = openChain(settings);
  const { rows } = await pool.query<LedgerRow>(LEDGER, [new Date(sinceMs)]);
  const transfers = await chain.transfersSince(sinceMs);
  return {
    findings: [
      ...(await checkLedger(rows, transfers, chain)),
      ...(await checkTransfers(pool, transfers, sinceMs)),
      ...(await listOverdue(pool)),
    ],
    settled: rows.length,
    transfers: transfers.length,
    settledAmount: addUp(rows.map(({ amount }) => BigInt(amount))),
    transferredAmount: addUp(transfers.map(({ amount }) => amount)),
  };
};
