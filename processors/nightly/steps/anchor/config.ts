// Settings of the anchors: the chain, the contract that keeps the day roots, the key of its owner.
import type { ConfigSpec } from '../../../../infra/runtime/process/config.ts';

export const ANCHOR_CONFIG = {
  RPC_URL: {
    type: 'url',
    default: null,
    secret: true,
    description: 'Node of the chain on which day roots are posted.',
  },
  ANCHOR_CONTRACT: {
    type: 'string',
    default: null,
    description: 'Address of the contract that keeps the day roots; `npm run anchors -- deploy` prints it.',
  },
  ANCHOR_OWNER_KEY: {
    type: 'string',
    default: null,
    secret: true,
    description: 'Private key of the owner of the contract: 0x and 64 hex digits. It pays for the transactions.',
  },
} as const satisfies ConfigSpec;

/** Null means not set: posting is then refused with the setting's name. */
export type AnchorSettings = {
  readonly rpcUrl: string | null;
  readonly contract: string | null;
  readonly ownerKey: string | null;
};
