// Listening of an app on a setting's port: what is wrong with it is told by the setting's name.

/** What this needs of a fastify app. */
type Listener = {
  readonly listen: (at: { readonly host: string; readonly port: number; readonly backlog: number }) => Promise<unknown>;
};

/** Connections that wait to be accepted: with fewer, a thousand that come at once are reset on a busy machine. */
const BACKLOG = 4_096;

/** `setting` names where the port comes from. */
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
