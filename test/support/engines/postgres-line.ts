// A line to PostgreSQL that can be cut for one kind of connection, identified by its application name, while all others continue.
import { connect, createServer, type Socket } from 'node:net';
import type { Teardown } from './engines.ts';

type PostgresLine = {
  /** Reaches the same database through the line. */
  readonly url: string;
  /** From now on nothing passes for connections of this name: open ones fall silent, new ones end at once. */
  readonly cut: (applicationName: string) => void;
  readonly mend: () => void;
};

type Pair = { readonly client: Socket; readonly server: Socket; name: string };

/** The startup message has its parameters in plain text (PostgreSQL protocol 3.0, StartupMessage). */
const readName = (startup: Buffer): string =>
  /application_name\0([^\0]*)\0/.exec(startup.toString('latin1'))?.[1] ?? '';

/** `port` 0 takes a free one. */
export const openPostgresLine = async (t: Teardown, databaseUrl: string, port = 0): Promise<PostgresLine> => {
  const target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let cutName: string | null = null;

  const join = (client: Socket): void => {
    const server = connect(Number(target.port), target.hostname);
    const pair: Pair = { client, server, name: '' };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    client.once('data', (startup: Buffer) => {
      pair.name = readName(startup);
      if (pair.name === cutName) return end();
      server.write(startup);
      client.on('data', (bytes) => pair.name !== cutName && server.write(bytes));
      server.on('data', (bytes) => pair.name !== cutName && client.write(bytes));
    });
  };

  const line = createServer(join);
  await new Promise<void>((done) => line.listen(port, '127.0.0.1', done));
  const address = line.address();
  t.teardown(async () => {
    for (const { client, server } of pairs) {
      client.destroy();
      server.destroy();
    }
    await new Promise((done) => line.close(done));
  });
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0);
  return {
    url: url.href,
    cut(applicationName) {
      cutName = applicationName;
    },
    mend() {
      // A connection that fell silent has lost bytes: it can only be reopened.
      for (const { client, name } of pairs) if (name === cutName) client.destroy();
      cutName = null;
    },
  };
};
