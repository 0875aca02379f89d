// CONNECT is a method that no path of ours has: Node gives it away as a bare socket, and closes one that nobody takes without an answer.
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
