// A sample of requests whose answers can never change, kept with their hashes: the nightly runner repeats them (OP-03).
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { isStorableJson } from '../../infra/runtime/postgres/storable.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../infra/runtime/process/outage-log.ts';
import { parseInstant } from '../../schemas/instants.ts';
import { isJsonObject } from '../../schemas/json-object.ts';
import type { Micros } from '../../schemas/records.ts';
import { hashSettledItems } from '../../schemas/settled-items.ts';
import { isNarrowing, type Plan } from '../contract/plans.ts';

type SettledAnswer = {
  readonly path: string;
  readonly input: unknown;
  /** As they were sent. */
  readonly items: string;
  readonly plan: Plan | null;
};

export type SettledSample = {
  /** Takes note of an answer, or does not; never waits. */
  readonly note: (answer: SettledAnswer) => void;
  readonly stop: () => Promise<void>;
};

/** A busy minute is sampled, a quiet day is stored completely: this number at once, and one more every ten seconds. */
const BURST = 200;
const REFILL_MS = 10_000;
const FLUSH_MS = 1_000;
const REQUEST_BYTES = 8_192;

/** Of readings, and of the marks that quantities are converted with. */
const RECEIVED = /"(?:mark_)?received_at":"([^"]*)"/g;

const INSERT = `insert into settled_requests (request_hash, path, request, items_sha256, earliest)
select decode(r.hash, 'hex'), r.path, r.request, r.items_sha256, to_timestamp(r.earliest_s)
from jsonb_to_recordset($1) as r (hash text, path text, request jsonb, items_sha256 text, earliest_s double precision)
on conflict do nothing`;

/** Earliest instant a request names; null when it names none that we know how to find, and for a further page. */
export const findEarliest = (input: unknown): Micros | null => {
  if (typeof input !== 'object' || input === null || 'cursor' in input) return null;
  const { from, as_of, at } = input as { readonly from?: unknown; readonly as_of?: unknown; readonly at?: unknown };
  const named = [from, as_of, ...(Array.isArray(at) ? at : [])].filter((text) => typeof text === 'string');
  const instants = named.map(parseInstant).filter((instant) => instant !== null);
  return instants.length === 0 ? null : Math.min(...instants);
};

type Kept = {
  readonly hash: string;
  readonly path: string;
  readonly request: unknown;
  /** The hash of `hashSettledItems`: an answer on another day has the same. */
  readonly items_sha256: string;
  readonly earliest_s: number;
};

type Asked = { readonly hash: string; readonly earliest: Micros };

/** Members in a fixed order: PostgreSQL returns the members of a request in its own order, and the nightly check sends them in that order. */
const sortMembers = (_name: string, value: unknown): unknown =>
  isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;

/** A plan that narrows gives the same request another meaning, so only requests of whole plans are kept. */
const toAsked = ({ path, input, plan }: SettledAnswer): Asked | null => {
  const earliest = (plan !== null && isNarrowing(plan)) || !isStorableJson(input) ? null : findEarliest(input);
  const text = JSON.stringify(input, sortMembers);
  if (earliest === null || text.length > REQUEST_BYTES) return null;
  return { hash: createHash('sha256').update(`${path}\n${text}`).digest('hex'), earliest };
};

/** The oldest reading in the items: if nothing was received for days, it is older than the requested instants. */
const findOldest = (items: string): Micros => {
  let oldest = '~';
  for (const [, text = ''] of items.matchAll(RECEIVED)) if (text < oldest) oldest = text;
  return parseInstant(oldest) ?? Number.POSITIVE_INFINITY;
};

const toKept = ({ path, input, items }: SettledAnswer, { hash, earliest }: Asked): Kept => ({
  ...{ hash, path, request: input },
  items_sha256: hashSettledItems(items),
  earliest_s: Math.min(earliest, findOldest(items)) / 1_000_000,
});

/** Writes once a second what was noted. While PostgreSQL is unavailable the sample is thinner: nothing waits for it. */
export const keepSettledSample = (pool: Pool, log: Logger): SettledSample => {
  let waiting: Kept[] = [];
  let permits = BURST;
  let refilledMs = performance.now();
  const mayKeep = (): boolean => {
    const nowMs = performance.now();
    permits = Math.min(BURST, permits + (nowMs - refilledMs) / REFILL_MS);
    refilledMs = nowMs;
    if (permits < 1) return false;
    permits -= 1;
    return true;
  };
  const outages = createOutageLog(log, 'settled requests cannot be kept for the nightly check');
  const flush = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    try {
      await pool.query(INSERT, [JSON.stringify(batch)]);
      outages.noteSuccess();
    } catch (err) {
      outages.noteFailure(err, { requests: batch.length });
    }
  };
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    note: (answer) => {
      const asked = toAsked(answer);
      if (asked !== null && mayKeep()) waiting.push(toKept(answer, asked));
    },
    stop: async () => {
      clearInterval(timer);
      await flush();
    },
  };
};
