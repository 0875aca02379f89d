// Words shared by who posts the root of a day and who answers about it: status, network, the day as the contract knows it (AN-03, AN-04, AN-08).

/** `pending`: trees built; `submitted`: a transaction was sent; `confirmed`: deep enough; `failed`: will be tried again. */
export const ANCHOR_STATUSES = ['pending', 'submitted', 'confirmed', 'failed'] as const;
export type AnchorStatus = (typeof ANCHOR_STATUSES)[number];

/** A chain is what its first block is: a local chain may say that it is 8453. */
export type ChainIdentity = {
  /** CAIP-2. */
  readonly network: string;
  /** `0x` and 64 lower-case hex digits. */
  readonly genesisHash: string;
};

/** Base, the only chain that binds. Its genesis hash is the one of the OP superchain registry. */
const BASE: ChainIdentity = {
  network: 'eip155:8453',
  genesisHash: '0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd',
};

export const isBinding = ({ network, genesisHash }: ChainIdentity): boolean =>
  network === BASE.network && genesisHash === BASE.genesisHash;

/** The day as the contract stores it: `2026-01-15` is 20260115. */
export const toDayNumber = (day: string): number => Number(day.replaceAll('-', ''));

/**
 * Key of the kept hashes of a partition in the object store: `anchors/2026-01-15/trades.<root>.hashes`. 32 bytes a hash; leaves first, in leaf
 * order, then every sixth level (`keptLevels`). Named by its root, so the bytes of a key never change.
 */
export const treeKey = (day: string, table: string, root: string): string => `anchors/${day}/${table}.${root}.hashes`;
