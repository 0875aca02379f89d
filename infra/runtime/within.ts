// A limit on how long a caller waits for something that cannot be stopped.

/** The work's outcome, or a failure when it takes longer; the work continues and its result is then ignored. */
export const within = async <T>(work: Promise<T>, limitMs: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_settle, fail) => {
    const expire = (): void => fail(new Error(`no answer within ${limitMs} ms`));
    // A process that was busy itself may have the result pending: it reads what has arrived before it reports a timeout.
    timer = setTimeout(() => setImmediate(expire), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
