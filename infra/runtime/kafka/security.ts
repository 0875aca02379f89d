// Opens connections to Kafka: TLS, SASL, and failures that name the setting to check.
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { type ConnectionOptions, TLSSocket } from 'node:tls';
import type { ISocketFactory, KafkaConfig, Mechanism, SASLOptions } from 'kafkajs';
import { describeError } from '../../../schemas/thrown.ts';
import { explainTls, type TlsSettings } from '../network/tls.ts';
import kafkajs from './patches/kafkajs.ts';
import type { KafkaSasl, KafkaSecurity, KafkaTls } from './settings.ts';

const require = createRequire(import.meta.url);

const SETTINGS: TlsSettings = {
  authority: 'KAFKA_TLS_CA_FILE',
  serverName: 'KAFKA_TLS_SERVER_NAME or, without it, the host in KAFKA_BROKERS',
  enabled: 'KAFKA_TLS and the port in KAFKA_BROKERS',
  client: 'KAFKA_TLS_CERT_FILE and KAFKA_TLS_KEY_FILE',
};

/** First byte of a TLS alert (RFC 8446, 5.1), with which a TLS port refuses plain text; a length in Kafka's protocol never begins with it. */
const TLS_ALERT = 0x15;
const NOT_TLS = `the broker closed the connection during the TLS handshake: look at ${SETTINGS.enabled}`;
const CLOSED =
  'the broker closed the connection after its first answer or before it: look at KAFKA_TLS and KAFKA_SASL_MECHANISM, unless the broker is being stopped';

/** kafkajs reports only the message of a socket's error. */
const explain = (error: Error): void => {
  const reason = explainTls(error, SETTINGS);
  if (reason !== null) error.message = `${reason} (${error.message})`;
};

/**
 * A broker closes a connection that does not match its listener without an error: plain text to TLS at once, a client without SASL at the
 * second request. Listeners here run before those of kafkajs, which would only report "Closed connection".
 */
const watchRefusal = (socket: Socket): void => {
  let isInHandshake = socket instanceof TLSSocket;
  socket.once('secureConnect', () => {
    isInHandshake = false;
  });
  const onEnd = (): void => {
    if (socket.writableEnded) return;
    socket.emit('error', new Error(isInHandshake ? NOT_TLS : CLOSED));
  };
  socket.once('end', onEnd);
  socket.once('data', (first: Buffer) => {
    if (first[0] === TLS_ALERT)
      socket.destroy(new Error(`the broker uses TLS on this port: look at ${SETTINGS.enabled}`));
    socket.once('data', () => socket.off('end', onEnd));
  });
};

const openSocket = (require('kafkajs/src/network/socketFactory') as () => ISocketFactory)();

/** kafkajs's own way to open a connection, for its clients and for those created beside them. */
export const createSocketFactory = (): ISocketFactory => (args) => {
  const socket = openSocket(args);
  socket.on('error', explain);
  watchRefusal(socket);
  return socket;
};

/** A factory whose sockets can be cut permanently: kafkajs continues to work in a client that was stopped while it connected. */
export const createCuttableSockets = (): { readonly factory: ISocketFactory; readonly cut: () => void } => {
  const create = createSocketFactory();
  const open = new Set<Socket>();
  let isCut = false;
  const factory: ISocketFactory = (args) => {
    const socket = create(args);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (isCut) socket.destroy(new Error('this Kafka client was stopped'));
    return socket;
  };
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return { factory, cut };
};

const toTlsOptions = ({ ca, client, serverName }: KafkaTls): ConnectionOptions => ({
  ...(ca === null ? {} : { ca }),
  ...(client === null ? {} : client),
  ...(serverName === null ? {} : { servername: serverName }),
});

type Authenticator = { readonly authenticate: () => Promise<void> };
type Provider = (args: unknown) => Authenticator;

const PROVIDERS: Readonly<Record<KafkaSasl['mechanism'], string>> = {
  plain: 'kafkajs/src/broker/saslAuthenticator/plain',
  'scram-sha-256': 'kafkajs/src/broker/saslAuthenticator/scram256',
  'scram-sha-512': 'kafkajs/src/broker/saslAuthenticator/scram512',
};

/**
 * kafkajs's own authentication. Its failure ends a client of kafkajs permanently, and with it the process: a password that is changed at the
 * brokers first would end every process at once. Here a refused login counts as an unreachable broker, which is retried.
 */
const toSasl = ({ mechanism, username, password }: KafkaSasl): SASLOptions | Mechanism => {
  const provide = (require(PROVIDERS[mechanism]) as (options: unknown) => Provider)({ mechanism, username, password });
  return {
    mechanism,
    authenticationProvider: (args) => ({
      authenticate: async () => {
        try {
          await provide(args).authenticate();
        } catch (error) {
          const reason = describeError(error);
          throw new kafkajs.KafkaJSConnectionError(
            `${reason}: look at KAFKA_SASL_USER and KAFKA_SASL_PASSWORD, and at the mechanism`,
            { broker: `${args.host}:${args.port}` },
          );
        }
      },
    }),
  };
};

/** The part of kafkajs's configuration that opens connections. */
export const toConnection = ({ tls, sasl }: KafkaSecurity): Pick<KafkaConfig, 'ssl' | 'sasl' | 'socketFactory'> => ({
  socketFactory: createSocketFactory(),
  ...(tls === null ? {} : { ssl: toTlsOptions(tls) }),
  ...(sasl === null ? {} : { sasl: toSasl(sasl) }),
});
