// Reads `.dqltest` scripts: cases any implementation of the language could run. scripts/README.md defines the format.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseExactly } from '../../../api/language/exact-json.ts';

type Expected = { readonly code: string; readonly at: string | null };
export type Case = {
  readonly name: string;
  readonly file: string;
  /** Text of the query, or its machine form. */
  readonly query: string | null;
  readonly object: Record<string, unknown> | null;
  readonly text: string | null;
  readonly json: unknown;
  readonly cost: string | null;
  readonly facts: Readonly<Record<'instrument' | 'venue' | 'functions' | 'timeframes', readonly string[] | null>>;
  readonly errors: readonly Expected[];
  readonly messages: readonly string[];
  readonly hints: readonly string[];
  /** Lines that load a market, and what evaluating over it gives. */
  readonly load: readonly string[];
  readonly expect: readonly string[];
};

type Lines = ReadonlyMap<string, readonly string[]>;

const WORDS = ['query', 'escaped', 'object', 'text', 'json', 'cost', 'instrument', 'venue', 'functions', 'timeframes'];
const LOADS = ['listing', 'series'];
const EXPECTS = ['result', 'value', 'status', 'because'];
const KNOWN = new Set([...WORDS, 'error', 'message', 'hint', ...LOADS, ...EXPECTS]);

const parseLines = (block: string, file: string): { name: string; lines: Lines } => {
  const [title = '', ...rest] = block.split('\n');
  if (!title.startsWith('# ')) throw new Error(`${file}: a case begins with "# ", found "${title}"`);
  const lines = new Map<string, string[]>();
  for (const line of rest) {
    const [, word = '', value = ''] = /^(\S+)\s*(.*)$/s.exec(line) ?? [];
    if (!KNOWN.has(word)) throw new Error(`${file}: "${word}" is no word of a case (${title})`);
    lines.set(word, [...(lines.get(word) ?? []), value]);
  }
  return { name: title.slice(2), lines };
};

const parseExpected = (line: string): Expected => {
  const [code = '', at = null] = line.split(' at ');
  return { code, at };
};

const parseList = (text: string | undefined): readonly string[] | null =>
  text === undefined ? null : text.split(/,\s*/).filter((item) => item !== '');

const linesNamed = (lines: Lines, words: readonly string[]): string[] =>
  words.flatMap((word) => (lines.get(word) ?? []).map((line) => `${word} ${line}`));

const parseCase = (block: string, file: string): Case => {
  const { name, lines } = parseLines(block, file);
  const one = (word: string): string | undefined => lines.get(word)?.[0];
  const escaped = one('escaped');
  const query = escaped === undefined ? (one('query') ?? null) : (JSON.parse(escaped) as string);
  const object = one('object');
  const text = one('text') ?? null;
  const json = one('json');
  return {
    name,
    file,
    query,
    object: object === undefined ? null : (parseExactly(object) as Record<string, unknown>),
    text: text === 'unchanged' ? query : text,
    json: json === undefined ? undefined : (JSON.parse(json) as unknown),
    cost: one('cost') ?? null,
    facts: {
      instrument: parseList(one('instrument')),
      venue: parseList(one('venue')),
      functions: parseList(one('functions')),
      timeframes: parseList(one('timeframes')),
    },
    errors: (lines.get('error') ?? []).map(parseExpected),
    messages: lines.get('message') ?? [],
    hints: lines.get('hint') ?? [],
    load: linesNamed(lines, LOADS),
    expect: linesNamed(lines, EXPECTS),
  };
};

/** Cases of every script of a folder, in the order of their files. Throws where a script is not well formed. */
export const readScripts = (folder: string): Case[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.dqltest'))
    .sort()
    .flatMap((file) => {
      const blocks = readFileSync(join(folder, file), 'utf8').split(/\n\s*\n/);
      return blocks
        .map((b) => b.trim())
        .filter((b) => b !== '' && !b.startsWith('='))
        .map((b) => parseCase(b, file));
    });
