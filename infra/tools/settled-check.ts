// `node infra/tools/settled-check.ts ask|again`: settled requests over the last hours with their hashes in a file, and the same asked again (N-11).
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { formatInstant, MICROS_PER_SECOND } from '../../schemas/instants.ts';
import { LAYERS, READING_LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Micros } from '../../schemas/records.ts';

const USAGE = `usage: node infra/tools/settled-check.ts ask --file F [--requests 200] [--since INSTANT] | again --file F
The service is that of .local/endpoints.json (ENDPOINTS_FILE).`;

/** Asked the moment it settles: two minutes after its last instant, and a little for the pipeline. */
const SETTLED_AFTER: Micros = 150 * MICROS_PER_SECOND;
const TRIES = 60;
const WAIT_MS = 2_000;

type Service = { readonly base_url: string; readonly keys: { readonly pro_plus: string } };
type Question = { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
type Asked = Question & { readonly items_sha256: string; readonly rows: number; readonly holes: number };
type Answer = { readonly settled: boolean; readonly items_sha256: string; readonly items: readonly unknown[] };

const service = (): Service => {
  const file = process.env['ENDPOINTS_FILE'] ?? new URL('../../.local/endpoints.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as Service;
};

const call = async (
  { base_url, keys }: Service,
  { path, body }: Question,
): Promise<{ status: number; text: string }> => {
  const answer = await fetch(new URL(path, base_url), {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.pro_plus}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
};

/** Waits until it is settled; rejects when it never is. */
const askSettled = async (at: Service, question: Question): Promise<Answer & { readonly text: string }> => {
  for (let attempt = 1; ; attempt++) {
    const { status, text } = await call(at, question);
    if (status === 200) {
      const answer = JSON.parse(text) as Answer;
      if (answer.settled) return { ...answer, text };
    } else if (status < 429) throw new Error(`${status} to ${JSON.stringify(question)}: ${text.slice(0, 300)}`);
    if (attempt === TRIES) throw new Error(`never settled: ${JSON.stringify(question)}`);
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
};

const pick = <T>(choices: readonly T[]): T => choices[Math.floor(Math.random() * choices.length)] as T;
const between = (least: number, most: number): number => least + Math.floor(Math.random() * (most - least));

/** Of a window of the past, in every mode; candles among them. */
const makeQuestion = (listings: readonly string[], since: Micros, until: Micros): Question => {
  const from = between(since, until - 60 * MICROS_PER_SECOND);
  const to = Math.min(until, from + between(60, 1_200) * MICROS_PER_SECOND);
  const span = { from: formatInstant(from), to: formatInstant(to) };
  const named = pick(listings);
  const common = { where: `symbol = "${named}"`, units: pick(['published', 'base', 'quote']) };
  const layers = [pick(READING_LAYERS), pick(READING_LAYERS)].filter((layer, i, all) => all.indexOf(layer) === i);
  const windowS = Math.max(...layers.map((layer: ReadingLayer) => LAYERS[layer].windowMs)) / 1_000;
  const history = { path: '/v2/snapshots/history', body: { ...common, layers } };
  const mode = pick(['interval', 'interval', 'at', 'raw', 'candles']);
  switch (mode) {
    case 'at':
      return { ...history, body: { ...history.body, at: [span.from, span.to], allow_stale: pick([true, false]) } };
    case 'raw':
      return { ...history, body: { ...history.body, raw: true, ...span } };
    case 'candles':
      return {
        path: '/v2/candles',
        body: { ...common, timeframe: pick(['1m', '5m']), price_type: pick(['trade', 'mark']), ...span },
      };
    default:
      return {
        ...history,
        body: { ...history.body, interval: windowS > 10 ? '1m' : pick(['10s', '30s', '1m']), ...span },
      };
  }
};

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

const listingsOf = async ({ base_url, keys }: Service): Promise<string[]> => {
  const headers = { authorization: `Bearer ${keys.pro_plus}` };
  const answer = await fetch(new URL('/v2/instruments?limit=500', base_url), { headers });
  const { items } = (await answer.json()) as { readonly items: readonly { readonly venue_symbol: string }[] };
  return items.map(({ venue_symbol }) => venue_symbol);
};

const ask = async (count: number, since: Micros): Promise<Asked[]> => {
  const at = service();
  const listings = await listingsOf(at);
  const asked: Asked[] = [];
  while (asked.length < count) {
    const question = makeQuestion(listings, since, Date.now() * 1_000 - SETTLED_AFTER);
    const { items_sha256, text } = await askSettled(at, question);
    const rows = countOf(text, /"status":"/g);
    if (rows > 0) asked.push({ ...question, items_sha256, rows, holes: countOf(text, /"gap_cause":|"late":true/g) });
  }
  return asked;
};

const again = async (asked: readonly Asked[]): Promise<number> => {
  const at = service();
  let different = 0;
  for (const { path, body, items_sha256 } of asked) {
    const answer = await askSettled(at, { path, body });
    if (answer.items_sha256 === items_sha256) continue;
    different++;
    process.stderr.write(`was ${items_sha256}, is ${answer.items_sha256}: ${path} ${JSON.stringify(body)}\n`);
  }
  return different;
};

const run = async (): Promise<string> => {
  const options = {
    file: { type: 'string' },
    requests: { type: 'string', default: '200' },
    since: { type: 'string' },
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const { file } = values;
  if (file === undefined) throw new Error(USAGE);
  if (positionals[0] === 'ask') {
    const since = values.since === undefined ? Date.now() - 3_600_000 : Date.parse(values.since);
    const asked = await ask(Number(values.requests), since * 1_000);
    writeFileSync(file, `${JSON.stringify(asked, null, 1)}\n`);
    const holed = asked.filter(({ holes }) => holes > 0).length;
    return `${asked.length} settled requests kept, ${holed} of them over gaps or late rows`;
  }
  if (positionals[0] !== 'again') throw new Error(USAGE);
  const asked = JSON.parse(readFileSync(file, 'utf8')) as Asked[];
  const different = await again(asked);
  if (different > 0) process.exitCode = 1;
  return `${asked.length} asked again, ${different} differ`;
};

run().then(
  (text) => process.stdout.write(`${text}\n`),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
