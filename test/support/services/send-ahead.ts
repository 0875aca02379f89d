// Requests for one path, all sent ahead on one connection, and everything that comes back until it closes.
import { connect } from 'node:net';

type Ahead = { readonly port: number; readonly host: string; readonly path: string; readonly count: number };

/** The last of the requests asks for the end of the connection. */
export const sendAhead = ({ port, host, path, count }: Ahead): Promise<string> =>
  new Promise((resolve) => {
    const asked = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n`;
    let received = '';
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`${`${asked}\r\n`.repeat(count - 1)}${asked}Connection: close\r\n\r\n`),
    );
    socket.on('data', (bytes) => {
      received += bytes.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });
