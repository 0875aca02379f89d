// Starts an app on the port of a setting; failures name the setting.

/** The part of a fastify app that is used here. */
type Listener = {
  readonly listen: (at: { readonly host: string; readonly port: number; readonly backlog: number }) => Promise<unknown>;
};

/** Name and value of a setting. */
type Setting<T> = readonly [name: string, value: T];
type Place = { readonly host: Setting<string>; readonly port: Setting<number> };

/** Connections waiting to be accepted: with a smaller backlog, a thousand simultaneous connections are reset on a busy machine. */
const BACKLOG = 4_096;

/** The error of a failed listen, whose message names the setting to change; any other error unchanged. */
export const explainListen = (error: unknown, { host, port }: Place): unknown => {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'EADDRINUSE') return new Error(`port ${port[1]} of ${port[0]} is taken`, { cause: error });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new Error(`${host[1]} of ${host[0]} is not an address of this machine`, { cause: error });
  return error;
};

/** Resolves when the app listens; rejects as `explainListen` says. */
export const listenOn = async (app: Listener, place: Place): Promise<void> => {
  try {
    await app.listen({ host: place.host[1], port: place.port[1], backlog: BACKLOG });
  } catch (error) {
    throw explainListen(error, place);
  }
};
