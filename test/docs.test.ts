// Checks the documents: everything that code, tests and manuals cite is defined in docs/, and every link in Markdown resolves.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';
import { parseChangelog } from '../api/status/changelog.ts';
import { STEPS } from '../processors/nightly/steps/index.ts';
import { type Citation, findCitations, findHeadings, findLinks } from './support/documents/citations.ts';

const ROOT = resolve(import.meta.dirname, '..');
const TEXTS = /\.(?:ts|mjs|js|sql|md|json|avsc|dqltest|xml|py|example)$/;
/** Not written by us: packages, what runs leave behind. */
const LEFT_OUT = new Set(['node_modules', '.git', '.local', 'dist', 'package-lock.json']);

const walk = (folder: string, take: (name: string) => boolean): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (LEFT_OUT.has(entry.name)) return [];
    if (entry.isDirectory()) return walk(path, take);
    return take(path) ? [relative(ROOT, path)] : [];
  });
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const markdown = walk(ROOT, (path) => path.endsWith('.md'));
/** Recordings may hold anything; their Markdown is ours. */
const texts = walk(ROOT, (path) => TEXTS.test(path) && (path.endsWith('.md') || !path.includes('/fixtures/')));

const rulesText = read('docs/rules.md');
const rules = findHeadings(rulesText);
const ruleNames = new Set(rules.map(({ text }) => text));
const decisions = new Set(findHeadings(read('DECISIONS.md')).map(({ text }) => text.split(' ')[0]));
const listSections = (headings: readonly { readonly text: string }[]): Set<string> =>
  new Set(headings.flatMap(({ text }) => /^(\d+)\. /.exec(text)?.[1] ?? []));
const ruleSections = listSections(rules);
const designSections = listSections(findHeadings(read('docs/design.md')));
const annexes = new Set(rules.flatMap(({ text }) => /^Annex ([A-Z])\b/.exec(text)?.[1] ?? []));

/** Text of a rule, from its heading to the next one. */
const textOfRule = (name: string): string => {
  const at = rules.findIndex(({ text }) => text === name);
  const lines = rulesText.split('\n');
  return lines.slice(rules[at]?.line, (rules[at + 1]?.line ?? lines.length + 1) - 1).join('\n');
};
const hasItem = (name: string, item: string): boolean =>
  new RegExp(/\d/.test(item) ? `^${item}\\. ` : `^- \\(${item}\\) `, 'm').test(textOfRule(name));

const RULE_HINT = 'add a heading with this id in its section of docs/rules.md, or cite the right rule';
/** The missing part of a citation, and where to add it; null when it is complete. */
const findFault = ({ document, name, item }: Citation): string | null => {
  switch (document) {
    case 'rules':
      if (!ruleNames.has(name)) return `docs/rules.md has no ${name}; ${RULE_HINT}`;
      if (item !== null && !hasItem(name, item)) return `${name} in docs/rules.md has no item ${item}`;
      return null;
    case 'decisions':
      return decisions.has(name) ? null : `DECISIONS.md has no ${name}; append it as "## ${name} ..."`;
    case 'design':
      return designSections.has(name) ? null : `docs/design.md has no section ${name}`;
    case 'rules section':
      return ruleSections.has(name) ? null : `docs/rules.md has no section ${name}`;
    case 'annex':
      return annexes.has(name) ? null : `docs/rules.md has no Annex ${name}`;
    default:
      return document satisfies never;
  }
};

t.test('every id that is cited anywhere is defined in docs/ or DECISIONS.md', async (t) => {
  let count = 0;
  for (const file of texts) {
    for (const citation of findCitations(read(file))) {
      count += 1;
      const fault = findFault(citation);
      if (fault !== null) t.fail(`${file}:${citation.line} cites "${citation.text}": ${fault}`);
    }
  }
  t.ok(count > 1_000, `${count} citations resolved`);
});

t.test('examples about the past ask about a full minute, where every layer has a reading of that window', (t) => {
  const shell = /\bAT=\$\(date\b.*/g;
  const python = /\bthen = .*timedelta.*/g;
  const examples = markdown.flatMap((file) => [
    ...(read(file).match(shell) ?? []),
    ...(read(file).match(python) ?? []),
  ]);
  t.ok(examples.length >= 2, `${examples.length} examples`);
  for (const example of examples) t.match(example, /:00Z|replace\(second=0, microsecond=0\)/);
  t.end();
});

t.test('endpoints: each end of a window says whether it belongs to the window', (t) => {
  const ends = read('docs/endpoints.md').match(/^\| `(?:from|to)`(?: \(needed\))? \| string \|.*$/gm) ?? [];
  t.equal(ends.length, 8, 'of history, candles, liquidations and the archive');
  for (const end of ends) t.match(end, /inclusive|exclusive/, end);
  t.end();
});

t.test('a document that code names by its file name exists in docs/', async (t) => {
  for (const file of texts.filter((name) => !name.endsWith('docs.test.ts'))) {
    for (const match of read(file).matchAll(
      /(?<![\w./-])(records|interface|decisions|design|conventions|rules)\.md\b/g,
    ))
      if (!existsSync(join(ROOT, 'docs', match[0])))
        t.fail(`${file} names ${match[0]}, which is not in docs/; cite a rule, or add the document`);
  }
  t.pass('every file checked');
});

t.test('rule ids are unique and ascend within their prefix', async (t) => {
  const ids = rules.map(({ text }) => text).filter((text) => /^[A-Z]+-\d+[a-z]?$/.test(text));
  t.equal(new Set(ids).size, ids.length, 'no id has two headings');
  const toPrefix = (id: string): string => id.split('-')[0] ?? '';
  for (const [i, id] of ids.entries()) {
    const before = ids.slice(0, i).findLast((other) => toPrefix(other) === toPrefix(id));
    if (before !== undefined && before > id) t.fail(`docs/rules.md has ${id} after ${before}; move it before`);
  }
});

const listAnchors = (file: string): Set<string> => new Set(findHeadings(read(file)).map(({ anchor }) => anchor));

t.test('every relative link in Markdown resolves to a file and a heading', async (t) => {
  let count = 0;
  for (const file of markdown) {
    for (const { line, text, path, anchor } of findLinks(read(file))) {
      count += 1;
      const target = path === '' ? file : join(dirname(file), decodeURIComponent(path));
      if (!existsSync(join(ROOT, target))) t.fail(`${file}:${line} links to ${text}; there is no ${target}`);
      else if (anchor !== '' && (statSync(join(ROOT, target)).isDirectory() || !listAnchors(target).has(anchor)))
        t.fail(`${file}:${line} links to ${text}; ${target} has no heading with that anchor`);
    }
  }
  t.ok(count > 100, `${count} links resolved`);
});

t.test('the functions that one mark price passes are where docs/design.md names them', async (t) => {
  const rows = read('docs/design.md').matchAll(/^\| (?:\*\*[^*]+\*\* )?`([a-z/-]+\.ts)` \| `(\w+)` \|/gm);
  const steps = [...rows].map(([, file = '', name = '']) => ({ file, name }));
  t.ok(steps.length > 15, `${steps.length} functions`);
  for (const { file, name } of steps)
    t.match(read(file), new RegExp(`(?:const |function\\*? |^ +(?:async |\\*|#)*)${name}\\b`, 'm'), `${file} ${name}`);
});

t.test('glossary terms are in alphabetical order', async (t) => {
  const plain = (term: string): string =>
    term
      .toLowerCase()
      .replaceAll('_', ' ')
      .replace(/[^a-z0-9 ]/g, '');
  const terms = [...read('docs/glossary.md').matchAll(/^\| (?!term \|)([^|-][^|]*) \|/gm)].map(
    (match) => match[1] ?? '',
  );
  for (const [i, term] of terms.entries()) {
    const before = terms[i - 1];
    if (before !== undefined && plain(before) > plain(term)) t.fail(`docs/glossary.md has ${term} after ${before}`);
  }
  t.ok(terms.length > 50, `${terms.length} terms`);
});

/** Ids that no document defines are put together here, because this file is searched as well. */
const id = (prefix: string, rest: string): string => `${prefix}-${rest}`;

t.test('citations are found as such, and what only looks like one is not', async (t) => {
  const names = (text: string): readonly string[] =>
    findCitations(text).map(({ document, name, item }) => `${document} ${name}${item === null ? '' : ` ${item}`}`);
  const rows: readonly (readonly [text: string, found: readonly string[]])[] = [
    [`(${id('N', '11')}, ${id('F', '02')})`, ['rules N-11', 'rules F-02']],
    [`${id('DQL', '33f')}: of several`, ['rules DQL-33f']],
    [`${id('N', '05')} rule 2, ${id('E', '01')}, steps 2 to 5`, ['rules N-05 2', 'rules E-01 2']],
    [`${id('DQL', '09')}.6 and ${id('N', '04')}(b).`, ['rules DQL-09 6', 'rules N-04 b']],
    [`End of a sentence ${id('V', '03')}. Next`, ['rules V-03']],
    [`see ${id('D', '12')}`, ['decisions D-12']],
    ['(design sections 4 and 5)', ['design 4', 'design 5']],
    ['in the design\nsection 7', ['design 7']],
    ['decisions section 3, Annex B', ['rules section 3', 'annex B']],
    [`BTC-PERP 2026-01-15 ${id('T', '10')}:00 A-1 x-${id('N', '11')} ${id('P', '20')}-A UTF-8 SHA-256`, []],
  ];
  for (const [text, found] of rows) t.same(names(text), found, JSON.stringify(text));
});

t.test('a citation of what is not defined is reported with its line', async (t) => {
  const text = `one\n// as ${id('N', '99')} has it, ${id('E', '01')} step 40, ${id('D', '999')}, ${'design'} section 77`;
  const faults = findCitations(text).map((citation) => `${citation.line}: ${findFault(citation)}`);
  t.equal(faults.length, 4);
  t.ok(
    faults.every((fault) => fault.startsWith('2: ') && !fault.includes('null')),
    faults.join('\n'),
  );
});

t.test('the changelog is read as the service reads it', async (t) => {
  t.ok(parseChangelog(read('CHANGELOG.md')).length > 0);
});

t.test('links and anchors are read as GitHub reads them', async (t) => {
  const text =
    '# One & two\n## One & two\n`[not](a.md)` [a](b.md#c) [site](https://x.y) [`code`](d.md)\n```\n# no\n```\n';
  t.same(
    findHeadings(text).map(({ anchor }) => anchor),
    ['one--two', 'one--two-1'],
  );
  t.same(
    findLinks(text).map(({ path, anchor }) => [path, anchor]),
    [
      ['b.md', 'c'],
      ['d.md', ''],
    ],
  );
});

t.test('the manual of the nightly runner has every step with the time at which it is due', (t) => {
  const manual = read('processors/nightly/README.md');
  const written = [...manual.matchAll(/^\| `([a-z-]+)` \| ((?:D\+\d )?\d\d:\d\d) \|/gm)].map(
    ([, name, due]) => `${name} ${due}`,
  );
  const due = STEPS.map(({ name, dueMs }) => {
    const days = Math.floor(dueMs / 86_400_000);
    return `${name} ${days === 0 ? '' : `D+${days} `}${new Date(dueMs).toISOString().slice(11, 16)}`;
  });
  t.same(written.sort(), due.sort());
  t.end();
});

/** Source of the processes, without their tools for development. */
const sources = texts.filter((file) => /^(?:api|infra|ingest|processors)\/.*\.ts$/.test(file) && !/\/dev\//.test(file));
const METRIC = /^(?:ingest|kafka|nightly|perp|processor|sink)_[a-z_]+$/;

t.test('a metric that a document names exists', (t) => {
  const made = new Set(sources.flatMap((file) => [...read(file).matchAll(/'([a-z_]+)'/g)].map(([, name]) => name)));
  let count = 0;
  for (const file of markdown) {
    for (const [, name = ''] of read(file).matchAll(/`([a-z_]+)(?:\{[^`]*)?`/g)) {
      if (!METRIC.test(name)) continue;
      count += 1;
      if (!made.has(name)) t.fail(`${file} names the metric ${name}, which no process has`);
    }
  }
  t.ok(count > 50, `${count} metrics`);
  t.end();
});

t.test('a metric whose help says that it is an alarm is in the list of alarms', (t) => {
  const list = /^## Alarms\n(.*?)^## /ms.exec(read('docs/deployment.md'))?.[1] ?? '';
  const alarms = sources.flatMap((file) =>
    [...read(file).matchAll(/\(\s*'([a-z_]+)',\s*(?:'[^'\n]*alarm|"[^"\n]*alarm)/g)].map(([, name = '']) => name),
  );
  t.ok(alarms.length > 8, `${alarms.length} alarms`);
  for (const name of alarms) t.match(list, `\`${name}`, `${name} is in docs/deployment.md#alarms`);
  t.end();
});

t.test('a decision that another one replaces or amends says so in its heading', (t) => {
  const headings = new Map(findHeadings(read('DECISIONS.md')).map(({ text }) => [text.split(' ')[0] ?? '', text]));
  for (const [name, heading] of headings) {
    for (const [, older = ''] of heading.matchAll(/(?:replaces|amends) ((?:D-\d+(?:, | and )?)+)/g))
      for (const [one] of older.matchAll(/D-\d+/g)) t.match(headings.get(one), name, `${one} names ${name}`);
  }
  t.end();
});

t.test('no manual answers a cut log with a new namespace, which begins without the history (D-563)', (t) => {
  for (const file of markdown.filter((name) => name !== 'DECISIONS.md'))
    t.notMatch(read(file), /\b(?:use|in)\s+a\s+new\s+`TOPIC_NAMESPACE`/i, file);
  t.end();
});
