// The declaration of an operation, from which the route, the OpenAPI document, the challenge and later the tools are rendered.
import type { Static, TSchema } from 'typebox';
import type { ApiError } from '../../schemas/errors.ts';
import type { JsonValue, NumberFormat } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { KeyFacts } from '../access/account-store.ts';
import type { ScopeChoice } from '../access/scope.ts';
import type { Anchors } from '../anchors/anchors.ts';
import type { ArchiveManifest } from '../contract/archive.ts';
import type { Endpoint, Spoilt } from '../contract/endpoint.ts';
import type { Plan } from '../contract/plans.ts';
import type { Quota } from '../contract/quotas.ts';
import type { FileLinks } from '../files/links.ts';
import type { ItemsLimit, Refused } from '../history/fitting.ts';
import type { RowGroup } from '../history/row-groups.ts';
import type { HistoryStore } from '../history/store.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { Receipts } from '../payments/receipts.ts';
import type { AgentRules } from '../rules/desk.ts';

/** The key of a call, for what its owner alone may see. */
export type Caller = {
  /** Whose call it is; never shown. */
  readonly keyId: string;
  readonly plan: Plan;
  /** Null when the key no longer exists; rejects when the store of keys is unavailable. */
  readonly read: (day: string) => Promise<KeyFacts | null>;
  /** Open streams and requests being answered, over all processes. */
  readonly streams: () => Promise<number>;
  readonly inFlight: () => Promise<number>;
  /** Spends the given number of the day's quota, once per call, before the work; a 5xx answer returns them. Throws LimitReached when the quota is exceeded. */
  readonly spend: (quota: Quota, count: number) => Promise<void>;
};

/** Everything that one call may read. Reading is synchronous, so it is one consistent state. */
export type Context = {
  readonly live: LiveMemory;
  /** Null while no store of history is configured. */
  readonly history: HistoryStore | null;
  /** Null while there is no archive. */
  readonly archive: { readonly manifest: ArchiveManifest; readonly links: FileLinks } | null;
  /** Null while closed days cannot be read. */
  readonly anchors: Anchors | null;
  readonly receipts: Receipts;
  /** Null while rules cannot be read. */
  readonly rules: AgentRules | null;
  /** T of this call, from the service's clock. */
  readonly evaluatedAt: Micros;
  readonly receiptId: string;
  /** Bytes of `items` as JSON that the answer may have; the body is checked again in the format in which it is sent. */
  readonly itemsLimit: ItemsLimit;
  /** Whether a body reaches the caller: HEAD gives none, and one that is too large is refused. */
  readonly reaches: (body: JsonValue) => boolean;
  /** The answer is rendered from rows as values: a table was requested. */
  readonly keepsRows: boolean;
  /** Plan of the key; null on an open endpoint without one. */
  readonly plan: Plan | null;
  /** Null on an open endpoint without a key. */
  readonly caller: Caller | null;
  /** Address that pays for the call, lower case; null when a key or no one does. */
  readonly payer: string | null;
  /** Venues and instruments that a narrowing plan covers today. */
  readonly scopeOf: (plan: Plan) => ScopeChoice;
};

/** The context for understanding the members of a request (E-01 step 7). */
export type InputContext = {
  readonly live: LiveMemory;
  readonly evaluatedAt: Micros;
  readonly spoilt: Spoilt;
};

/** An endpoint with what its requests mean. */
export type ReadableEndpoint<Input = unknown, Understood = unknown> = Endpoint<Input> & {
  /** Understands the members that step 6 left whole; throws ServiceError with every fault of language and selection (E-01 step 7). */
  readonly understand: (input: Partial<Input>, context: InputContext) => Understood;
};

export type Answer = {
  readonly body: JsonValue;
  readonly numberFormat: NumberFormat;
  /** Rows as values, where they may also be requested as a table (N-15); empty unless the context keeps them. */
  readonly groups?: readonly RowGroup[];
  /** Gaps that accompany the rows of `items`: a table has no rows for them, so their count is a header (N-15). */
  readonly gaps?: number;
  /** The same page with at most the given number of rows, its cursor after the last one; absent if an answer has no pages. */
  readonly shorten?: (rows: number) => Answer;
  /** Bytes of each row of the page, with its comma, where rows differ in size. */
  readonly measureRows?: () => readonly number[];
  /** What would fit instead of the answer: the hint of a refusal (H-08). */
  readonly fits?: (refused: Refused) => string;
  /** `items_sha256` of an answer that can never change (N-14). */
  readonly settledAs?: string;
  /** Its `items` as they are sent, for the nightly re-check. */
  readonly settledItems?: string;
  /** Where a 302 leads. */
  readonly location?: string;
};

export type Operation<Input = unknown, Understood = unknown> = ReadableEndpoint<Input, Understood> & {
  /** Throws the faults of step 8, before anything is read; `run` throws the same. For a call with a price it runs before step 9. */
  readonly judge: (input: Input, context: Context, understood: Understood) => unknown;
  readonly run: (input: Input, context: Context, understood: Understood) => Answer | Promise<Answer>;
};

/** Members whose types follow from the schemas, or that may be left out. */
type Declared = 'input' | 'output' | 'refine' | 'understand' | 'judge';

/** Declares an operation; its input arrives at `run` only when steps 6 and 7 found it valid. */
export const defineOperation = <S extends TSchema, Understood = undefined>(
  operation: Omit<Operation<Static<S>, Understood>, Declared> & {
    readonly input: S;
    readonly output: TSchema;
    readonly refine?: (input: Partial<Static<S>>, spoilt: Spoilt) => readonly ApiError[];
    readonly understand?: (input: Partial<Static<S>>, context: InputContext) => Understood;
    readonly judge?: (input: Static<S>, context: Context, understood: Understood) => unknown;
  },
): Operation =>
  ({ refine: () => [], understand: () => undefined, judge: () => undefined, ...operation }) as unknown as Operation;

const NOTHING_SPOILT: Spoilt = new Set();

/** The answer to an input of valid shape, as a request without faults gets it. */
export const answerTo = (
  { understand, run }: Operation,
  input: unknown,
  context: Context,
): Answer | Promise<Answer> => {
  const { live, evaluatedAt } = context;
  return run(input, context, understand(input as Partial<unknown>, { live, evaluatedAt, spoilt: NOTHING_SPOILT }));
};
