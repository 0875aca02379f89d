// What the data app is built from.
import type { Logger } from '../../infra/runtime/log.ts';
import type { Micros } from '../../schemas/records.ts';
import type { AccountStore } from '../access/account-store.ts';
import type { AccessDeps } from '../access/steps.ts';
import type { StoredTurnover } from '../access/turnover-store.ts';
import type { FileLinks } from '../files/links.ts';
import type { SettledSample } from '../history/settled-sample.ts';
import type { HistoryStore } from '../history/store.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { ApiMetrics } from './api-metrics.ts';

export type AppDeps = Omit<AccessDeps, 'onFault'> & {
  readonly live: LiveMemory;
  /** Stored history; absent: what needs it answers 503. */
  readonly history?: HistoryStore;
  readonly accounts: AccountStore;
  /** Where settled answers are noted for the nightly check; absent: nowhere. */
  readonly settledSample?: SettledSample;
  /** The day's turnover that narrowing plans choose by; absent: chosen from the memory copy. */
  readonly turnover?: () => StoredTurnover | null;
  /** Links to archive files, and the store they lead to; absent: there is no archive. */
  readonly files?: FileLinks;
  readonly nowMicros: () => Micros;
  /** Whether the store of keys answers, for /readyz. */
  readonly areKeysReachable: () => Promise<boolean>;
  readonly metrics: ApiMetrics;
  readonly simulated: boolean;
  readonly log: Logger;
};
