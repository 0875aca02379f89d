// A queue between one that writes and one that reads; when it is full the writer waits.

export class Queue<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;
  #end: { readonly error: unknown } | 'ended' | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Waits while the queue is full: the writer then stops reading, and flow control of the network slows its sender. */
  async push(item: Item): Promise<void> {
    while (this.#items.length >= this.#limit && this.#end === null) {
      await new Promise<void>((wake) => {
        this.#wakeWriter = wake;
      });
    }
    this.#items.push(item);
    this.#wakeReader?.();
  }

  end(): void {
    this.#end ??= 'ended';
    this.#wakeReader?.();
    this.#wakeWriter?.();
  }

  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wakeReader?.();
  }

  /** Items in their order; throws what the writer failed with, after the items that came before. */
  async *items(): AsyncGenerator<Item, void, void> {
    for (;;) {
      for (const item of this.#items.splice(0)) {
        this.#wakeWriter?.();
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
