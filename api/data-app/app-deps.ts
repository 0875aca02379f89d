// The dependencies of the data app.
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { Micros } from '../../schemas/records.ts';
import type { AccountStore } from '../access/account-store.ts';
import type { AccessDeps } from '../access/steps.ts';
import type { StoredTurnover } from '../access/turnover-store.ts';
import type { Anchors } from '../anchors/anchors.ts';
import type { FileLinks } from '../files/links.ts';
import type { SettledSample } from '../history/settled-sample.ts';
import type { HistoryStore } from '../history/store.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { Receipts } from '../payments/receipts.ts';
import type { AgentRules } from '../rules/desk.ts';
import type { RuleMoves } from '../rules/moves.ts';
import type { StatusStore } from '../status/status-store.ts';
import type { StreamHub } from '../stream/hub.ts';
import type { ApiMetrics } from './api-metrics.ts';

export type AppDeps = Omit<AccessDeps, 'onFault'> & {
  readonly live: LiveMemory;
  /** Streams over the copy; created before the copy is filled, because the hub observes what is applied. */
  readonly hub: StreamHub;
  /** How clients reach the API. */
  readonly baseUrl: string;
  /** The account site, which has the documentation and the changelog as pages; absent when there is no site. */
  readonly accountUrl?: string;
  /** Addresses of proxies whose X-Forwarded-For is trusted: limits by address count the address in it (P-05). */
  readonly trustedProxies?: readonly string[];
  /** Stored history; absent: what needs it answers 503. */
  readonly history?: HistoryStore;
  readonly accounts: AccountStore;
  readonly receipts: Receipts;
  /** Where settled answers are noted for the nightly check; absent: nowhere. */
  readonly settledSample?: SettledSample;
  /** The day's turnover that narrowing plans choose by; absent: chosen from the memory copy. */
  readonly turnover?: () => StoredTurnover | null;
  /** Links to archive files, and the store they lead to; absent: there is no archive. */
  readonly files?: FileLinks;
  /** Closed days and their proofs; absent when there are none. */
  readonly anchors?: Anchors;
  /** Agent rules; absent: they cannot be read. */
  readonly rules?: AgentRules;
  /** Their moves, for streams; absent: none are sent. */
  readonly moves?: RuleMoves;
  readonly nowMicros: () => Micros;
  /** Whether the store of keys answers, for /readyz. */
  readonly areKeysReachable: () => Promise<boolean>;
  /** Whether the store of history responds, for /readyz; absent when there is no store. */
  readonly isHistoryReachable?: () => Promise<boolean>;
  /** Incidents and presence of the past; absent: the status leaves them out. */
  readonly statusStore?: StatusStore;
  readonly metrics: ApiMetrics;
  readonly simulated: boolean;
  readonly log: Logger;
};
