// API processes over one database and a small market written straight to their topics: as many nodes as a test wants, killed at will.
import { Agent, request } from 'node:http';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { createPublisher, ensureTopics, openKafka } from '../../../infra/runtime/kafka/kafka.ts';
import { listTopicSpecs } from '../../../infra/runtime/kafka/topics.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { type LiveEntry, makeLiveEntry, nameTopics } from '../../../schemas/topics.ts';
import { capability, listing, listingValues, markReading } from '../apps/live-fixture.ts';
import type { Teardown, TestEngines } from '../engines/engines.ts';
import { type Child, startChild, until } from './pipeline.ts';

const VENUE = 'okx';
const SYMBOL = 'BTC-USDT-SWAP';
/** No other program on this machine calls from this address, so a log that contains it was written about us. */
export const CLIENT_ADDRESS = '127.0.0.77';

export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
};

export type ApiNode = {
  readonly name: string;
  readonly baseUrl: string;
  readonly child: Child;
  readonly metrics: () => Promise<string>;
  /** `/readyz` of the listener of metrics. */
  readonly readiness: () => Promise<Response>;
  /** Rejects when the connection breaks; `onOpen` gets what must be called to hang up a stream. */
  readonly call: (key: string, path: string, body?: unknown) => Promise<Reply>;
  /** A stream that was answered 200 gives the function that hangs it up, any other answer its status. */
  readonly stream: (key: string) => Promise<(() => void) | number>;
};

/** One listing with a mark, in a namespace of topics of its own. */
export const writeMarket = async (engines: TestEngines, namespace: string): Promise<void> => {
  const kafka = openKafka(
    { brokers: engines.endpoints.kafka.split(','), clientId: 'market' },
    createLog('test', 'silent'),
  );
  const names = nameTopics(namespace);
  await ensureTopics(kafka, listTopicSpecs({ venues: [VENUE], shards: 1, namespace }));
  const publisher = createPublisher(kafka);
  const at = Date.now() * 1_000;
  const version = listing(VENUE, listingValues({ venue_symbol: SYMBOL }));
  const mark = markReading('60000', { venue_ts: at, received_at: at, recorded_at: at });
  const live = (entry: Partial<LiveEntry> & Pick<LiveEntry, 'kind' | 'offset'>): void =>
    publisher.publish({
      topic: names.live(VENUE),
      partition: 0,
      key: SYMBOL,
      value: codecs.live.encode(makeLiveEntry({ index: 0, recorded_at: at, ...entry })),
    });
  const written = codecs.capability.encode(capability(VENUE));
  publisher.publish({ topic: names.capabilities, partition: 0, key: VENUE, value: written });
  publisher.publish({ topic: names.listings, partition: 0, key: SYMBOL, value: codecs.listing.encode(version) });
  live({ kind: 'reading', offset: 1, symbol: SYMBOL, reading: mark });
  live({ kind: 'watermark', offset: 2, watermark: at });
  await publisher.flush();
  await publisher.close();
  await kafka.close();
};

const callFrom =
  (agent: Agent, baseUrl: string): ApiNode['call'] =>
  (key, path, body) =>
    new Promise((resolve, reject) => {
      const payload = body === undefined ? null : JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${key}`,
        ...(payload === null
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      };
      const options = { method: payload === null ? 'GET' : 'POST', agent, headers, localAddress: CLIENT_ADDRESS };
      const sent = request(`${baseUrl}${path}`, options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      });
      sent.on('error', reject);
      sent.end(payload ?? undefined);
    });

const streamFrom =
  (baseUrl: string): ApiNode['stream'] =>
  (key) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` };
      const sent = request(`${baseUrl}/v2/stream?layers=mark`, { headers }, (answer) => {
        answer.on('error', () => undefined);
        answer.resume();
        if (answer.statusCode === 200) resolve(() => sent.destroy());
        else resolve(answer.statusCode ?? 0);
      });
      sent.on('error', reject);
      sent.end();
    });

/** Starts an API process and waits until it serves; killed when the test ends. */
export const startNode = async (
  t: Teardown,
  {
    name,
    engines,
    namespace,
    databaseUrl,
    settings = {},
  }: {
    name: string;
    engines: TestEngines;
    namespace: string;
    databaseUrl: string;
    /** More settings of the process. */
    settings?: Readonly<Record<string, string>>;
  },
): Promise<ApiNode> => {
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const child = startChild(name, 'api/main.ts', {
    KAFKA_BROKERS: engines.endpoints.kafka,
    VENUES: VENUE,
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    TOPIC_NAMESPACE: namespace,
    LOG_LEVEL: 'debug',
    ...settings,
  });
  const agent = new Agent({ keepAlive: true });
  t.teardown(async () => {
    agent.destroy();
    if (child.process.exitCode === null && child.process.signalCode === null) await child.kill();
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  await until(`${name} serves`, 60_000, () =>
    fetch(`${baseUrl}/v2/venues`).then(
      (answer) => (answer.ok ? true : null),
      () => null,
    ),
  );
  const figures = `http://127.0.0.1:${metricsPort}`;
  const metrics = async (): Promise<string> => (await fetch(`${figures}/metrics`)).text();
  const readiness = (): Promise<Response> => fetch(`${figures}/readyz`);
  return { name, baseUrl, child, metrics, readiness, call: callFrom(agent, baseUrl), stream: streamFrom(baseUrl) };
};
