// GET /v2/stream as a route: JSON errors until the stream has started, then a stream that the hub writes (ST-01).
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Micros } from '../../schemas/records.ts';
import type { KeyStore } from '../access/key-store.ts';
import type { ChooseScope } from '../access/scope.ts';
import { makeKeyRequired } from '../contract/refusals.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { RuleMoves } from '../rules/moves.ts';
import type { Names } from '../selection/resolve.ts';
import type { StreamHub } from '../stream/hub.ts';
import { createOpenings } from '../stream/openings.ts';
import { readRequest, STREAM, type StreamInput } from '../stream/request.ts';
import { checkInput } from './check-input.ts';
import { readInput } from './read-input.ts';
import { prepareValidator } from './shape-faults.ts';

type StreamDeps = {
  readonly live: LiveMemory;
  readonly keys: KeyStore;
  readonly nowMicros: () => Micros;
  readonly choose: ChooseScope;
  /** Moves of rules, for the streams that request them. */
  readonly moves?: RuleMoves;
};

/** The time for which a client waits before it reconnects. */
const RETRY_MS = 3_000;
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

const readKey = ({ headers }: FastifyRequest): string => headers.authorization?.split(' ').at(-1) ?? '';

/** An empty id is none, as it is for an EventSource. */
const readLastEventId = ({ headers }: FastifyRequest, { lastEventId }: StreamInput): string | null => {
  const text = headers['last-event-id'];
  return (typeof text === 'string' ? text : lastEventId) || null;
};

/** The stream's place of its key is released when its connection has ended, not with the request. */
const keepPlace = ({ call }: FastifyRequest): (() => void) => {
  const place = call?.leases.stream ?? null;
  if (call !== null) call.leases.stream = null;
  return () => place?.(200);
};

/** A stream that must wait is not silent: a comment is no event, and shows that the connection lives (ST-03). */
const COMMENT_EVERY_MS = 5_000;

const waitFor = async ({ raw }: FastifyReply, awaited: Promise<void>): Promise<void> => {
  const comments = setInterval(() => {
    if (!raw.destroyed) raw.write(': what was missed is being read\n\n');
  }, COMMENT_EVERY_MS);
  try {
    await awaited;
  } finally {
    clearInterval(comments);
  }
};

/** A stream has no length, so its head names none (RFC 9110 section 8.6). */
const writeHead = (reply: FastifyReply): FastifyReply => {
  reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>).end();
  return reply;
};

/** A reader that takes nothing stays, and has its updates merged (ST-06): no time limits how long its connection is idle. */
const beginFrames = (reply: FastifyReply): void => {
  reply.request.raw.socket.setTimeout(0);
  reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  reply.raw.write(`retry: ${RETRY_MS}\n`);
};

/** Throws when the request has no key. */
const requireCall = ({ call }: FastifyRequest) => {
  const { account } = call ?? {};
  if (call && account) return { call, account };
  throw makeKeyRequired();
};

export const addStream = (
  app: FastifyInstance,
  { live, keys, nowMicros, choose, moves }: StreamDeps,
  hub: StreamHub,
): void => {
  prepareValidator(STREAM);
  const openings = createOpenings();
  const start = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { call, account } = requireCall(request);
    const at = nowMicros();
    const checked = checkInput(STREAM, readInput(request, call), { live, evaluatedAt: at });
    const choice = choose(account.plan, at);
    const valid = { input: checked.input as StreamInput, names: checked.understood as Names };
    const asked = readRequest(valid, { live, plan: account.plan, choice, at });
    reply.headers(HEADERS);
    reply.hijack();
    if (request.method === 'HEAD') return writeHead(reply);
    if (reply.raw.destroyed) return reply;
    reply.raw.once('close', keepPlace(request));
    reply.raw.once('error', () => reply.raw.destroy());
    request.release();
    const key = readKey(request);
    const findKey = () => keys.find(key, Date.now());
    const isInScope = () => isDeepStrictEqual(choose(account.plan, nowMicros()), choice);
    beginFrames(reply);
    const lastEventId = readLastEventId(request, valid.input);
    const begin = (): void => {
      const stream = hub.open({ account, request: asked, lastEventId, out: reply.raw, findKey, isInScope });
      reply.raw.once('close', () => stream.drop());
      if (!asked.withRules || moves === undefined) return;
      reply.raw.once(
        'close',
        moves.follow(account.keyId, (data) => hub.sendBeside(stream, 'rule', data)),
      );
    };
    const add = (): void =>
      openings.add(() => {
        if (reply.raw.destroyed) return;
        try {
          begin();
        } catch (error) {
          // The answer has begun: the connection can only be closed.
          request.log.error({ err: error }, 'a stream could not begin');
          reply.raw.destroy();
        }
      });
    const missed = lastEventId === null ? null : hub.awaitMissed(lastEventId, asked);
    if (missed === null) add();
    else void waitFor(reply, missed).then(add);
    return reply;
  };
  app.route({ method: 'GET', url: STREAM.path, config: { operation: STREAM }, handler: start });
  // Clients get a last event before their connections are closed.
  app.addHook('preClose', async () => {
    openings.stop();
    hub.close();
  });
};
