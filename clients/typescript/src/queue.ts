// A queue between writers and one reader; when it is full, the writers wait.

export class Queue<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];
  #wakeReader: (() => void) | null = null;
  readonly #waitingWriters: (() => void)[] = [];
  #end: { readonly error: unknown } | 'ended' | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Waits while the queue is full: the writer then stops reading, and flow control of the network slows its sender. */
  async push(item: Item): Promise<void> {
    while (this.#items.length >= this.#limit && this.#end === null) {
      await new Promise<void>((wake) => {
        this.#waitingWriters.push(wake);
      });
    }
    this.#items.push(item);
    this.#wakeReader?.();
  }

  end(): void {
    this.#end ??= 'ended';
    this.#wakeReader?.();
    this.#wakeWriters();
  }

  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wakeReader?.();
    this.#wakeWriters();
  }

  /** Each of them looks again whether there is room. */
  #wakeWriters(): void {
    for (const wake of this.#waitingWriters.splice(0)) wake();
  }

  /** Items in their order; throws what the writer failed with, after the items that came before. */
  async *items(): AsyncGenerator<Item, void, void> {
    for (;;) {
      for (const item of this.#items.splice(0)) {
        this.#wakeWriters();
        yield item;
      }
      if (this.#items.length > 0) continue;
      if (this.#end === 'ended') return;
      if (this.#end !== null) throw this.#end.error;
      await new Promise<void>((wake) => {
        this.#wakeReader = wake;
      });
    }
  }
}
