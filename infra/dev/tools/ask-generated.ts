// Sends generated queries to a running service and counts its responses: `node infra/dev/tools/ask-generated.ts --screens 20000 --parses 100000`.
// No response may be a 5xx. A query is generated from its own seed, so `--seed N --screens 1 --parses 0` repeats one.
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { type CodeKey, foldCase } from '../../../api/language/codes.ts';
import { formatInstantMicros, parseInstant } from '../../../schemas/instants.ts';
import { describeError } from '../../../schemas/thrown.ts';
import type { Names } from '../../../test/api/language/generate.ts';
import { parseBodies, screenBodies } from '../../../test/api/language/generate-asked.ts';
import { readEndpoints } from '../../runtime/process/running-service.ts';

const USAGE = `usage: node infra/dev/tools/ask-generated.ts [--url URL --key KEY [--key KEY ...]] [--screens N] [--parses N] [--seed N] [--concurrency N]
Without --url the service and its key are those of .local/endpoints.json (ENDPOINTS_FILE).`;

const SHOWN = 10;
const PROGRESS_MS = 5_000;
/** A longer limit is one of the day: its key is not used any more. */
const LONGEST_WAIT_S = 60;

type Kind = 'screen' | 'parse';
type Question = { readonly kind: Kind; readonly seed: number; readonly body: string };
type Failure = Question & { readonly status: number; readonly answer: string };
type Tally = {
  readonly statuses: Record<string, number>;
  readonly codes: Record<string, number>;
  /** The first queries with a 5xx, or without a response (status 0). */
  readonly failures: Failure[];
  failed: number;
  /** Responses with a 429, after which the query was sent again. */
  waits: number;
  slowest: { readonly ms: number; readonly kind: Kind; readonly seed: number };
};

type Asking = {
  readonly url: string;
  readonly keys: readonly string[];
  readonly screens: number;
  readonly parses: number;
  readonly seed: number;
  readonly concurrency: number;
  readonly onProgress?: (line: string) => void;
};

type Listing = Readonly<Record<'venue' | 'instrument' | 'base' | 'quote', string>> & {
  readonly first_seen_at: string | null;
};
type Listings = {
  readonly evaluated_at: string;
  readonly items: readonly Listing[];
  readonly page: { readonly next_cursor: string | null };
};

const KEYS: readonly CodeKey[] = ['venue', 'instrument', 'base', 'quote'];

/** Listings of the service, and the service's own now. */
const readListings = async (
  url: string,
  key: string,
): Promise<{ readonly listings: Listing[]; readonly now: string }> => {
  const listings: Listing[] = [];
  let now = '';
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const answer = await fetch(`${url}/v2/instruments${query}`, { headers: { authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error(`instruments: ${answer.status} ${await answer.text()}`);
    const page = (await answer.json()) as Listings;
    listings.push(...page.items);
    now = page.evaluated_at;
    cursor = page.page.next_cursor;
  }
  return { listings, now };
};

/** Names in the catalogue, and instants at which the service had data about one of them. */
const readNames = async ({ url, keys }: Asking): Promise<Names> => {
  const read = await readListings(url, keys[0] ?? '');
  const { listings } = read;
  const indexCodes = (key: CodeKey) => new Map(listings.map((one) => [foldCase(key, one[key]), one[key]] as const));
  const codes = Object.fromEntries(KEYS.map((key) => [key, indexCodes(key)])) as Record<CodeKey, Map<string, string>>;
  const now = parseInstant(read.now) ?? 0;
  const first = Math.min(now, ...listings.map(({ first_seen_at }) => parseInstant(first_seen_at ?? '') ?? now));
  const ago = fc.oneof(fc.integer({ min: 0, max: 300_000_000 }), fc.integer({ min: 0, max: now - first }));
  const exact = fc.tuple(ago, fc.constantFrom(1, 1_000, 1_000_000, 60_000_000)).map(([micros, step]) => {
    const at = now - micros;
    return formatInstantMicros(Math.max(first, at - (at % step)));
  });
  return { codes, instants: exact };
};

type Questions = Generator<Question, void>;

/** Questions of a kind one after the other, each from its own seed. */
const makeQuestions = function* (kind: Kind, { screens, parses, seed }: Asking, names: Names): Questions {
  const bodies = kind === 'screen' ? screenBodies(names) : parseBodies(names);
  const count = kind === 'screen' ? screens : parses;
  for (let at = seed; at < seed + count; at++) {
    const [body] = fc.sample<unknown>(bodies, { seed: at, numRuns: 1 });
    yield { kind, seed: at, body: JSON.stringify(body) };
  }
};

const PATHS = { screen: '/v2/screen', parse: '/v2/dql/parse' } as const;

type Answered = { readonly status: number; readonly text: string; readonly retryAfterS: number };

const send = async (url: string, { kind, body }: Question, key: string): Promise<Answered> => {
  // Parsing needs no key: with one it would count against the plan.
  const auth: Record<string, string> = kind === 'screen' ? { authorization: `Bearer ${key}` } : {};
  const headers = { 'content-type': 'application/json', ...auth };
  try {
    const answer = await fetch(`${url}${PATHS[kind]}`, { method: 'POST', headers, body });
    const retryAfterS = Number(answer.headers.get('retry-after') ?? 1);
    return { status: answer.status, text: await answer.text(), retryAfterS };
  } catch (error) {
    return { status: 0, text: String(error instanceof Error ? (error.cause ?? error) : error), retryAfterS: 0 };
  }
};

const listCodes = (text: string): string[] => {
  try {
    const { errors = [] } = JSON.parse(text) as { readonly errors?: readonly { readonly code: string }[] };
    return [...new Set(errors.map(({ code }) => code))];
  } catch {
    return ['(no JSON)'];
  }
};

const addOne = (counts: Record<string, number>, name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1;
};

const count = (tally: Tally, question: Question, { status, text }: Answered): void => {
  addOne(tally.statuses, `${question.kind} ${status}`);
  if (status !== 200) for (const code of listCodes(text)) addOne(tally.codes, `${question.kind} ${code}`);
  if (status !== 0 && status < 500) return;
  tally.failed++;
  if (tally.failures.length < SHOWN) tally.failures.push({ ...question, status, answer: text.slice(0, 500) });
};

class Asker {
  readonly tally: Tally = {
    ...{ statuses: {}, codes: {}, failures: [], failed: 0, waits: 0 },
    slowest: { ms: 0, kind: 'screen', seed: 0 },
  };
  readonly #url: string;
  readonly #keys: string[];
  #turn = 0;

  constructor({ url, keys }: Asking) {
    this.#url = url;
    this.#keys = [...keys];
  }

  /** Sends the question until the response is no 429. Throws when every key has reached a limit of its day. */
  async ask(question: Question): Promise<void> {
    for (;;) {
      const key = this.#keys[this.#turn++ % this.#keys.length];
      if (key === undefined) throw new Error('every key has reached a limit of its day: give more with --key');
      const start = performance.now();
      const answer = await send(this.#url, question, key);
      const ms = performance.now() - start;
      if (answer.status !== 429) {
        if (ms > this.tally.slowest.ms) this.tally.slowest = { ms, kind: question.kind, seed: question.seed };
        return count(this.tally, question, answer);
      }
      this.tally.waits++;
      if (answer.retryAfterS > LONGEST_WAIT_S) this.#putAside(key);
      else await pause(answer.retryAfterS * 1_000);
    }
  }

  #putAside(key: string): void {
    const at = this.#keys.indexOf(key);
    if (at >= 0) this.#keys.splice(at, 1);
  }
}

/** Sends all questions; at most `concurrency` at a time. Throws when the service does not return its listings. */
export const askGenerated = async (asking: Asking): Promise<Tally> => {
  const { concurrency, screens, parses, onProgress = () => undefined } = asking;
  const names = await readNames(asking);
  const made = [makeQuestions('screen', asking, names), makeQuestions('parse', asking, names)] as const;
  const asker = new Asker(asking);
  const start = performance.now();
  let done = 0;
  const tell = (): void => {
    const seconds = (performance.now() - start) / 1_000;
    const rate = Math.round(done / seconds);
    onProgress(`${done} of ${screens + parses} in ${seconds.toFixed(0)} s, ${rate}/s, ${asker.tally.failed} failed`);
  };
  const timer = setInterval(tell, PROGRESS_MS);
  // Half of them begin with each kind, so that parses use the time in which screens wait for the plan.
  const work = async (_: unknown, i: number): Promise<void> => {
    for (const questions of i % 2 === 0 ? made : made.toReversed()) {
      for (const question of questions) {
        await asker.ask(question);
        done++;
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }).map(work));
  } finally {
    clearInterval(timer);
    tell();
  }
  return asker.tally;
};

type Endpoints = { readonly base_url: string; readonly keys: Readonly<Record<string, string>> };

const findService = (): { readonly url: string; readonly keys: readonly string[] } => {
  const { base_url, keys } = readEndpoints() as Endpoints;
  return { url: base_url, keys: [keys['pro_plus'] ?? ''] };
};

const parseWholeNumber = (text: string, name: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} is "${text}", not a whole number\n${USAGE}`);
  return Number(text);
};

const readAsking = (argv: readonly string[]): Asking => {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      url: { type: 'string' },
      key: { type: 'string', multiple: true },
      screens: { type: 'string', default: '1000' },
      parses: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
      concurrency: { type: 'string', default: '8' },
    },
  });
  const { url, key } = values;
  if ((url === undefined) !== (key === undefined)) throw new Error(USAGE);
  return {
    ...(url === undefined || key === undefined ? findService() : { url, keys: key }),
    screens: parseWholeNumber(values.screens, 'screens'),
    parses: parseWholeNumber(values.parses, 'parses'),
    seed: parseWholeNumber(values.seed, 'seed'),
    concurrency: Math.max(1, parseWholeNumber(values.concurrency, 'concurrency')),
    onProgress: (line) => process.stderr.write(`${line}\n`),
  };
};

const formatLines = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, n]) => `${String(n).padStart(9)}  ${name}\n`)
    .join('');

const report = ({ statuses, codes, failures, failed, waits, slowest }: Tally): string => {
  const shown = failures.map(
    ({ kind, seed, status, body, answer }) => `${status} to ${kind} of seed ${seed}: ${body}\n    ${answer}\n`,
  );
  const slow = `slowest: ${slowest.ms.toFixed(0)} ms, ${slowest.kind} of seed ${slowest.seed}\n`;
  return `${formatLines(statuses)}${formatLines(codes)}${slow}${waits} waits for a limit\n${failed} failed\n${shown.join('')}`;
};

const main = async (): Promise<void> => {
  const tally = await askGenerated(readAsking(process.argv.slice(2)));
  process.stdout.write(report(tally));
  if (tally.failed > 0) process.exitCode = 1;
};

if (import.meta.main) {
  main().catch((error: unknown) => {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  });
}
