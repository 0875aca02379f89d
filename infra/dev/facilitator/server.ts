// The local facilitator over HTTP: `/verify`, `/settle` and `/supported` of x402 version 2, and `/faults` for tests.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { readBody } from '../simulator/request-body.ts';
import { ChainAwayError, createFacilitator, type Facilitator } from './facilitator.ts';
import { type Call, createFaults, type Faults, parseFaults, type Spoilt } from './faults.ts';

export type FacilitatorServer = {
  readonly url: string;
  readonly port: number;
  readonly faults: Faults;
  /** Calls received since the start. */
  readonly calls: Readonly<Record<Call, number>>;
  /** Breaks open connections, like the end of a process. */
  readonly stop: () => Promise<void>;
};

type Answer = { readonly status: number; readonly body: object };
type FacilitatorRequest = {
  readonly paymentPayload: PaymentPayload;
  readonly paymentRequirements: PaymentRequirements;
};

/** Listens on loopback; port 0 takes a free one. */
export const serveFacilitator = async (rpcUrl: string, port = 0): Promise<FacilitatorServer> => {
  const facilitator = await createFacilitator(rpcUrl);
  const faults = createFaults();
  const calls = { verify: 0, settle: 0 };
  const answerCall = async (call: Call, request: IncomingMessage): Promise<Answer | 'drop'> => {
    calls[call] += 1;
    const asked = JSON.parse(await readBody(request)) as FacilitatorRequest;
    const before = await faults.strike(call, 'before');
    if (before !== null) return makeSpoiltAnswer(call, before);
    const outcome = await runCall(facilitator, call, asked);
    const after = await faults.strike(call, 'after');
    return after === null ? outcome : makeSpoiltAnswer(call, after);
  };
  const route = async (request: IncomingMessage): Promise<Answer | 'drop'> => {
    switch (`${request.method} ${request.url}`) {
      case 'POST /verify':
        return answerCall('verify', request);
      case 'POST /settle':
        return answerCall('settle', request);
      case 'GET /supported':
        return { status: 200, body: facilitator.supported() };
      case 'PUT /faults':
        faults.set(parseFaults(await readBody(request)));
        return { status: 200, body: { faults: faults.list() } };
      case 'GET /faults':
        return { status: 200, body: { faults: faults.list(), held: faults.held(), calls } };
      default:
        return { status: 404, body: { error: 'POST /verify, POST /settle, GET /supported, GET or PUT /faults' } };
    }
  };
  const server = createServer((request, response) => {
    route(request).then(
      (answer) => write(response, answer),
      (error: unknown) => write(response, { status: 400, body: { error: String(error) } }),
    );
  });
  await new Promise<void>((settle, fail) => server.once('error', fail).listen(port, '127.0.0.1', settle));
  const { port: taken } = server.address() as AddressInfo;
  const stop = (): Promise<void> =>
    new Promise((settle) => {
      server.close(() => settle());
      server.closeAllConnections();
      faults.set([]);
    });
  return { url: `http://127.0.0.1:${taken}`, port: taken, faults, calls, stop };
};

const runCall = async (
  facilitator: Facilitator,
  call: Call,
  { paymentPayload, paymentRequirements }: FacilitatorRequest,
): Promise<Answer> => {
  try {
    return { status: 200, body: await facilitator[call](paymentPayload, paymentRequirements) };
  } catch (error) {
    if (error instanceof ChainAwayError) return { status: 502, body: { error: error.message } };
    return makeRefusal(call, { status: 400, reason: 'invalid_payment_requirements' });
  }
};

const makeSpoiltAnswer = (call: Call, spoilt: Spoilt): Answer | 'drop' => {
  if (spoilt.kind === 'drop') return 'drop';
  if (spoilt.reason === null) return { status: spoilt.status, body: { error: 'a fault was asked for' } };
  return makeRefusal(call, { status: spoilt.status, reason: spoilt.reason });
};

const makeRefusal = (call: Call, { status, reason }: { readonly status: number; readonly reason: string }): Answer => ({
  status,
  body:
    call === 'verify'
      ? { isValid: false, invalidReason: reason }
      : { success: false, errorReason: reason, transaction: '', network: 'eip155:8453' },
});

const write = (response: ServerResponse, answer: Answer | 'drop'): void => {
  if (answer === 'drop') {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answer.body));
};
