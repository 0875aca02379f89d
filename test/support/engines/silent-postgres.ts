// A server of the PostgreSQL protocol that lets clients in and then answers nothing, as one that is frozen or gone without a word.
import { createServer, type Socket } from 'node:net';
import type { Teardown } from './engines.ts';

/** AuthenticationOk and ReadyForQuery (PostgreSQL, "Message Formats"). */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

type SilentPostgres = {
  readonly url: string;
  /** Ports of the clients whose connections are open. */
  readonly clients: () => readonly number[];
  /** Ends every connection. */
  readonly cut: () => void;
};

export const startSilentPostgres = async (t: Teardown): Promise<SilentPostgres> => {
  const open = new Map<Socket, number>();
  const server = createServer((socket) => {
    open.set(socket, socket.remotePort ?? 0);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
    socket.once('data', () => {
      socket.write(WELCOME);
      socket.resume();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const cut = (): void => {
    for (const socket of open.keys()) socket.destroy();
  };
  t.teardown(async () => {
    cut();
    await new Promise((done) => server.close(done));
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `postgres://user:password@127.0.0.1:${port}/db`, clients: () => [...open.values()], cut };
};
