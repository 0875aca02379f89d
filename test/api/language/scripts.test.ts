// Runs the language's scripts: canonical text, machine form, complexity, names, every error, and what queries are worth (DQL-01 to DQL-34, Annex B).
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Codes } from '../../../api/language/codes.ts';
import { type Compiled, compile } from '../../../api/language/compile.ts';
import { listTimeframes } from '../../../api/language/cost.ts';
import { parseExactly } from '../../../api/language/exact-json.ts';
import { FUNCTIONS } from '../../../api/language/functions.ts';
import { type ApiError, CATALOGUE, ServiceError } from '../../../schemas/errors.ts';
import { writeJson } from '../../../schemas/json.ts';
import { CODES } from './codes.ts';
import { evaluateCase } from './evaluate-script.ts';
import { type Case, readScripts } from './script.ts';

const CASES = readScripts(join(import.meta.dirname, 'scripts'));

const run = (
  { query, object }: Pick<Case, 'query' | 'object'>,
  codes: Codes = CODES,
): Compiled | readonly ApiError[] => {
  try {
    return compile(object === null ? { text: query ?? '' } : { object, path: '/query_object' }, codes);
  } catch (error) {
    if (error instanceof ServiceError) return error.errors;
    throw error;
  }
};

const findPlace = ({ position, path }: ApiError): string | null =>
  position === undefined ? (path ?? null) : `${position.offset}+${position.length}`;

const checkErrors = (t: Test, { errors, messages, hints }: Case, found: readonly ApiError[]): void => {
  const shown = found.map((e, i) => (errors[i]?.at === null ? e.code : `${e.code} at ${findPlace(e)}`));
  t.same(
    shown,
    errors.map(({ code, at }) => (at === null ? code : `${code} at ${at}`)),
    JSON.stringify(found),
  );
  for (const message of messages) {
    if (!found.some((e) => e.message.includes(message)))
      t.fail(`no message says "${message}": ${JSON.stringify(found.map((e) => e.message))}`);
  }
  for (const hint of hints) {
    if (!found.some((e) => e.hint?.includes(hint)))
      t.fail(`no hint says "${hint}": ${JSON.stringify(found.map((e) => e.hint))}`);
  }
};

const toJson = ({ json }: Compiled): unknown => parseExactly(writeJson(json));

const checkCompiled = (t: Test, expected: Case, found: Compiled): void => {
  const { query, complexity, string } = found;
  if (expected.text !== null) t.equal(string, expected.text);
  if (expected.cost !== null) t.equal(`${complexity.nodes} ${complexity.bars} ${complexity.cost}`, expected.cost);
  if (expected.json !== undefined) t.same(toJson(found), expected.json);
  const { instrument, venue, functions, timeframes } = expected.facts;
  if (instrument !== null) t.same([...query.names.instrument].sort(), instrument);
  if (venue !== null) t.same([...query.names.venue].sort(), venue);
  if (functions !== null) t.same([...query.functions].sort(), functions);
  if (timeframes !== null) t.same(listTimeframes(query), timeframes);
  const fromText = run({ query: string, object: null });
  const fromObject = run({ query: null, object: toJson(found) as Record<string, unknown> });
  for (const again of [fromText, fromObject]) {
    if (!('string' in again)) {
      t.fail(`the canonical form is refused: ${JSON.stringify(again)}`);
      continue;
    }
    t.equal(again.string, string);
    t.equal(writeJson(again.json), writeJson(found.json));
    t.same(again.complexity, complexity);
  }
};

for (const script of new Set(CASES.map(({ file }) => file))) {
  t.test(`every case of ${script} holds`, async (t) => {
    for (const expected of CASES.filter(({ file }) => file === script)) {
      t.test(expected.name, async (t) => {
        const found = run(expected);
        if ('string' in found) {
          if (expected.errors.length > 0) t.fail(`accepted as ${found.string}`);
          checkCompiled(t, expected, found);
          if (expected.load.length > 0) await evaluateCase(t, expected, found);
        } else checkErrors(t, expected, found);
      });
    }
  });
}

t.test('the scripts have a case for every rule of the language', async (t) => {
  const named = new Set(CASES.flatMap(({ name }) => name.match(/DQL-\d\d/g) ?? []));
  const rules = Array.from({ length: 34 }, (_, i) => `DQL-${String(i + 1).padStart(2, '0')}`);
  t.same(
    rules.filter((rule) => !named.has(rule)),
    [],
  );
});

t.test('every code of the language is provoked by a script', async (t) => {
  const provoked = new Set(CASES.flatMap(({ errors }) => errors.map(({ code }) => code)));
  // Version is refused by the operation's test too; a range needs the clock of screen (H-16j).
  const language = Object.keys(CATALOGUE).filter(
    (code) => code.startsWith('DQL_') && code !== 'DQL_LIMIT' && code !== 'DQL_AS_OF_RANGE',
  );
  t.same(
    language.filter((code) => !provoked.has(code)),
    [],
  );
});

t.test('every function has a script case, and its example is a query', async (t) => {
  const called = CASES.map(({ query }) => query ?? '').join('\n');
  for (const { name, example } of FUNCTIONS.values()) {
    if (!called.includes(`${name}(`)) t.fail(`${name} has no case in the scripts`);
    const found = run({ query: example, object: null });
    if (!('string' in found)) t.fail(`the example of ${name} is refused: ${JSON.stringify(found)}`);
    else t.equal(found.string.includes(`${name}(`), true);
  }
});
