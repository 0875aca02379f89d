// Results of screens that did not fit one page, kept so that the following pages show the first one's evaluation (SC-05).
import { randomBytes } from 'node:crypto';
import { makeServiceError } from '../../schemas/errors.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import { isCovered, type PlanCode } from '../contract/plans.ts';
import type { LiveMemory } from '../live/memory.ts';

/** Members of an answer before its items, in their order, and the plan and scope that it was evaluated in; `items` are JSON texts. */
export type ScreenResult = {
  readonly plan: PlanCode;
  readonly head: Readonly<Record<string, JsonValue | undefined>>;
  readonly scope?: JsonValue | undefined;
  readonly items: readonly string[];
};

type Kept = { readonly result: ScreenResult; readonly asked: string; readonly until: Micros; readonly bytes: number };
/** Where a page begins in a kept result. */
type Page = { readonly id: string; readonly from: number; readonly result: ScreenResult };

const KEPT_FOR: Micros = 300_000_000;
const MOST_BYTES = 64 * 1_048_576;
const CURSOR = /^([A-Za-z0-9_-]{22})\.(\d{1,7})$/;

/** Its pages could not be read, and every other result would have been dropped for it (D-445). */
const refuseLarge = (bytes: number, most: number): Error =>
  makeServiceError('DQL_LIMIT', `The pages of the result have ${bytes} bytes, the limit is ${most}.`, {
    hint: 'Narrow where, or select fewer expressions.',
  });

/** Bounded by bytes: the oldest results go first, and their cursors are answered as unknown ones are. */
export class ScreenPages {
  readonly #kept = new Map<string, Kept>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Keeps a result; returns its name. `asked` identifies the owner and the request. Throws ServiceError when it does not fit at all. */
  keep(result: ScreenResult, { asked, now }: { readonly asked: string; readonly now: Micros }): string {
    const bytes = result.items.reduce((sum, { length }) => sum + length, 0);
    if (bytes > this.#mostBytes) throw refuseLarge(bytes, this.#mostBytes);
    const id = randomBytes(16).toString('base64url');
    this.#kept.set(id, { result, asked, until: now + KEPT_FOR, bytes });
    this.#bytes += bytes;
    for (const [oldest, { until }] of this.#kept) {
      if (until > now && this.#bytes <= this.#mostBytes) break;
      this.#forget(oldest);
    }
    return id;
  }

  /** Whether a cursor names a page of any question that is still kept. */
  has(cursor: string, now: Micros): boolean {
    return this.#read(cursor, now) !== null;
  }

  /** The page a cursor names; null for one that is unknown, too old, of another question, or of a plan that covered more than the caller's. */
  find(
    cursor: string,
    { asked, plan, now }: { readonly asked: string; readonly plan: PlanCode; readonly now: Micros },
  ): Page | null {
    const read = this.#read(cursor, now);
    if (read === null || read.kept.asked !== asked || !isCovered(read.kept.result.plan, plan)) return null;
    return { id: read.id, from: read.from, result: read.kept.result };
  }

  #read(cursor: string, now: Micros): { readonly id: string; readonly from: number; readonly kept: Kept } | null {
    const [, id = '', first = '0'] = CURSOR.exec(cursor) ?? [];
    const from = Number(first);
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.until < now || from >= kept.result.items.length) return null;
    return { id, from, kept };
  }

  #forget(id: string): void {
    this.#bytes -= this.#kept.get(id)?.bytes ?? 0;
    this.#kept.delete(id);
  }
}

export const toCursor = ({ id, from }: Pick<Page, 'id' | 'from'>): string => `${id}.${from}`;

const pages = new WeakMap<LiveMemory, ScreenPages>();

/** The kept results of the node that a memory copy belongs to. */
export const findScreenPages = (live: LiveMemory): ScreenPages => {
  const held = pages.get(live) ?? new ScreenPages();
  pages.set(live, held);
  return held;
};
