// Requests that were sent while their connection closed. Upstream: no issue found about them.
import { requirePart } from './replace.ts';

type Connection = {
  readonly host: string;
  readonly port: number;
  readonly isConnected: () => boolean;
  readonly rejectRequests: (error: Error) => void;
  disconnect: () => Promise<unknown>;
};

const { KafkaJSConnectionClosedError: Closed } = requirePart<{
  readonly KafkaJSConnectionClosedError: new (
    message: string,
    place: { readonly host: string; readonly port: number },
  ) => Error;
}>('kafkajs/src/errors');

/**
 * kafkajs 2.2.4 waits for what is in flight, then ends the socket, the timer of requests and the connection. A request whose bytes were ready just
 * between was still sent: it was neither answered nor rejected, so its sender waited for ever.
 */
const repairDisconnect = (): void => {
  const { prototype } = requirePart<{ readonly prototype: Connection }>('kafkajs/src/network/connection');
  const disconnect = prototype.disconnect;
  prototype.disconnect = async function disconnectWhole(this: Connection) {
    const done = await disconnect.call(this);
    const { host, port } = this;
    if (!this.isConnected()) this.rejectRequests(new Closed('Closed connection', { host, port }));
    return done;
  };
};
repairDisconnect();
