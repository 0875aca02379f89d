// Reads /status.json and /incidents.json of the API for pages; keeps the last answer for when the API is unavailable.
import { fetchJson } from '../../infra/runtime/network/fetch-json.ts';
import { isYounger } from '../../infra/runtime/time/kept-age.ts';
import type { Site } from '../account-app/site.ts';

export type Level = { readonly p50: number; readonly p99: number } | null;
export type LayerStatus = {
  readonly layer: string;
  readonly state: string;
  readonly listings: number;
  readonly present: number;
  readonly last_received: string | null;
  readonly receipt_lag_ms: Level;
  readonly days: readonly { readonly day: string; readonly present_share: number | null }[];
};
export type VenueStatus = {
  readonly venue: string;
  readonly name: string;
  readonly state: string;
  readonly state_since: string | null;
  readonly pipeline_lag_ms: Level;
  readonly layers: readonly LayerStatus[];
};
export type Incident = {
  readonly id: string;
  readonly venue: string | null;
  readonly layers: readonly string[];
  readonly from: string;
  readonly to: string | null;
  readonly gap_cause: string | null;
  readonly state: string;
  readonly note: string;
};
export type Status = {
  readonly evaluated_at: string;
  readonly venues: readonly VenueStatus[];
  readonly service: {
    readonly answers_ms: Readonly<
      Record<string, { readonly p50: number; readonly p99: number; readonly count: number }>
    >;
    readonly stream_delivery_ms: Level;
    readonly settled_recheck_failures: number | null;
  };
  readonly anchored: { readonly day: string; readonly status: string } | null;
  /** Null: what is stored (incidents, presence, `anchored`) was never read. */
  readonly history_read_at: string | null;
};
/** `isOld`: the API does not answer now; this is its last answer. `incidents` is null while they cannot be read: that is not none. */
export type KnownStatus = {
  readonly status: Status;
  readonly incidents: readonly Incident[] | null;
  readonly isOld: boolean;
};

export const ANSWER_MS = 3_000;
/** Age at which the answer is requested again: the API itself checks every ten seconds. */
const KEPT_MS = 5_000;

const read = (url: string): Promise<unknown> => fetchJson(url, { withinMs: ANSWER_MS });

/** The reader returns null until the first answer. */
export const createStatusReader = ({
  urls,
  nowMs,
}: Pick<Site, 'urls' | 'nowMs'>): (() => Promise<KnownStatus | null>) => {
  let known: KnownStatus | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  const refresh = async (): Promise<void> => {
    try {
      const [status, incidents] = await Promise.all([
        read(`${urls.api}/status.json`) as Promise<Status>,
        (read(`${urls.api}/incidents.json`) as Promise<{ items: readonly Incident[] }>).catch(() => null),
      ]);
      known = { status, incidents: incidents?.items ?? null, isOld: false };
      readAt = nowMs();
    } catch {
      if (known !== null) known = { ...known, isOld: true };
    } finally {
      reading = null;
    }
  };
  return async () => {
    if (isYounger(KEPT_MS, readAt, nowMs())) return known;
    reading ??= refresh();
    await reading;
    return known;
  };
};
