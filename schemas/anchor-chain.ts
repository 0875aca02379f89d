// Shared by the poster of day roots and the API: status, network, the day in the contract's form (AN-03, AN-04, AN-08).

/** `pending`: trees built; `submitted`: a transaction was sent; `confirmed`: deep enough; `failed`: will be retried. */
export const ANCHOR_STATUSES = ['pending', 'submitted', 'confirmed', 'failed'] as const;
export type AnchorStatus = (typeof ANCHOR_STATUSES)[number];

/** A chain is identified by its first block: a local chain may claim the id 8453. */
export type ChainIdentity = {
  /** CAIP-2. */
  readonly network: string;
  /** `0x` and 64 lower-case hex digits. */
  readonly genesisHash: string;
};

/** Base, the only chain that binds. Its genesis hash is from the OP superchain registry. */
const BASE: ChainIdentity = {
  network: 'eip155:8453',
  genesisHash: '0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd',
};

export const isBinding = ({ network, genesisHash }: ChainIdentity): boolean =>
  network === BASE.network && genesisHash === BASE.genesisHash;

/** The day as the contract stores it: `2026-01-15` is 20260115. */
export const toDayNumber = (day: string): number => Number(day.replaceAll('-', ''));

/**
 * Object-store key of a partition's kept hashes: `anchors/2026-01-15/trades.<root>.hashes`. 32 bytes a hash; leaves first, in leaf
 * order, then every sixth level (`listKeptLevels`). The key contains the root, so its bytes never change.
 */
export const toTreeKey = (day: string, table: string, root: string): string => `anchors/${day}/${table}.${root}.hashes`;
