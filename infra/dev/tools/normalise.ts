// Reads recordings of a venue and prints their messages, one normalised record a line (docs/records.md); the same mapper as live.
//
//   node infra/dev/tools/normalise.ts --venue <id> [--assembled] FILE...
import { once } from 'node:events';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type ReferenceState,
  type Unexpected,
  VenueError,
  type VenueMessage,
  VenueRefusal,
} from '../../../ingest/venues/contract/listings.ts';
import { LostChange, type Mapped, type MapState, UnreadablePart } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { Chain } from '../../../ingest/venues/shared/book-sync.ts';
import { watchUnexpected } from '../../../ingest/venues/shared/unexpected.ts';
import { parseRequest } from '../../../ingest/venues/shared/wire.ts';
import { formatInstant, parseInstant } from '../../../schemas/instants.ts';
import { type JsonValue, sortByKey, writeJson } from '../../../schemas/json.ts';
import { parseJson } from '../../../schemas/json-object.ts';
import type { ListingRecord, ListingValues, Micros, NormalisedRecord } from '../../../schemas/records.ts';
import { compareBytes } from '../../../schemas/text-order.ts';
import { describeError } from '../../../schemas/thrown.ts';
import { isHelpAsked } from '../../runtime/process/print-outcome.ts';
import { type BookForm, RecordedBooks } from './recorded-books.ts';
import { type RecordingLine, readLines } from './recording-lines.ts';

export type Counts = {
  messages: number;
  records: number;
  unread: number;
  errors: number;
  /** Content unknown to the venue's file, by kind. */
  readonly unexpected: Map<Unexpected, number>;
};

type NormaliseOptions = {
  readonly venue: Venue;
  readonly files: readonly string[];
  readonly assembled: boolean;
  /** Receives one printed line without its end. */
  readonly write: (line: string) => void | Promise<void>;
};

type Place = { readonly file: string; readonly line: number };
/** A printed record: with `--assembled` books have other values than those of the message. */
type Printed = { readonly record: Omit<NormalisedRecord, 'values'> & { readonly values: unknown } };

/** Recordings without a receive time count as received at the start of 2000: the output never depends on the clock. */
const NO_TIME = parseInstant('2000-01-01T00:00:00Z') as Micros;
/** The end of our instants (N-03). */
const LATEST = parseInstant('2100-01-01T00:00:00Z') as Micros;
/** Reads every file in order; listings, and what a connection told, continue from one file to the next until its address is opened again. */
export const normalise = async ({ venue, files, assembled, write }: NormaliseOptions): Promise<Counts> => {
  const counts: Counts = { messages: 0, records: 0, unread: 0, errors: 0, unexpected: new Map() };
  const count = (kind: Unexpected): void => void counts.unexpected.set(kind, (counts.unexpected.get(kind) ?? 0) + 1);
  const session = new Session(venue, assembled ? 'assembled' : 'published', count);
  for (const path of files) {
    const attribute = assembled ? await readChains(venue, path) : () => null;
    let line = 0;
    for await (const text of readLines(path)) {
      line++;
      const place = { file: basename(path), line };
      for (const printed of readLine(session, text, { counts, attribute })) await write(toText(printed, place));
    }
  }
  return counts;
};

type Fault = { readonly fault: Pick<VenueError, 'code' | 'message'>; readonly venue: string };
type Reading = { readonly counts: Counts; readonly attribute: (id: bigint) => string | null };

const readLine = (session: Session, text: string, { counts, attribute }: Reading): readonly (Printed | Fault)[] => {
  if (text === '') return [];
  const line = parseLine(text);
  if (line?.dir === 'open') session.open(line.url ?? '');
  if (line !== null && line.dir !== 'in') return [];
  counts.messages++;
  const message = line === null ? null : toMessage(line, session.venue, attribute);
  const { printed, faults } = message === null ? UNREAD : session.read(message);
  counts.records += printed.length;
  // After a refusal the message was read, but has no content for us.
  const counted = faults.filter((fault) => !(fault instanceof VenueRefusal));
  const bad = counted.filter(({ code }) => code !== 'VENUE_UNKNOWN_LISTING');
  if (bad.length === 0 && counted.length > 0) counts.unread++;
  counts.errors += bad.length;
  return [...printed, ...bad.map((fault) => ({ fault, venue: session.venue.id }))];
};

const DIRECTIONS: ReadonlySet<unknown> = new Set<RecordingLine['dir']>(['in', 'out', 'open']);

const parseLine = (text: string): RecordingLine | null => {
  const line = parseJson(text) as RecordingLine | null | undefined;
  return typeof line?.raw === 'string' && DIRECTIONS.has(line.dir) ? line : null;
};

/** `guessed`: the request is one that would return such a response; its limit is unknown. */
type ReadMessage = VenueMessage & { readonly guessed: boolean };

/** Null when the time of receipt is no instant of ours. */
const toMessage = (line: RecordingLine, venue: Venue, attribute: Reading['attribute']): ReadMessage | null => {
  const received_at = toReceivedAt(line.recv_ms ?? null);
  const bytes = Buffer.from(line.raw, 'utf8');
  const asked = line.kind === 'rest' && parseRequest(line.url ?? null) !== null ? (line.url ?? null) : null;
  const request = asked ?? (line.kind === 'rest' ? guessRequest(venue, line.raw, attribute) : null);
  if (received_at === null) return null;
  return {
    kind: line.kind === 'rest' ? 'response' : 'frame',
    guessed: line.kind === 'rest' && asked === null,
    received_at,
    request,
    payload: venue.decode ? venue.decode(bytes) : bytes,
  };
};

const toReceivedAt = (ms: unknown): Micros | null => {
  if (typeof ms !== 'number') return NO_TIME;
  const at = Math.round(ms * 1000);
  return at >= 0 && at <= LATEST ? at : null;
};

/** Venues send no white space between members; a tool that wrote a recording anew may have added some. */
const readSequence = (venue: Venue, raw: string): Chain | null =>
  venue.sequence(/[{[:,]\s/.test(raw) ? raw.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1') : raw);

/** The request of a book whose own is not recorded: its update id lies on one symbol's chain of diffs, which proves the symbol. */
const guessRequest = (venue: Venue, raw: string, attribute: Reading['attribute']): string | null => {
  const chain = readSequence(venue, raw);
  if (chain?.kind !== 'snapshot' || chain.symbol !== '' || chain.last === null) return null;
  const symbol = attribute(chain.last);
  return symbol === null ? null : (venue.bookSnapshot?.({ venue_symbol: symbol }, venue.endpoints).url ?? null);
};

/** Reads the diffs of a recording; the returned function names the one symbol on whose chain an update id lies. */
const readChains = async (venue: Venue, path: string): Promise<(id: bigint) => string | null> => {
  const chains = new Map<string, Chain[]>();
  let hasStrays = false;
  for await (const text of readLines(path)) {
    const line = parseLine(text);
    const chain = line?.dir === 'in' ? readSequence(venue, line.raw) : null;
    if (chain?.kind === 'snapshot' && chain.symbol === '') hasStrays = true;
    if (chain?.kind !== 'update') continue;
    const links = chains.get(chain.symbol);
    if (links) links.push(chain);
    else chains.set(chain.symbol, [chain]);
  }
  const lies = (chain: Chain, id: bigint): boolean =>
    chain.previous === id || (chain.first !== null && chain.last !== null && chain.first <= id && id <= chain.last);
  return (id) => {
    const owners = hasStrays ? [...chains].filter(([, links]) => links.some((link) => lies(link, id))) : [];
    return owners.length === 1 ? (owners[0]?.[0] ?? null) : null;
  };
};

/** What a message gave, and what of it could not be read. */
type Result = {
  readonly printed: readonly Printed[];
  readonly faults: readonly Pick<VenueError, 'code' | 'message'>[];
};

const UNREAD: Result = { printed: [], faults: [new VenueError('VENUE_UNKNOWN_LISTING', 'the line cannot be read')] };

class Session {
  readonly venue: Venue;
  readonly #watched: Venue;
  readonly #form: BookForm;
  readonly #reference: ReferenceState = {};
  /** State from messages of the open connections, and from answers. */
  #state: MapState = {};
  /** State from answers alone, which belong to no connection. */
  readonly #answered: MapState = {};
  readonly #listings = new Map<string, ListingRecord>();
  readonly #books: RecordedBooks;
  /** Addresses of the connections opened so far. */
  readonly #opened = new Set<string>();
  /** A frame came before any connection was opened: its connection was open when the recording began. */
  #isContinued = false;

  constructor(venue: Venue, form: BookForm, count: (kind: Unexpected) => void) {
    this.venue = venue;
    this.#watched = watchUnexpected(venue, count);
    this.#form = form;
    this.#books = new RecordedBooks(venue, form);
  }

  /**
   * A connection was opened. Where its address was open before, what that connection had told no longer holds: state is one connection's.
   * A connection without a known address may be the one that is opened again, so nothing of it is continued either.
   */
  open(url: string): void {
    if (this.#opened.has(url) || this.#isContinued) {
      this.#state = { ...this.#answered };
      this.#books.dropStreamed();
    }
    this.#opened.add(url);
    this.#isContinued = false;
  }

  /** Readings before listings, in the order of the layers; neither takes the other with it when it cannot be read. */
  read(message: ReadMessage): Result {
    if (message.kind === 'frame' && this.#opened.size === 0) this.#isContinued = true;
    const faults: VenueError[] = [];
    const answer = attempt(() => this.#watched.mapReference(this.#reference, message), faults);
    for (const record of answer?.listings ?? []) this.#listings.set(record.venue_symbol, record);
    const { printed, count } = this.#readMapped(message, faults);
    // Whether a listing is collected is decided by the service, not by the venue (records.md).
    const listings = (answer?.listings ?? []).map(({ off: _off, isTraded: _traded, ...record }) => ({ record }));
    const unreadable = (answer?.unreadable ?? []).map(({ code, text }) => ({ code, message: text }));
    // An answer without its request is read only where it says itself what it is.
    const isUnread = message.kind === 'response' && message.request === null && count + listings.length === 0;
    return isUnread ? UNREAD : { printed: [...printed, ...listings], faults: [...faults, ...unreadable] };
  }

  /** `count`: records read, of which an assembled book may print none. */
  #readMapped(message: ReadMessage, faults: VenueError[]): { printed: readonly Printed[]; count: number } {
    const context = { listings: this.#listings };
    const mapped = attempt(() => this.#watched.map(this.#state, message, context), faults);
    // The same for what outlives connections; what it gives, and its faults, are known already.
    if (message.kind === 'response') attempt(() => this.venue.map(this.#answered, message, context), []);
    const part = faults.find((fault) => fault instanceof UnreadablePart);
    for (const fault of faults) if (fault instanceof LostChange) for (const of of fault.symbols) this.#books.lose(of);
    const readable = mapped ?? part?.mapped ?? [];
    const printed = readable.flatMap(
      (one) => attempt(() => this.#printMapped(message.guessed ? forgetLimit(one) : one), faults) ?? [],
    );
    const books = this.#books.printChanged(this.#listings);
    return { printed: [...printed, ...books.map((record) => ({ record }))], count: readable.length };
  }

  #printMapped({ record, chain, channel }: Mapped): readonly Printed[] {
    if (record.layer !== 'book') return [{ record }];
    if (chain) return this.#books.take(record, { chain, channel }).map((one) => ({ record: one }));
    return this.#form === 'assembled' ? [] : [{ record }];
  }
}

/** What `run` gives; null, and a fault more, when it throws one. What is wrong with a whole message is found twice, and told once. */
const attempt = <T>(run: () => T, faults: VenueError[]): T | null => {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof VenueError)) throw error;
    if (!faults.some(({ message }) => message === error.message)) faults.push(error);
    return null;
  }
};

/** It is unknown whether a guessed request asked for more levels than it got. */
const forgetLimit = (mapped: Mapped): Mapped =>
  mapped.chain ? { ...mapped, chain: { ...mapped.chain, full: undefined } } : mapped;

const INSTANTS: ReadonlySet<string> = new Set([
  'venue_ts',
  'received_at',
  'open_time',
  'next_funding_at',
  'listed_at',
  'delisted_at',
]);

const toText = (printed: Printed | Fault, src: Place): string => {
  if ('fault' in printed) {
    // The one code of records.md; the finer ones are those of the dead letters.
    return writeJson({
      layer: 'error',
      venue: printed.venue,
      code: 'VENUE_BAD_FRAME',
      message: printed.fault.message,
    });
  }
  const { record } = printed;
  const values = withInstants(record.values as Readonly<Record<string, unknown>>);
  return writeJson({ ...withInstants({ ...record, values: undefined }), values, src } as JsonValue);
};

const withInstants = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, toPrinted(name, value)]));

const toPrinted = (name: string, value: unknown): unknown => {
  if (INSTANTS.has(name) && typeof value === 'number') return formatInstant(value);
  return name === 'rules_normalisation' ? sortByKey(value as ListingValues['rules_normalisation']) : value;
};

/** Null: the venue's file knew all content. */
export const describeUnexpected = ({ unexpected }: Counts): string | null => {
  if (unexpected.size === 0) return null;
  const kinds = [...unexpected].toSorted(([a], [b]) => compareBytes(a, b)).map(([kind, count]) => `${kind} ${count}`);
  return `unexpected: ${kinds.join(', ')}`;
};

export const describeCounts = ({ messages, records, unread, errors }: Counts): string =>
  `${messages} messages, ${records} records, ${unread} unread, ${errors} errors`;

const USAGE = 'usage: npm run normalise -- --venue <id> [--assembled] FILE...';

const main = async (): Promise<number> => {
  if (isHelpAsked(process.argv)) {
    console.log(USAGE);
    return 0;
  }
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { venue: { type: 'string' }, assembled: { type: 'boolean', default: false } },
  });
  if (values.venue === undefined || positionals.length === 0) {
    console.error(USAGE);
    return 2;
  }
  const venue = venues.get(values.venue);
  if (!venue) {
    console.error(`unknown venue "${values.venue}"; known: ${[...venues.keys()].sort().join(', ')}`);
    return 2;
  }
  process.stdout.on('error', () => process.exit(0));
  const write = (line: string): void | Promise<void> => {
    if (!process.stdout.write(`${line}\n`)) return once(process.stdout, 'drain').then(() => undefined);
  };
  const counts = await normalise({ venue, files: positionals, assembled: values.assembled, write });
  const unexpected = describeUnexpected(counts);
  if (unexpected !== null) console.error(unexpected);
  console.error(describeCounts(counts));
  return 0;
};

/** Runs the command with the arguments of this process, and sets its exit status. */
export const runNormalise = async (): Promise<void> => {
  process.exitCode = await main().catch((error: unknown) => {
    console.error(describeError(error));
    return 1;
  });
};

if (import.meta.main) await runNormalise();
