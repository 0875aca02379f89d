// A client that sends all of its request before it reads anything, as programs do that write a body in one go.
import { once } from 'node:events';
import { connect } from 'node:net';

const PIECE = Buffer.alloc(1 << 20, ' ');

/** All that the server sends to a POST with a body of so many MiB and to the GET after it. Rejects when it closes the connection before. */
export const sendThenRead = async ({
  port,
  head,
  mebibytes,
  next,
}: {
  readonly port: number;
  /** Lines of the head of the POST, without its length. */
  readonly head: readonly string[];
  readonly mebibytes: number;
  /** Path of the GET. */
  readonly next: string;
}): Promise<string> => {
  const socket = connect(port, '127.0.0.1').pause();
  try {
    socket.write([...head, `Content-Length: ${mebibytes * PIECE.length}`, '', ''].join('\r\n'));
    for (let i = 0; i < mebibytes; i++) if (!socket.write(PIECE)) await once(socket, 'drain');
    const host = head.find((line) => line.startsWith('Host:'));
    socket.write(`GET ${next} HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`);
    return (await socket.resume().toArray()).join('');
  } finally {
    socket.destroy();
  }
};
