// The pages of a screen's answer. A result that does not fit one page is kept, so that the following pages show the first one's evaluation (SC-05).
import { createHash, randomBytes } from 'node:crypto';
import { type ApiError, makeServiceError, ServiceError } from '../../schemas/errors.ts';
import { type JsonValue, makeRawJson, type NumberFormat } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import { isCovered, type PlanCode } from '../contract/plans.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { Answer, Context, InputContext } from './operation.ts';

/** Members of an answer before its items, in their order, and the plan and scope that it was evaluated in; `items` are JSON texts. */
export type ScreenResult = {
  readonly plan: PlanCode;
  readonly head: Readonly<Record<string, JsonValue | undefined>>;
  readonly scope?: JsonValue | undefined;
  readonly items: readonly string[];
};

type Kept = { readonly result: ScreenResult; readonly asked: string; readonly until: Micros; readonly bytes: number };
/** A page that begins at an item of a result; `id` names the result once it is kept. */
export type Page = { readonly id: string | null; readonly from: number; readonly result: ScreenResult };

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

const pages = new WeakMap<LiveMemory, ScreenPages>();

/** The kept results of the node that a memory copy belongs to. */
const findScreenPages = (live: LiveMemory): ScreenPages => {
  const held = pages.get(live) ?? new ScreenPages();
  pages.set(live, held);
  return held;
};

/** A cursor that belongs to no question; whether it belongs to this one is known when nothing else is wrong (SC-05). */
const UNKNOWN_CURSOR: ApiError = {
  code: 'DQL_JSON_SCHEMA',
  message: 'The cursor is not of this query, or older than 300 seconds.',
  hint: 'Run the query again.',
  path: '/cursor',
};

export const findCursorFaults = (cursor: string | undefined, { live, evaluatedAt }: InputContext): ApiError[] =>
  cursor === undefined || findScreenPages(live).has(cursor, evaluatedAt) ? [] : [UNKNOWN_CURSOR];

/** The page that a cursor names. Throws ServiceError for a cursor that names none. */
export const findPage = (
  cursor: string,
  by: { readonly asked: string; readonly plan: PlanCode },
  { live, evaluatedAt }: Context,
): Page => {
  const page = findScreenPages(live).find(cursor, { ...by, now: evaluatedAt });
  if (page === null) throw new ServiceError([UNKNOWN_CURSOR]);
  return page;
};

type PageOptions = { readonly limit: number; readonly asked: string; readonly numberFormat: NumberFormat };

/** The answer of one page. A result that has further pages is kept. Throws ServiceError when it does not fit at all. */
export const makePage = (page: Page, context: Context, options: PageOptions): Answer => {
  const { result, from } = page;
  const { limit, asked, numberFormat } = options;
  const next = from + limit;
  const isLast = next >= result.items.length;
  const id =
    page.id ?? (isLast ? null : findScreenPages(context.live).keep(result, { asked, now: context.evaluatedAt }));
  const rows = result.items.slice(from, next);
  const items = `[${rows.join(',')}]`;
  return {
    body: {
      ...result.head,
      items_sha256: result.head.as_of === null ? undefined : createHash('sha256').update(items).digest('hex'),
      scope: result.scope,
      receipt_id: context.receiptId,
      instruments: makeRawJson(items),
      page: { limit, returned: rows.length, next_cursor: id === null || isLast ? null : `${id}.${next}` },
    },
    numberFormat,
    measureRows: () => rows.map((row) => Buffer.byteLength(row) + 1),
    shorten: (fitting) => makePage({ ...page, id }, context, { ...options, limit: fitting }),
  };
};
