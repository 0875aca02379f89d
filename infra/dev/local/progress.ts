/** Progress at the terminal while things start: each step with the seconds since the beginning. */

export interface Progress {
  print(line: string): void;
  /** Prints every two seconds that the work continues; resolves to the work's own result. */
  during<T>(name: string, work: Promise<T>): Promise<T>;
}

const PRINT_EVERY_MS = 2000;

export function createProgress(write: (text: string) => void): Progress {
  const begun = performance.now();
  const print = (line: string): void => {
    const elapsed = ((performance.now() - begun) / 1000).toFixed(1).padStart(5);
    for (const part of line.split('\n')) write(`[${elapsed} s] ${part}\n`);
  };
  return {
    print,
    async during(name, work) {
      const timer = setInterval(() => print(`waiting for ${name}`), PRINT_EVERY_MS);
      try {
        return await work;
      } finally {
        clearInterval(timer);
      }
    },
  };
}
