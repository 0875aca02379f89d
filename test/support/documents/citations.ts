// Finds what a text cites of the project's documents (rules, decisions, design sections) and what Markdown links to; pure.

/** `item` is the numbered or lettered item of a rule (`N-05 rule 2`, `E-01 step 8`, `N-04(b)`), null for the whole. */
export type Citation = {
  readonly line: number;
  readonly text: string;
  readonly document: 'rules' | 'decisions' | 'design' | 'rules section' | 'annex';
  readonly name: string;
  readonly item: string | null;
};
type Link = { readonly line: number; readonly text: string; readonly path: string; readonly anchor: string };
type Heading = { readonly line: number; readonly level: number; readonly text: string; readonly anchor: string };

/** Prefixes of rule ids; longer ones first, because `A` of `AC` must not end a match. */
const PREFIXES = 'DQL|VER|AC|AG|AN|AR|OP|SC|ST|E|F|H|L|N|P|Q|S|T|V';
/** Not within a longer name, code or number: `BTC-PERP-20`, `T-10:00` and `x-N-11` are no citations. */
const RULE = new RegExp(
  `(?<![\\w-])((?:${PREFIXES})-\\d{1,2}[a-z]?)(?![\\w-]|:\\d)(?:\\.(\\d)|,? (?:rule|steps?) (\\d+)|\\(([a-z])\\))?`,
  'g',
);
const DECISION = /(?<![\w-])(D-\d{1,4})(?![\w-]|:\d)/g;
const DESIGN = /\bdesign\s+sections?\s+(\d+)(?:\s+and\s+(\d+))?/gi;
const RULES_SECTION = /\bdecisions\s+sections?\s+(\d+)(?:\s+and\s+(\d+))?/gi;
const ANNEX = /\bAnnex ([A-Z])\b/g;

const listMatches = (text: string, pattern: RegExp): readonly RegExpMatchArray[] => [...text.matchAll(pattern)];

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** Everything `text` cites, in the order of the kinds above. */
export const findCitations = (text: string): readonly Citation[] => {
  const cite = (match: RegExpMatchArray, document: Citation['document'], name: string, item?: string): Citation => ({
    line: lineAt(text, match.index ?? 0),
    text: match[0].replace(/\s+/g, ' '),
    document,
    name,
    item: item ?? null,
  });
  const numbers = (pattern: RegExp, document: Citation['document']): Citation[] =>
    listMatches(text, pattern).flatMap((match) =>
      [match[1], match[2]].flatMap((number) => (number === undefined ? [] : [cite(match, document, number)])),
    );
  return [
    ...listMatches(text, RULE).map((match) => cite(match, 'rules', match[1] ?? '', match[2] ?? match[3] ?? match[4])),
    ...listMatches(text, DECISION).map((match) => cite(match, 'decisions', match[1] ?? '')),
    ...numbers(DESIGN, 'design'),
    ...numbers(RULES_SECTION, 'rules section'),
    ...listMatches(text, ANNEX).map((match) => cite(match, 'annex', match[1] ?? '')),
  ];
};

/** Lines of a Markdown text; those of fenced code are blank, so that line numbers hold. */
const proseLines = (markdown: string): readonly string[] => {
  let isCode = false;
  return markdown.split('\n').map((line) => {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    if (isFence) isCode = !isCode;
    return isFence || isCode ? '' : line;
  });
};

/** The anchor that GitHub gives a heading; the n-th repeat of one text gets `-n`. */
export const findHeadings = (markdown: string): readonly Heading[] => {
  const taken = new Map<string, number>();
  return proseLines(markdown).flatMap((text, at) => {
    const match = /^(#{1,6})\s+(.+?)\s*$/.exec(text);
    if (match === null) return [];
    const heading = match[2] ?? '';
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const times = taken.get(slug) ?? 0;
    taken.set(slug, times + 1);
    const anchor = times === 0 ? slug : `${slug}-${times}`;
    return [{ line: at + 1, level: match[1]?.length ?? 0, text: heading, anchor }];
  });
};

/** Relative links of a Markdown text; addresses of other sites are left out. */
export const findLinks = (markdown: string): readonly Link[] =>
  proseLines(markdown).flatMap((text, at) => {
    const prose = text.replace(/(?<!\[)`[^`]*`(?!\])/g, '');
    return listMatches(prose, /\[[^\]]*\]\(([^)\s]+)\)/g).flatMap((match) => {
      const target = match[1] ?? '';
      if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
      const [path = '', anchor = ''] = target.split('#');
      return [{ line: at + 1, text: target, path, anchor }];
    });
  });
