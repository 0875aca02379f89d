// The text of a query and places in it, counted in code points (DQL-01, DQL-34e).
import { countLeading } from '../../schemas/binary-search.ts';
import type { Position } from '../../schemas/errors.ts';

/** UTF-16 places, `to` exclusive. */
export type Span = { readonly from: number; readonly to: number };

const LINE_END = /\r\n|\n|\r/g;
const SURROGATE = /[\ud800-\udfff]/;

/** Code points before each UTF-16 place; null when every character is one unit. */
const listCodePointOffsets = (text: string): Uint32Array | null => {
  if (!SURROGATE.test(text)) return null;
  const offsets = new Uint32Array(text.length + 1);
  let points = 0;
  for (let i = 0; i < text.length; ) {
    const units = (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
    offsets.fill(points, i, i + units);
    points++;
    i += units;
  }
  offsets[text.length] = points;
  return offsets;
};

export class Source {
  readonly text: string;
  readonly #offsets: Uint32Array | null;
  readonly #lineStarts: readonly number[];

  constructor(text: string) {
    this.text = text;
    this.#offsets = listCodePointOffsets(text);
    this.#lineStarts = [0, ...[...text.matchAll(LINE_END)].map((end) => end.index + end[0].length)];
  }

  positionOf({ from, to }: Span): Position {
    const line = this.#findLine(from);
    const offset = this.#offset(from);
    return {
      line: line + 1,
      column: offset - this.#offset(this.#lineStarts[line] ?? 0) + 1,
      offset,
      length: this.#offset(to) - offset,
    };
  }

  #offset(at: number): number {
    return this.#offsets?.[at] ?? at;
  }

  /** The last line that starts at or before `at`. */
  #findLine(at: number): number {
    return countLeading(this.#lineStarts.length, (i) => (this.#lineStarts[i] ?? 0) <= at) - 1;
  }
}
