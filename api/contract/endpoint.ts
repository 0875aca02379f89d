// The declaration of an endpoint, from which its checks, its schema and its documentation are made.
import type { ApiError, ErrorCode } from '../../schemas/errors.ts';
import type { ArchiveManifest } from './archive.ts';
import type { Deprecation } from './deprecation.ts';
import type { Shape } from './json-schema.ts';

/** Classes of the day's counters (AC-01 `by_class`); `account` and `receipt` are counted nowhere. */
export type RequestClass =
  | 'account'
  | 'receipt'
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

/** Members that were sent but are faulty: no conclusion may be drawn from their absence. */
export type Spoilt = ReadonlySet<string>;

/** The input from a URL: parameters of its path and of its query. */
export type Sent = { readonly params: Readonly<Record<string, string>>; readonly query: URLSearchParams };
/** The price of a call without a key, in atomic USDC; `unknown`: no such resource; `unsold`: needs a key. A malformed call has no price. */
export type Quote =
  | { readonly price: number; readonly class: string }
  | { readonly errors: readonly ApiError[] }
  | 'unknown'
  | 'unsold';

export type Endpoint<Input = unknown> = {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Parameters of the path are in braces. */
  readonly path: string;
  /** `open` needs no key; `required` needs one, or a payment when there is a price. */
  readonly key: 'open' | 'required';
  readonly class: RequestClass;
  /** A good answer is a 302 to the requested resource. */
  readonly redirects?: true;
  /** Price of a call in atomic USDC; null cannot be paid per call. */
  readonly price: number | null;
  /** What a call costs, in words, where that depends on what the call names. */
  readonly pricing?: string;
  /** The price of this very call, where it depends on what the call names. */
  readonly quote?: (sent: Sent, manifest: ArchiveManifest | null) => Promise<Quote>;
  /** Its rows may be answered as a table (N-15), and a settled answer is cached for good (N-14). */
  readonly rows?: true;
  /** Seconds an answer may be cached (N-14); null: `no-store`. */
  readonly cacheS: number | null;
  readonly summary: string;
  /** It will be removed, and every answer states when (VER-01). */
  readonly deprecated?: Deprecation;
  /** The tool server offers it to agents, under its name (T-02). */
  readonly tool?: true;
  /** Query parameters of a GET, body of a POST. */
  readonly input: Shape;
  readonly output: Shape;
  /** Error codes that it may return in addition to those that follow from its method, key and price. */
  readonly codes: readonly ErrorCode[];
  readonly example: {
    /** The caller's question, in one sentence. */
    readonly question: string;
    readonly input: Readonly<Record<string, unknown>>;
    /** A real answer, its lists shortened; of a stream the text of its first events. */
    readonly output: Readonly<Record<string, unknown>> | string;
  };
  /** Faults of shape that a schema cannot express, of the members it found no fault in (E-01 step 6). */
  readonly refine: (input: Partial<Input>, spoilt: Spoilt) => readonly ApiError[];
};

/** Names of the parameters of a path. */
export const listPathParameters = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
