// Starts an app on the port of a setting; failures name the setting.

/** The part of a fastify app that is used here. */
type Listener = {
  readonly listen: (at: { readonly host: string; readonly port: number; readonly backlog: number }) => Promise<unknown>;
};

/** Connections waiting to be accepted: with a smaller backlog, a thousand simultaneous connections are reset on a busy machine. */
const BACKLOG = 4_096;

/** `setting` names the variable of the port. */
export const listenOn = async (
  app: Listener,
  host: string,
  [setting, port]: readonly [string, number],
): Promise<void> => {
  try {
    await app.listen({ host, port, backlog: BACKLOG });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'EADDRINUSE') throw new Error(`port ${port} of ${setting} is taken`, { cause: error });
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Error(`${host} of HOST is no address of this machine`, { cause: error });
    throw error;
  }
};
