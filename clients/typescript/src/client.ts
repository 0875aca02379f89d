// The client: the operations of the API by their names, its pages, its live stream.
import { type Digits, ENDPOINTS, type Operations } from './api-types.ts';
import { type Caller, type CallOptions, call, type EndpointName, type Retry } from './call.ts';
import { follow } from './follow.ts';
import type { Followed, FollowOptions, FollowRequest } from './followed.ts';
import { type LiveEvent, type LiveOptions, type LiveRequest, openLive } from './live.ts';
import { requestPages, requestWindows } from './windows.ts';

export type ClientOptions = {
  /** API key; default the variable PERP_API_KEY, null for none. */
  readonly key?: string | null;
  /** Address of the service; default the variable PERP_BASE_URL, else the demo's. */
  readonly baseUrl?: string;
  /** Figures as numbers (`json`), or as text with the venue's digits (`string`). */
  readonly numberFormat?: 'json' | 'string';
  /** Repetitions after 429, 502, 503, 504 or no answer: 4, and 0 when `fetch` is given, because each call of one that pays pays again. */
  readonly retries?: number;
  /** Longest time of one attempt, reading included. */
  readonly timeoutMs?: number;
  /** A call is not repeated when the service requests a longer wait than this. */
  readonly longestWaitMs?: number;
  /** Called before each repetition. */
  readonly onRetry?: (retry: Retry) => void;
  /** Another fetch, such as one that pays by x402. */
  readonly fetch?: typeof fetch;
};

type OperationName = keyof Operations;
type RequestOf<Name extends OperationName> = Operations[Name]['request'];
type AnswerOf<Name extends OperationName, F extends Digits> = Operations<F>[Name]['answer'];
/** Operations without input, or without required input. */
type Optional<Name extends OperationName> = Record<never, never> extends RequestOf<Name> ? Name : never;

/** A request may be left out where it has no required member. */
type Ask<Name extends OperationName, F extends Digits> =
  Name extends Optional<Name>
    ? (request?: RequestOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name, F>>
    : (request: RequestOf<Name>, options?: CallOptions) => Promise<AnswerOf<Name, F>>;

/** Operations whose answer goes on: by a cursor, or by the next part of the period. */
export type PagedName = 'instruments' | 'screen' | 'liquidations' | 'archive' | 'history' | 'candles';
/** Operations whose rows come as a table too. */
export type TableName = 'history' | 'candles' | 'liquidations';
export type TableFormat = 'parquet' | 'csv' | 'ndjson';

export type Client<F extends Digits = number> = { readonly [Name in OperationName]: Ask<Name, F> } & {
  readonly baseUrl: string;
  /** Every page; a period of history or candles that is too long for one answer is requested in parts. */
  readonly pages: <Name extends PagedName>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ) => AsyncGenerator<AnswerOf<Name, F>, void, void>;
  /** Rows of one answer as a file of a table. */
  readonly table: <Name extends TableName>(
    name: Name,
    request: RequestOf<Name> & { readonly format: TableFormat },
    options?: CallOptions,
  ) => Promise<Uint8Array<ArrayBuffer>>;
  /** Every page, or part of the period, as a file of a table. */
  readonly tables: <Name extends TableName>(
    name: Name,
    request: RequestOf<Name> & { readonly format: TableFormat },
    options?: CallOptions,
  ) => AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>;
  /** The answer as the text that came: for hashes and proofs. */
  readonly text: <Name extends OperationName>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ) => Promise<string>;
  /** Events as they happen; comes back by itself, without a hole, when the connection is lost. */
  readonly live: (request?: LiveRequest, options?: LiveOptions) => AsyncGenerator<LiveEvent<F>, void, void>;
  /** Readings from a past instant on into the live stream, every one once. */
  readonly follow: (request: FollowRequest, options?: FollowOptions) => AsyncGenerator<Followed<F>, void, void>;
};

const DEMO = 'http://127.0.0.1:8080';
const RETRIES = 4;
const TIMEOUT_MS = 30_000;
const LONGEST_WAIT_MS = 60_000;
const MEDIA_TYPES: Readonly<Record<TableFormat, string>> = {
  parquet: 'application/vnd.apache.parquet',
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
};
const BY_CURSOR: ReadonlySet<PagedName> = new Set(['instruments', 'screen', 'liquidations', 'archive']);
/** Every endpoint but the stream, which `live` reads. */
const OPERATIONS = Object.keys(ENDPOINTS).filter((name): name is OperationName => name !== 'stream');

type Environment = { readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
const readSetting = (name: string): string | undefined => (globalThis as Environment).process?.env?.[name] || undefined;

const checkAddress = (text: string): string => {
  const address = text.trim().replace(/\/+$/, '');
  if (!/^https?:\/\/[^/]/.test(address) || !URL.canParse(address))
    throw new TypeError(`The base URL "${address}" is not an address: write http://127.0.0.1:8080.`);
  return address;
};

/** A key out of a file ends with a line break. What no header can have is refused here: `fetch` would write the key into its error. */
const checkKey = (text: string | null): string | null => {
  const key = text?.trim() || null;
  if (key !== null && !/^[\x21-\x7E]+$/.test(key))
    throw new TypeError('The API key has a character that no key has, such as a space, a line break or a curly quote.');
  return key;
};

const toCaller = (options: ClientOptions): Caller => ({
  baseUrl: checkAddress(options.baseUrl ?? readSetting('PERP_BASE_URL') ?? DEMO),
  key: checkKey(options.key === undefined ? (readSetting('PERP_API_KEY') ?? null) : options.key),
  // Looked up at each call: programs replace it.
  fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  retries: options.retries ?? (options.fetch === undefined ? RETRIES : 0),
  timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  longestWaitMs: options.longestWaitMs ?? LONGEST_WAIT_MS,
  isExact: options.numberFormat === 'string',
  onRetry: options.onRetry ?? (() => undefined),
});

const readJson = async (response: Response): Promise<unknown> => {
  const body: unknown = await response.json();
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new SyntaxError('no object');
  return body;
};
const readText = (response: Response): Promise<string> => response.text();

type TableRequest = { readonly format: TableFormat; readonly from?: string; readonly to?: string };
type Page = { readonly next_cursor: string | null };
/** A table with where its answer goes on, which a header says. */
const readTable = async (response: Response): Promise<{ bytes: Uint8Array<ArrayBuffer>; page: Page }> => {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const page = JSON.parse(response.headers.get('x-service-page') ?? '{"next_cursor":null}') as Page;
  return { bytes, page };
};

const makeMethods = (
  callOperation: (operation: EndpointName, request: object, options?: CallOptions) => Promise<unknown>,
) =>
  Object.fromEntries(
    OPERATIONS.map((name) => [
      name,
      (request: object = {}, options: CallOptions = {}) => callOperation(name, request, options),
    ]),
  );

const build = <F extends Digits>(options: ClientOptions): Client<F> => {
  const caller = toCaller(options);
  const callOperation = (operation: EndpointName, request: object, { signal }: CallOptions = {}): Promise<unknown> =>
    call(caller, { operation, request: { ...request }, signal }, readJson);
  const goOn = (name: PagedName, request: object, callOptions?: CallOptions): AsyncGenerator<unknown> =>
    BY_CURSOR.has(name)
      ? requestPages(
          request,
          (page) => callOperation(name, page, callOptions) as Promise<{ page: { next_cursor: string | null } }>,
        )
      : requestWindows(request, (part) => callOperation(name, part, callOptions));
  const askTable = (name: TableName, { format, ...rest }: TableRequest, { signal }: CallOptions = {}) =>
    call(caller, { operation: name, request: rest, accept: MEDIA_TYPES[format], signal }, readTable);
  const table = async (name: TableName, request: TableRequest, callOptions?: CallOptions) =>
    (await askTable(name, request, callOptions)).bytes;
  async function* tables(name: TableName, request: TableRequest, callOptions?: CallOptions) {
    const ask = (part: TableRequest) => askTable(name, part, callOptions);
    for await (const { bytes } of BY_CURSOR.has(name) ? requestPages(request, ask) : requestWindows(request, ask))
      yield bytes;
  }
  const text = (operation: OperationName, request: object, { signal }: CallOptions = {}) =>
    call(caller, { operation, request: { ...request }, accept: 'application/json', signal }, readText);
  const events = (request: LiveRequest = {}, liveOptions: LiveOptions = {}) =>
    openLive<F>(caller, request, liveOptions);
  const history = (request: object, signal: AbortSignal) => goOn('history', request, { signal });
  const sources = { live: events, history } as unknown as Parameters<typeof follow<F>>[2];
  return {
    ...makeMethods(callOperation),
    baseUrl: caller.baseUrl,
    pages: goOn,
    table,
    tables,
    text,
    live: events,
    follow: (request: FollowRequest, followOptions: FollowOptions = {}) => follow<F>(request, followOptions, sources),
  } as unknown as Client<F>;
};

type CreateClient = {
  (options: ClientOptions & { readonly numberFormat: 'string' }): Client<string>;
  (options?: ClientOptions & { readonly numberFormat?: 'json' }): Client<number>;
  /** Options whose format of figures is not known where they are written. */
  (options: ClientOptions): Client<Digits>;
};

/** A client of the service. With `numberFormat: 'string'` every figure is typed, and comes, as text with the venue's digits. */
export const createClient = ((options: ClientOptions = {}) => build(options)) as CreateClient;
