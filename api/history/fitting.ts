// Finds the part of a window that fits into an answer, by the bytes of its rows and the part of the window that each covers (H-08).
import { makeServiceError } from '../../schemas/errors.ts';
import type { Selected } from '../live/listing-book.ts';
import type { Items, RowGroup } from './row-groups.ts';

/** How large an answer may grow, and the limit of its caller, who may have lowered it: a refusal names that one and what fits in it (T-04). */
export type ItemsLimit = { readonly stopsAt: number; readonly named: number };
/** Bytes of a table: of everything other than its rows, and of every `every`th row, in the order of its groups. */
export type LineSizes = { readonly head: number; readonly every: number; readonly lines: readonly number[] };
/** An answer that is too large, and its limit, in bytes. */
export type Refused = {
  readonly bytes: number;
  readonly limit: number;
  /** Of a table. */
  readonly lines?: LineSizes;
};
/** A row: its bytes, and how many steps from the start of the window hold it. A step is a period, an instant, or a second of raw rows. */
export type SizedRow = { readonly steps: number; readonly bytes: number };

export type FittedItems = Items & {
  /** What would fit, of a body that is too large. */
  readonly fits: (refused: Refused) => string;
};

type Fitting = {
  /** Adds a listing: its bytes including rows, and its rows; `least`: the number of steps that an answer with this listing needs. */
  readonly add: (bytes: number, rows: readonly SizedRow[], least?: number) => void;
  /** Bytes of all listings. */
  readonly countBytes: () => number;
  /** The largest number of steps whose answer has at most the given number of bytes; Infinity for all steps. */
  readonly countSteps: (limit: number) => number;
};

const ENVELOPE_BYTES = 800;
/** Units that follow from other rows change a few more bytes. */
const EXACT = 0.995;
/** Texts are counted by characters, which may be several bytes. */
const ROUGH = 0.95;
/** A column that first appears in a later row is an empty cell of the rows before. */
const MEASURED = 0.98;

export const countLineBytes = ({ head, every, lines }: LineSizes): number =>
  head + every * lines.reduce((sum, line) => sum + line, 0);

export const createFitting = (): Fitting => {
  const byStep = new Map<number, number>();
  let [bytes, besides] = [0, 0];
  const put = (steps: number, added: number): void => void byStep.set(steps, (byStep.get(steps) ?? 0) + added);
  return {
    add: (added, rows, least = 0) => {
      let head = added;
      for (const row of rows) {
        put(Math.max(least, row.steps), row.bytes);
        head -= row.bytes;
      }
      bytes += added;
      if (least > 0) put(least, head);
      else besides += head;
    },
    countBytes: () => bytes,
    countSteps: (limit) => {
      let left = limit - besides;
      if (left < 0) return 0;
      for (const step of [...byStep.keys()].sort((a, b) => a - b)) {
        left -= byStep.get(step) ?? 0;
        if (left < 0) return step - 1;
      }
      return Number.POSITIVE_INFINITY;
    },
  };
};

/** The steps that fit in an answer of `limit` bytes. */
const countFitting = (fitting: Fitting, limit: number): number => fitting.countSteps(EXACT * (limit - ENVELOPE_BYTES));

/** The steps that fit in a body of JSON whose bytes were counted with its envelope. */
const countFittingBody = (fitting: Fitting, { bytes, limit }: Refused): number => {
  const scale = fitting.countBytes() / Math.max(1, bytes - ENVELOPE_BYTES);
  return fitting.countSteps(ROUGH * scale * (limit - ENVELOPE_BYTES));
};

/** The steps that fit in a table. `rows`: how many steps hold each of its rows. */
const countFittingLines = (rows: readonly number[], lines: LineSizes, limit: number): number => {
  const { every } = lines;
  const fitting = createFitting();
  const sizes = lines.lines.map((line, i) => ({ steps: rows[i * every] ?? 0, bytes: every * line }));
  fitting.add(countLineBytes(lines), sizes);
  return fitting.countSteps(MEASURED * limit);
};

/** `hint`: what would fit. */
export const makeTooLarge = (bytes: number, { named }: ItemsLimit, hint: string): Error =>
  makeServiceError('DQL_LIMIT', `The answer has more than ${bytes} bytes, the limit is ${named}.`, { hint });

/** The item of a listing: its text, its rows' sizes, and the rows themselves, in the same order, where a format renders them again. */
export type FittedItem = {
  readonly text: string;
  readonly sizes: readonly SizedRow[];
  readonly groups: readonly RowGroup[];
};

/** How the items of an answer over a window, or over instants, are made. */
type ItemsPlan<Asked> = {
  readonly asked: Asked;
  readonly limit: ItemsLimit;
  /** Listings read at a time. */
  readonly countGroup: (asked: Asked) => number;
  readonly makeItems: (group: readonly Selected[], asked: Asked) => Promise<readonly FittedItem[]>;
  /** How many first steps an answer needs that has a listing: one that was listed later is in none before (N-10). */
  readonly countLeast: (one: Selected) => number;
  /** The request, cut to the given number of first steps. */
  readonly shorten: (steps: number) => Asked;
  /** Makes the hint that states what fits. */
  readonly describeFit: (fits: Asked) => string;
  /** Throws ServiceError if the number of rows is too large. */
  readonly refuseTooMany?: (rows: number) => void;
};

/** The items of an answer, listing by listing. Throws ServiceError past the limits, and what `makeItems` throws. */
export const collectItems = async <Asked>(
  selected: readonly Selected[],
  plan: ItemsPlan<Asked>,
): Promise<FittedItems> => {
  const { limit, shorten, describeFit } = plan;
  const texts: string[] = [];
  const groups: RowGroup[] = [];
  const fitting = createFitting();
  /** How many steps hold each row, in the order of the rows. */
  const steps: number[] = [];
  let grown: number | null = null;
  // Once the answer is too large, the listings that follow are measured over what still may fit: any of them may have larger rows.
  let { asked } = plan;
  for (let i = 0; i < selected.length; ) {
    const group = selected.slice(i, i + plan.countGroup(asked));
    for (const [at, item] of (await plan.makeItems(group, asked)).entries()) {
      const least = plan.countLeast(group[at] as Selected);
      fitting.add(item.text.length + 1, item.sizes, least);
      if (grown !== null) continue;
      for (const row of item.sizes) steps.push(Math.max(least, row.steps));
      texts.push(item.text);
      groups.push(...item.groups);
      if (fitting.countBytes() > limit.stopsAt) grown = fitting.countBytes();
      else plan.refuseTooMany?.(steps.length);
    }
    if (grown !== null) {
      const most = countFitting(fitting, limit.named);
      asked = shorten(most);
      if (most === 0) break;
    }
    i += group.length;
  }
  if (grown !== null) throw makeTooLarge(grown, limit, describeFit(asked));
  const fits = (refused: Refused) =>
    describeFit(
      shorten(
        refused.lines === undefined
          ? countFittingBody(fitting, refused)
          : countFittingLines(steps, refused.lines, refused.limit),
      ),
    );
  return { text: `[${texts.join(',')}]`, groups, fits };
};

/** How many of an answer's elements fit; they differ in size, so a tenth is left. */
export const computeFittingCount = ({ bytes, limit }: Refused, count: number): number =>
  Math.floor((0.9 * count * limit) / bytes);

/** A shorter page has a cursor where the whole one may have none. */
const CURSOR_BYTES = 256;

/** What a page is made of, by how many of its first rows hold it: the rows in the order of its groups, and in JSON the gaps. */
export type PageSizes = { readonly rows: readonly SizedRow[]; readonly gaps: readonly SizedRow[] };

/** How many of the first rows of a page over several listings fit. */
export const countFittingPage = ({ rows, gaps }: PageSizes, refused: Refused): number => {
  const { bytes, limit, lines } = refused;
  const steps = rows.map((row) => row.steps);
  if (lines !== undefined) return Math.min(rows.length, countFittingLines(steps, lines, limit));
  const fitting = createFitting();
  fitting.add(bytes, [...rows, ...gaps]);
  return Math.min(rows.length, fitting.countSteps(limit - CURSOR_BYTES));
};

/** How many of the first rows of a page fit, of which each one's bytes are known. */
export const countFittingRows = ({ bytes, limit }: Refused, rows: readonly number[]): number => {
  let left = limit - CURSOR_BYTES - (bytes - rows.reduce((sum, row) => sum + row, 0));
  const above = rows.findIndex((row) => {
    left -= row;
    return left < 0;
  });
  return above === -1 ? rows.length : above;
};
