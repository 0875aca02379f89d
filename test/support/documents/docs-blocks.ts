// The fenced blocks of the documentation's pages, and how each language of them is run against a service.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type DocsPage, readPages } from '../../../api/open-pages/pages.ts';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';
import { TABLES } from '../../../processors/sinks/tables.ts';

/** `text` and `json` are shown, all others run; a block without a language is a fault. */
export const RUN = ['sh', 'js', 'ts', 'dql', 'sql', 'python'] as const;
const SHOWN = ['text', 'json'] as const;
export type Language = (typeof RUN)[number] | (typeof SHOWN)[number];

export type Block = {
  readonly page: string;
  readonly language: Language;
  readonly text: string;
  /** The answer shown on the page: the block of JSON that follows it. */
  readonly shown: unknown;
};

const FENCE = /^```([^\n]*)\n([\s\S]*?)^```$/gm;
const isLanguage = (word: string): word is Language => [...RUN, ...SHOWN].some((one) => one === word);

/** In the order of the page. Throws for a block whose language states neither that it runs nor that it cannot. */
const findBlocks = ({ slug, markdown }: Pick<DocsPage, 'slug' | 'markdown'>): readonly Block[] => {
  const found = [...markdown.matchAll(FENCE)].map(([, language = '', text = '']) => ({ language, text }));
  return found.map(({ language, text }, i) => {
    if (!isLanguage(language))
      throw new Error(`${slug}: found a block "${language}", use one of ${RUN} that runs or ${SHOWN} that is shown`);
    const next = found[i + 1];
    const isAnswered = RUN.some((one) => one === language) && next?.language === 'json';
    return { page: slug, language, text, shown: isAnswered ? JSON.parse(next.text) : null };
  });
};

/** Of the pages of the documentation, and of README.md before them. */
export const docsBlocks = (): readonly Block[] => {
  const markdown = readFileSync(join(PROJECT_ROOT, 'README.md'), 'utf8');
  return [{ slug: 'README', markdown }, ...readPages()].flatMap(findBlocks);
};

/** Blocks that a reader has pasted into the same shell before: the settings of the page, and of the list of endpoints for a page of one. */
export const settingsBefore = (block: Block, blocks: readonly Block[]): readonly Block[] =>
  blocks
    .slice(0, blocks.indexOf(block))
    .filter(
      ({ page, text }) =>
        block.page.split('/')[0] === page && /^(?:export )?[A-Z_]+=/.test(text) && !/^curl/m.test(text),
    );

/** Where the service of a test is, as the documents name that of the demo. */
export type Place = {
  readonly base: string;
  readonly mcp: string;
  readonly key: string;
  readonly brokers: string;
  /** Before the names of topics and views. */
  readonly namespace: string;
  /** Private key of an account that has USDC. */
  readonly buyer: string;
  /** Of a payment that is settled. */
  readonly receipt: string;
};

/** The block with this service in the place of the demo's. */
const placed = (text: string, { base, mcp, key, brokers, namespace }: Place): string =>
  text
    .replaceAll('http://127.0.0.1:8080', base)
    .replaceAll('http://localhost:8081/mcp', mcp)
    .replaceAll('127.0.0.1:9092', brokers)
    .replaceAll(/\b(KEY|PERP_API_KEY)=\.\.\./g, (_all, name: string) => `${name}='${key}'`)
    .replaceAll("'md.", `'${namespace}md.`);

export type Ran = { readonly code: number | null; readonly output: string; readonly errors: string };

const run = async (command: string, args: readonly string[], place: Place): Promise<Ran> => {
  const { PATH = '', HOME = '' } = process.env;
  const { base, key, brokers, buyer, receipt } = place;
  const env = {
    ...{ PATH, HOME, BASE: base, KEY: key, BROKERS: brokers, PERP_BASE_URL: base, PERP_API_KEY: key },
    ...{ BUYER_KEY: buyer, RECEIPT: receipt },
  };
  const child = spawn(command, [...args], { cwd: PROJECT_ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((settle) => child.once('close', settle));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, output, errors };
};

/** `before`: blocks of the same page that a reader has pasted into the same shell; their output is not repeated. */
export const runShell = (block: Block, before: readonly Block[], place: Place): Promise<Ran> => {
  const silenced = before.map(({ text }) => `{\n${text}} >/dev/null`).join('\n');
  return run('sh', ['-c', placed(`${silenced}\nset -e\n${block.text}`, place)], place);
};

/** The client by its name, as an installed package. */
const CLIENT = `data:text/javascript,${encodeURIComponent(
  `import { registerHooks } from 'node:module';
registerHooks({ resolve: (name, context, next) => next(name === 'perp-market-data-client'
  ? ${JSON.stringify(new URL('../../../clients/typescript/src/index.ts', import.meta.url).href)} : name, context) });`,
)}`;

export const runScript = ({ language, text }: Block, place: Place): Promise<Ran> => {
  const type = language === 'ts' ? 'module-typescript' : 'module';
  return run(process.execPath, ['--import', CLIENT, `--input-type=${type}`, '-e', placed(text, place)], place);
};

/** All of a page in one program, as in a notebook. */
export const runPython = (blocks: readonly Block[], python: string, place: Place): Promise<Ran> => {
  const program = placed(blocks.map(({ text }) => text).join('\n'), place);
  return run(python, ['-c', `import os\nos.chdir(${JSON.stringify(join(PROJECT_ROOT, '.local'))})\n${program}`], place);
};

/** The views and tables of the block are those of the test's namespace. */
export const placedSql = ({ text }: Pick<Block, 'text'>, { namespace }: Pick<Place, 'namespace'>): string => {
  const prefix = namespace.replaceAll('.', '_');
  return text.replaceAll(/\b((?:FROM|JOIN)\s+\(?)([a-z_]+)\b/g, (all, before: string, name: string) =>
    name in TABLES || name.startsWith('v_') ? `${before}${prefix}${name}` : all,
  );
};
