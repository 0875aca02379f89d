// Members that one object of a JSON text names twice: their meaning is ambiguous, and JSON.parse silently keeps the last (N-13).

export type MemberPath = readonly (string | number)[];

/** As many as one answer has errors (E-05). */
const MOST = 20;
/** No valid body is nested deeper; of a deeper path only the beginning is reported. */
const DEEPEST = 64;

/** An open object or array: its names so far, those reported, and the current member or element. */
type Open = { readonly names: Set<string> | null; readonly told: Set<string>; at: string | number };

/** Whole strings, and the characters that structure a text; numbers and literals lie between. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/g;

/** Whether an object already has its next member and the repeat was not reported yet. */
const isRepeat = ({ names, told }: Open, member: string): boolean => {
  if (names === null || told.has(member)) return false;
  if (names.has(member)) {
    told.add(member);
    return true;
  }
  names.add(member);
  return false;
};

/** Paths of repeated members, each once, in the order of the text, at most twenty; `text` is JSON. */
export const findRepeatedMembers = (text: string): MemberPath[] => {
  const repeated: MemberPath[] = [];
  const open: Open[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKENS)) {
    const inside = open.at(-1);
    if (token === '{') open.push({ names: new Set(), told: new Set(), at: '' });
    else if (token === '[') open.push({ names: null, told: new Set(), at: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':' && inside !== undefined) {
      const member = JSON.parse(last) as string;
      inside.at = member;
      if (isRepeat(inside, member)) repeated.push(open.slice(0, DEEPEST).map(({ at }) => at));
      if (repeated.length === MOST) return repeated;
    } else if (token === ',' && typeof inside?.at === 'number') inside.at += 1;
    else last = token;
  }
  return repeated;
};
