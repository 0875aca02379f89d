// Error recovery of the expression parser: it continues at commas and closing parentheses, with what was read before the fault.
import { Halt, type TokenStream } from './token-stream.ts';
import type { Node } from './tree.ts';

const WANTED = { ',)': '"," or ")"', ',': '","', ')': '")"' } as const;

/** Complete nodes that were read before the parser stopped. The parser that continues puts them into a broken node, so that their faults are found too. */
export class Recovery {
  readonly #stream: TokenStream;
  readonly #left: Node[] = [];

  constructor(stream: TokenStream) {
    this.#stream = stream;
  }

  /** For `and` and `or`, their sides: the last one may be incomplete, so it is not known whether it is a condition. */
  leave(node: Node): void {
    if (node.type === 'and' || node.type === 'or') this.#left.push(...node.args);
    else this.#left.push(node);
  }

  /** The nodes left since the last call. */
  takeLeft(): Node[] {
    return this.#left.splice(0);
  }

  /** Reads what follows nodes that are whole. */
  behind<T>(before: readonly Node[], read: () => T): T {
    try {
      return read();
    } catch (error) {
      for (const node of before) this.#left.push(node);
      throw error;
    }
  }

  /** Reads a part that is checked otherwise than what surrounds it; `enclose` makes the node for the parts left inside. */
  inside(read: () => Node, enclose: (parts: Node[]) => Node): Node {
    const start = this.#left.length;
    try {
      return read();
    } catch (error) {
      this.#left.push(enclose(this.#left.splice(start)));
      throw error;
    }
  }

  /**
   * Reads what a comma or closing parenthesis must follow. After a fault goes on there, if it comes before the next clause, with
   * `over` of the parts that were read.
   */
  item<T extends Node | null>(read: () => T, over: (parts: Node[]) => T, until: ',)' | ',' | ')' = ',)'): T {
    const stream = this.#stream;
    const isOver = (): boolean => stream.isOp(')') || (until !== ')' && stream.isOp(','));
    const start = this.#left.length;
    try {
      const result = read();
      if (isOver()) return result;
      if (result !== null) this.leave(result);
      return stream.stop(WANTED[until], 'Close the parenthesis or write an operator.');
    } catch (error) {
      if (!(error instanceof Halt)) throw error;
      while (stream.skipToSeparator()) {
        if (isOver()) return over(this.#left.splice(start));
        stream.take();
      }
      throw error;
    }
  }
}
