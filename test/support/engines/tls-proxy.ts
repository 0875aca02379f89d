// A proxy that ends TLS before an engine that has none, as stunnel or HAProxy would; its certificate can be exchanged.
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import type { Certificate } from './certificates.ts';
import type { Teardown } from './engines.ts';

type TlsProxy = {
  readonly port: number;
  /** New connections get this certificate; those that are open are cut. */
  readonly present: (certificate: Certificate) => void;
};
type TlsProxyOptions = {
  /** Of the engine, on loopback. */
  readonly port: number;
  readonly certificate: Certificate;
  /** Answers the request for TLS of the PostgreSQL protocol first, as stunnel does with `protocol = pgsql`. */
  readonly answersSslRequest?: boolean;
};

const SSL_REQUEST_BYTES = 8;

/** Starts on a free port of loopback, ends with the test. */
export const startTlsProxy = async (t: Teardown, options: TlsProxyOptions): Promise<TlsProxy> => {
  const open = new Set<Socket>();
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => open.delete(socket));
  };
  let context: SecureContext = createSecureContext(options.certificate);
  const serve = (client: Socket): void => {
    const secure = new TLSSocket(client, {
      isServer: true,
      secureContext: context,
      ALPNProtocols: ['postgresql', 'http/1.1'],
    });
    const engine = connect(options.port, '127.0.0.1');
    for (const socket of [secure, engine]) keep(socket);
    secure.pipe(engine).pipe(secure);
    secure.once('close', () => engine.destroy());
    engine.once('close', () => secure.destroy());
  };
  const server: Server = createServer((client) => {
    keep(client);
    if (options.answersSslRequest !== true) return serve(client);
    client.once('readable', () => {
      if (client.read(SSL_REQUEST_BYTES) === null) return client.destroy();
      client.write('S');
      return serve(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  t.teardown(() => {
    server.close();
    cut();
  });
  return {
    port: (server.address() as AddressInfo).port,
    present: (certificate) => {
      context = createSecureContext(certificate);
      cut();
    },
  };
};
