// Ends the process with an error that nothing handles where it occurred: its lifecycle logs it (lifecycle.ts).

export const failProcess = (error: unknown): void => {
  queueMicrotask(() => {
    throw error;
  });
};
