// Members that one object of a JSON text names twice: which of them is meant nobody knows, and JSON.parse keeps the last in silence (N-13).

export type MemberPath = readonly (string | number)[];

/** As many as one answer has errors (E-05). */
const MOST = 20;
/** No lawful body is nested deeper; of a path that is, the beginning is told. */
const DEEPEST = 64;

/** An object or array that is open: the names it has had, those told, and the member or element that stands now. */
type Open = { readonly names: Set<string> | null; readonly told: Set<string>; at: string | number };

/** Strings whole, and what structures a text; numbers and literals stand between. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/g;

/** Whether an object that comes to its next member had it before and it was not told yet. */
const isRepeat = ({ names, told }: Open, member: string): boolean => {
  if (names === null || told.has(member)) return false;
  if (names.has(member)) {
    told.add(member);
    return true;
  }
  names.add(member);
  return false;
};

/** Paths of the members that are there already, each told once, in the order of the text, at most twenty; `text` is JSON. */
export const repeatedMembers = (text: string): MemberPath[] => {
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
