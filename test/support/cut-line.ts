// A line to a server that can be cut and restored: transfers in progress break, and no connection passes until it is restored.
import { connect, createServer, type Socket } from 'node:net';
import type { Teardown } from './engines/engines.ts';

type CutLine = {
  /** Reaches the same server through the line. */
  readonly url: string;
  readonly cut: () => void;
  readonly mend: () => void;
};

export const openLine = async (t: Teardown, target: string): Promise<CutLine> => {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let isCut = false;
  const endAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  const line = createServer((client) => {
    if (isCut) return client.destroy();
    const server = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket) && other.destroy());
      socket.pipe(other);
    }
    return undefined;
  });
  await new Promise<void>((done) => line.listen(0, '127.0.0.1', done));
  t.teardown(async () => {
    endAll();
    await new Promise((done) => line.close(done));
  });
  const address = line.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    cut() {
      isCut = true;
      endAll();
    },
    mend() {
      isCut = false;
    },
  };
};
