// A limit on how long a caller waits for something that cannot be stopped.

/** The work's outcome, or a failure when it takes longer; the work goes on all the same and its end is then ignored. */
export const within = async <T>(work: Promise<T>, limitMs: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_settle, fail) => {
    const expire = (): void => fail(new Error(`no answer within ${limitMs} ms`));
    // A process that was busy itself may find the answer waiting: what has arrived is read before it counts as late.
    timer = setTimeout(() => setImmediate(expire), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
