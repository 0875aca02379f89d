// Runs the queries documented in README.md and api/language/README.md on a running service, and prints how many instruments each finds.
// The service is that of `npm start` or `npm run demo`, or BASE_URL with API_KEY.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEndpoints } from '../../runtime/process/running-service.ts';
import { PROJECT_ROOT } from '../engines/java.ts';

const readDocument = (path: string): string => readFileSync(join(PROJECT_ROOT, path), 'utf8');

/** The queries of the language's manual, in their order. */
export const listDocumentedQueries = (): string[] =>
  readDocument('api/language/README.md')
    .split('## Ten questions')[1]
    ?.split('\n')
    .filter((line) => line.startsWith('    '))
    .map((line) => line.trim()) ?? [];

/** The queries of README.md, in their order. */
export const listReadmeQueries = (): string[] =>
  [...readDocument('README.md').matchAll(/```dql\n(.*?)\n```/gs)].map(([, query]) => query as string);

type Endpoints = { readonly base_url: string; readonly keys: Readonly<Record<string, string>> };

const findService = (env: NodeJS.ProcessEnv): { readonly baseUrl: string; readonly key: string } => {
  if (env.BASE_URL !== undefined) return { baseUrl: env.BASE_URL, key: env.API_KEY ?? '' };
  const { base_url, keys } = readEndpoints() as Endpoints;
  return { baseUrl: base_url, key: keys.pro_plus ?? '' };
};

type Answer = {
  readonly page?: { readonly returned: number };
  readonly errors?: readonly { readonly message: string }[];
};

if (import.meta.main) {
  const { baseUrl, key } = findService(process.env);
  let isEmpty = false;
  for (const query of [...listReadmeQueries(), ...listDocumentedQueries()]) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`${baseUrl}/v2/screen`, { method: 'POST', headers, body: JSON.stringify({ query }) });
    const { page, errors } = (await response.json()) as Answer;
    isEmpty ||= (page?.returned ?? 0) === 0;
    process.stdout.write(`${errors?.[0]?.message ?? `${page?.returned} instruments`}\t${query}\n`);
  }
  process.exitCode = isEmpty ? 1 : 0;
}
