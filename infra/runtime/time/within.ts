// A limit on how long a caller waits for something that cannot be stopped.

/** The work has not ended in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  constructor(limitMs: number) {
    super(`no answer within ${limitMs} ms`);
  }
}

/** The work's outcome. Rejects with NoAnswer when it takes longer than `limitMs`; the work continues and its result is then ignored. */
export const limitTime = async <T>(work: Promise<T>, limitMs: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_settle, fail) => {
    const expire = (): void => fail(new NoAnswer(limitMs));
    // A process that was busy itself may have the result pending: it reads what has arrived before it reports a timeout.
    timer = setTimeout(() => setImmediate(expire), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
