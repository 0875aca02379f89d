// A service that misbehaves at its edges, as a test scripts it: refusals, answers that break off, slow bodies, streams of any bytes.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from '../engines/engines.ts';

/** Answers one request; what it leaves open stays open until the test ends. */
export type EdgeAnswer = (response: ServerResponse, request: IncomingMessage) => void;

type EdgeServer = {
  readonly url: string;
  /** Requests so far, with their headers. */
  readonly requests: readonly IncomingMessage[];
};

/** The n-th request gets the n-th answer, and those beyond the last one the last. */
export const openEdgeServer = async (t: Teardown, answers: readonly EdgeAnswer[]): Promise<EdgeServer> => {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    request.resume();
    requests.push(request);
    answers[Math.min(requests.length, answers.length) - 1]?.(response, request);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(
    () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
};

/** A whole answer in JSON. */
export const answerJson =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): EdgeAnswer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

/** A refusal in the shape of the API. */
export const refuse = (status: number, code: string, headers: Readonly<Record<string, string>> = {}): EdgeAnswer =>
  answerJson(status, { errors: [{ code, message: `${code}.`, hint: 'Wait.' }] }, headers);

/** Begins an answer with the given length, sends these bytes, and closes the connection. */
export const breakOff =
  (text: string): EdgeAnswer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(text.length + 100) });
    response.write(text, () => response.destroy());
  };

/** Closes the connection without a response. */
export const hangUp: EdgeAnswer = (response) => void response.destroy();
/** Never answers. */
export const keepSilent: EdgeAnswer = () => undefined;

/** A stream of server-sent events: `retry` as the service begins with it, but short, and these bytes; then the end, a cut, or silence. */
export const stream =
  (chunks: readonly (string | Uint8Array)[], then: 'end' | 'cut' | 'silence'): EdgeAnswer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('retry: 1\n');
    const [last] = chunks.slice(-1);
    for (const chunk of chunks.slice(0, -1)) response.write(chunk);
    response.write(last ?? '', () => {
      if (then === 'end') response.end();
      if (then === 'cut') response.destroy();
    });
  };

export const frame = (id: string, event: string, data: unknown): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
