// A thread that sends the given frames over a loopback WebSocket as fast as the reader takes them.
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { type WebSocket, WebSocketServer } from 'ws';

const frames = workerData as readonly string[];
/** Frames a turn; frames that the reader has not taken yet wait in the socket, up to a limit. */
const BURST = 200;
const MOST_BUFFERED_BYTES = 1024 * 1024;

const sendBurst = (socket: WebSocket): void => {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount < MOST_BUFFERED_BYTES) {
    for (let i = 0; i < BURST; i += 1) socket.send(frames[i % frames.length] ?? '{}');
  }
  setImmediate(sendBurst, socket);
};

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', sendBurst);
server.on('listening', () => parentPort?.postMessage((server.address() as AddressInfo).port));
