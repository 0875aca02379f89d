// The method CONNECT, which no path supports: Node passes it on as a bare socket, and closes it without an answer if nothing handles it.
import { type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers CONNECT as every other request is answered; the connection ends with the answer. */
export const answerConnect = (server: Server): void => {
  server.on('connect', (request, stream) => {
    const socket = stream as Socket;
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    server.emit('request', request, response);
  });
};
