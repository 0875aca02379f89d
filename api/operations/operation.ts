// What an operation is: one declaration from which the route, the OpenAPI document, the challenge and later the tools are rendered.
import type { Static, TSchema } from 'typebox';
import type { ApiError, ErrorCode } from '../../schemas/errors.ts';
import type { JsonValue, NumberFormat } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { KeyFacts } from '../access/account-store.ts';
import type { Plan } from '../access/plans.ts';
import type { Quota } from '../access/quotas.ts';
import type { ScopeChoice } from '../access/scope.ts';
import type { ArchiveManifest } from '../archive/manifest.ts';
import type { FileLinks } from '../files/links.ts';
import type { HistoryStore } from '../history/store.ts';
import type { LiveMemory } from '../live/memory.ts';

/** Classes of the day's counters (AC-01 `by_class`); `account` is counted nowhere. */
export type RequestClass =
  | 'account'
  | 'snapshots'
  | 'history'
  | 'candles'
  | 'screen'
  | 'books'
  | 'liquidations'
  | 'reference'
  | 'agent_state'
  | 'stream'
  | 'archive';

/** The key of a call, for what its owner alone may see. */
export type Caller = {
  /** Whose call it is; never shown. */
  readonly keyId: string;
  readonly plan: Plan;
  /** Null when the key is gone; rejects when the store of keys is away. */
  readonly read: (day: string) => Promise<KeyFacts | null>;
  /** Open streams and requests being answered, over all processes. */
  readonly streams: () => Promise<number>;
  readonly inFlight: () => Promise<number>;
  /** Counts so many of the day's quota, before the work; throws LimitReached, and counts none, when they are not there. */
  readonly spend: (quota: Quota, count: number) => Promise<void>;
};

/** What one call may read; nothing else reaches an operation. Reading is synchronous, so it is one consistent state. */
export type Context = {
  readonly live: LiveMemory;
  /** Null while no store of history is configured. */
  readonly history: HistoryStore | null;
  /** Null while there is no archive. */
  readonly archive: { readonly manifest: ArchiveManifest; readonly links: FileLinks } | null;
  /** T of this call, from the service's clock. */
  readonly evaluatedAt: Micros;
  readonly receiptId: string;
  /** Bytes of `items` as JSON that the answer may have; what is sent is judged again in its own format. */
  readonly itemsLimit: number;
  /** Plan of the key; null on an open endpoint without one. */
  readonly plan: Plan | null;
  /** Null on an open endpoint without a key. */
  readonly caller: Caller | null;
  /** Venues and instruments that a narrowing plan covers today. */
  readonly scopeOf: (plan: Plan) => ScopeChoice;
};

/** Members that were sent with a fault of their own: nothing follows from their absence. */
export type Spoilt = ReadonlySet<string>;

/** What the members of a request are understood with (E-01 step 7). */
export type Reading = {
  readonly live: LiveMemory;
  readonly evaluatedAt: Micros;
  readonly spoilt: Spoilt;
};

export type Answer = {
  readonly body: JsonValue;
  readonly numberFormat: NumberFormat;
  /** The bytes of `items`, where rows may also be asked for as lines (N-15). */
  readonly itemsText?: string;
  /** Gaps that stand beside the rows of `items`: a table has no rows for them, so their count is a header (N-15). */
  readonly gaps?: number;
  /** What would fit when a share of the answer does: the hint of a refusal (H-08). */
  readonly fits?: (share: number) => string;
  /** `items_sha256` of an answer that can never change (N-14). */
  readonly settledAs?: string;
  /** Where a 302 leads. */
  readonly location?: string;
};

/** What a URL gives: parameters of its path and of its query. */
export type Sent = { readonly params: Readonly<Record<string, string>>; readonly query: URLSearchParams };
/** What a call without a key costs, in atomic USDC; `unknown` names nothing, `unsold` needs a key. */
export type Quote = { readonly price: number; readonly class: string } | 'unknown' | 'unsold';

/** What is declared of anything callable: enough for its checks, its shape and its place in the documents. */
export type Endpoint<Input = unknown, Understood = unknown> = {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Parameters of the path stand in braces. */
  readonly path: string;
  /** `open` needs no key; `required` needs one, or a payment when there is a price. */
  readonly key: 'open' | 'required';
  readonly class: RequestClass;
  /** Price of a call in atomic USDC; null cannot be paid per call. */
  readonly price: number | null;
  /** The price of this very call, where it depends on what the call names. */
  readonly quote?: (sent: Sent, manifest: ArchiveManifest | null) => Promise<Quote>;
  /** Seconds an answer may be cached (N-14); null: `no-store`. */
  readonly cacheS: number | null;
  readonly summary: string;
  /** Query parameters of a GET, body of a POST. */
  readonly input: TSchema;
  readonly output: TSchema;
  /** Codes it may answer besides those that follow from its method, key and price. */
  readonly codes: readonly ErrorCode[];
  readonly example: {
    /** What its caller wants to know, one sentence. */
    readonly question: string;
    readonly input: Readonly<Record<string, unknown>>;
    /** A real answer, its lists shortened; of a stream the text of its first events. */
    readonly output: Readonly<Record<string, unknown>> | string;
  };
  /** Faults of shape that a schema cannot express, of the members it found no fault in (E-01 step 6). */
  readonly refine: (input: Partial<Input>, spoilt: Spoilt) => readonly ApiError[];
  /** What the members that step 6 left whole mean; throws ServiceError with every fault of language and selection (E-01 step 7). */
  readonly understand: (input: Partial<Input>, reading: Reading) => Understood;
};

export type Operation<Input = unknown, Understood = unknown> = Endpoint<Input, Understood> & {
  readonly run: (input: Input, context: Context, understood: Understood) => Answer | Promise<Answer>;
};

type Optional = 'input' | 'refine' | 'understand';

/** Declares an operation; its input arrives at `run` only when steps 6 and 7 found it lawful. */
export const defineOperation = <S extends TSchema, Understood = undefined>(
  operation: Omit<Operation<Static<S>, Understood>, Optional> & {
    readonly input: S;
    readonly refine?: (input: Partial<Static<S>>, spoilt: Spoilt) => readonly ApiError[];
    readonly understand?: (input: Partial<Static<S>>, reading: Reading) => Understood;
  },
): Operation => ({ refine: () => [], understand: () => undefined, ...operation }) as unknown as Operation;

const NOTHING_SPOILT: Spoilt = new Set();

/** The answer to an input of lawful shape, as a request without faults gets it. */
export const answerTo = (
  { understand, run }: Operation,
  input: unknown,
  context: Context,
): Answer | Promise<Answer> => {
  const { live, evaluatedAt } = context;
  return run(input, context, understand(input as Partial<unknown>, { live, evaluatedAt, spoilt: NOTHING_SPOILT }));
};
