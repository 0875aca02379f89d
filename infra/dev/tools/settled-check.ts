// `node infra/dev/tools/settled-check.ts ask|again`: sends settled requests over the last hours and stores hashes, then sends them again (N-11).
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { MICROS_PER_SECOND } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import { describeError } from '../../../schemas/thrown.ts';
import { readEndpoints } from '../../runtime/process/running-service.ts';
import { type AnsweredQuestion, askAgain, askSettled, keep, makeQuestion, type Service } from './settled-requests.ts';

const USAGE = `usage: node infra/dev/tools/settled-check.ts ask --file F [--requests 200] [--since INSTANT] | again --file F
The service is that of .local/endpoints.json (ENDPOINTS_FILE).`;

/** A request settles two minutes after its last instant, and some seconds later for the pipeline. */
const SETTLED_AFTER: Micros = 150 * MICROS_PER_SECOND;

const readService = (): Service => readEndpoints() as Service;

const readSymbols = async ({ base_url, keys }: Service): Promise<string[]> => {
  const headers = { authorization: `Bearer ${keys.pro_plus}` };
  const answer = await fetch(new URL('/v2/instruments?limit=500', base_url), { headers });
  const { items } = (await answer.json()) as { readonly items: readonly { readonly venue_symbol: string }[] };
  return items.map(({ venue_symbol }) => venue_symbol);
};

const ask = async (count: number, since: Micros): Promise<AnsweredQuestion[]> => {
  const at = readService();
  const drawing = { draw: Math.random, symbols: await readSymbols(at) };
  const asked: AnsweredQuestion[] = [];
  while (asked.length < count) {
    const question = makeQuestion(drawing, { since, until: Date.now() * 1_000 - SETTLED_AFTER });
    const kept = keep(question, await askSettled(at, question));
    if (kept.rows > 0) asked.push(kept);
  }
  return asked;
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
  const asked = JSON.parse(readFileSync(file, 'utf8')) as AnsweredQuestion[];
  const different = await askAgain(readService(), asked);
  for (const line of different) process.stderr.write(`${line}\n`);
  if (different.length > 0) process.exitCode = 1;
  return `${asked.length} asked again, ${different.length} differ`;
};

run().then(
  (text) => process.stdout.write(`${text}\n`),
  (error: unknown) => {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  },
);
