// `npm run replay -- --venue ID FILE...`: recordings through the whole pipeline, in a namespace of their own (design section 7).
import { parseArgs } from 'node:util';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { createProcessorMetrics } from '../../../processors/metrics.ts';
import { startTasks } from '../../../processors/runner/tasks.ts';
import { createSinkMetrics } from '../../../processors/sinks/metrics.ts';
import { startSink } from '../../../processors/sinks/sink.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { Micros } from '../../../schemas/records.ts';
import { describeError } from '../../../schemas/thrown.ts';
import { nameTopics, type RawMessage } from '../../../schemas/topics.ts';
import {
  createPublisher,
  ensureTopics,
  type KafkaHandle,
  openKafka,
  type Publisher,
} from '../../runtime/kafka/kafka.ts';
import { readKafkaSecurity } from '../../runtime/kafka/settings.ts';
import { listTopicSpecs } from '../../runtime/kafka/topics.ts';
import { readConfig } from '../../runtime/process/config.ts';
import { createLog, type Logger } from '../../runtime/process/log.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { isHelpAsked } from '../../runtime/process/print-outcome.ts';
import { readEndpoints } from '../../runtime/process/running-service.ts';
import type { Credentials } from '../../runtime/questdb/http.ts';
import { openQuestdbReader, QUESTDB_LOGIN_CONFIG } from '../../runtime/questdb/reader.ts';
import { createRowSender } from '../../runtime/questdb/row-sender.ts';
import type { Stores } from '../local/endpoints.ts';
import { hashTables } from './hash-tables.ts';
import { waitForHistory } from './history-reached.ts';
import { type RecordingLine, readLines } from './recording-lines.ts';

const START_2000: Micros = Date.UTC(2000, 0, 1) * 1000;
const COLLECTOR = 'recording';
const SOCKET = 'recording.socket.1';
const TICK_EVERY: Micros = 250_000;
/** After this time every window of the recording is sealed. */
const TAIL: Micros = 162_000_000;
/** A longer silence is a change of day, not one of the recorder: it gets no ticks. */
const LONGEST_SILENCE: Micros = 3_600_000_000;
const REPLAY_TIMEOUT_MS = 600_000;

const toJsonBytes = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));

/** Writes recorded lines in the form of a collector: one socket, reference responses apart, ticks between. */
class Recorder {
  readonly #write: (message: RawMessage) => void;
  readonly #venue: Venue;
  #now: Micros | null = null;
  #seq = 0;
  count = 0;

  constructor(venue: Venue, write: (message: RawMessage) => void) {
    this.#venue = venue;
    this.#write = write;
  }

  add(line: RecordingLine): void {
    if (line.dir !== 'in') return;
    const received = line.recv_ms == null ? (this.#now ?? START_2000) : line.recv_ms * 1000;
    this.#advance(Math.max(this.#now ?? 0, received));
    this.#seq += 1;
    this.count += 1;
    const request = line.kind === 'rest' ? toRequest(line.url ?? '') : null;
    const payload = Buffer.from(line.raw);
    const base = { seq: this.#seq, received_at: this.#now ?? 0, request, payload };
    if (request !== null && this.#isReference(request)) {
      this.#write({ ...base, slot: 'reference', conn_id: `${COLLECTOR}.reference`, kind: 'response' });
    } else this.#write({ ...base, slot: 'recording', conn_id: SOCKET, kind: request === null ? 'frame' : 'response' });
  }

  finish(): void {
    if (this.#now !== null) this.#advance(this.#now + TAIL);
  }

  #isReference(request: string): boolean {
    return this.#venue.reference(this.#venue.endpoints).some(({ url }) => request.includes(new URL(url).pathname));
  }

  #advance(to: Micros): void {
    if (this.#now === null) return this.#begin(to);
    const from = to - this.#now > LONGEST_SILENCE ? to : this.#now;
    for (let at = from + TICK_EVERY; at < to; at += TICK_EVERY) this.#tick(at);
    this.#now = to;
  }

  #begin(at: Micros): void {
    this.#now = at;
    const layers = [...Object.keys(this.#venue.layers)];
    const open = { opened_at: at, url: 'recording', covers: [{ layers, symbols: null }] };
    const base = { seq: 0, received_at: at, request: null };
    this.#write({
      ...base,
      slot: 'collector',
      conn_id: COLLECTOR,
      kind: 'capability',
      payload: toJsonBytes(toCapability(this.#venue)),
    });
    this.#write({ ...base, slot: 'recording', conn_id: SOCKET, kind: 'open', payload: toJsonBytes(open) });
  }

  #tick(at: Micros): void {
    const body = { collector: COLLECTOR, connections: [{ conn_id: SOCKET, opened_at: this.#now }] };
    this.#write({
      slot: 'collector',
      conn_id: COLLECTOR,
      seq: 0,
      received_at: at,
      kind: 'tick',
      request: null,
      payload: toJsonBytes(body),
    });
  }
}

const toRequest = (url: string): string => (url.includes(' ') ? url : `GET ${url}`);

/** Publishes whole recordings to a raw topic of one partition; returns the number of messages. */
const publishRecordings = async (
  venue: Venue,
  files: readonly string[],
  { publisher, topic }: { readonly publisher: Publisher; readonly topic: string },
): Promise<number> => {
  const recorder = new Recorder(venue, (message) => {
    const timestamp = Math.floor(message.received_at / 1000);
    publisher.publish({ topic, partition: 0, key: message.slot, value: codecs.raw.encode(message), timestamp });
  });
  for (const file of files) {
    for await (const text of readLines(file)) {
      if (text.trim() === '') continue;
      recorder.add(JSON.parse(text) as RecordingLine);
      await publisher.ready();
    }
  }
  recorder.finish();
  await publisher.flush();
  return recorder.count;
};

/** Addresses of the engines: of a running demo, or from the environment. */
const findStores = (): Stores => {
  const { env } = process;
  if (env['KAFKA_BROKERS'] && env['QUESTDB_HTTP'] && env['QUESTDB_PG']) {
    const login = readConfig(QUESTDB_LOGIN_CONFIG, env);
    return {
      kafka: env['KAFKA_BROKERS'],
      questdb_http: env['QUESTDB_HTTP'],
      questdb_pg: env['QUESTDB_PG'],
      questdb_user: login.QUESTDB_USER,
      questdb_password: login.QUESTDB_PASSWORD,
    };
  }
  try {
    return readEndpoints() as Stores;
  } catch {
    throw new Error('no engines: run `npm run demo` beside this, or set KAFKA_BROKERS, QUESTDB_HTTP and QUESTDB_PG');
  }
};

type Asked = { readonly venue: Venue; readonly files: readonly string[]; readonly namespace: string };

const USAGE = 'usage: npm run replay -- --venue ID [--namespace NAME.] FILE...';

const readArguments = (): Asked => {
  const { values, positionals: files } = parseArgs({
    options: {
      venue: { type: 'string' },
      namespace: { type: 'string', default: `replay.${Date.now().toString(36)}.` },
    },
    allowPositionals: true,
  });
  const venue = venues.get(values.venue ?? '');
  if (!venue || files.length === 0) {
    throw new Error(`${USAGE}\nknown venues: ${[...venues.keys()].sort().join(', ')}`);
  }
  return { venue, files, namespace: values.namespace };
};

type Run = { readonly stores: Stores; readonly auth: Credentials; readonly log: Logger };

/** Runs tasks and sink until every row of the recordings is in QuestDB. */
const runRecordings = async (
  handle: KafkaHandle,
  { venue, namespace }: Asked,
  { stores, auth, log }: Run,
): Promise<void> => {
  const registry = createMetrics();
  const reader = openQuestdbReader(stores.questdb_pg, { max: 1, timeoutMs: 15_000, auth, log });
  const sender = createRowSender(stores.questdb_http, { auth, log });
  const shared = { handle, namespace, log };
  const sinkGroup = `${namespace}sink`;
  const sinkMetrics = createSinkMetrics(registry);
  const sink = await startSink({
    ...shared,
    sender,
    reader,
    venues: [venue.id],
    groupId: sinkGroup,
    metrics: sinkMetrics,
  });
  const metrics = createProcessorMetrics(registry);
  const tasks = await startTasks({ ...shared, venues: [venue], groupId: `${namespace}tasks`, ticks: false, metrics });
  await waitForHistory(handle, { venues: [venue.id], namespace, sinkGroup, timeoutMs: REPLAY_TIMEOUT_MS });
  await tasks.stop();
  await sink.stop();
  await sender.close();
  await reader.close();
};

const main = async (): Promise<void> => {
  if (isHelpAsked(process.argv)) return console.log(USAGE);
  const asked = readArguments();
  const { venue, files, namespace } = asked;
  const stores = findStores();
  const log = createLog('replay', 'warn');
  const handle = openKafka(
    { brokers: stores.kafka.split(','), clientId: 'replay', security: readKafkaSecurity(process.env) },
    log,
  );
  await ensureTopics(handle, listTopicSpecs({ venues: [venue.id], shards: 1, namespace, replay: true }));
  const publisher = createPublisher(handle, {});
  const count = await publishRecordings(venue, files, { publisher, topic: nameTopics(namespace).raw(venue.id) });
  await publisher.close();
  process.stderr.write(`${count} messages of ${files.length} recordings in namespace ${namespace}\n`);

  const auth = { user: stores.questdb_user, password: stores.questdb_password };
  await runRecordings(handle, asked, { stores, auth, log });
  await handle.close();
  const hashes = await hashTables({ url: stores.questdb_http, auth, namespace });
  for (const [table, { rows, sha256 }] of Object.entries(hashes)) {
    if (rows > 0) process.stdout.write(`${table.padEnd(16)} ${String(rows).padStart(8)} rows  ${sha256}\n`);
  }
};

if (import.meta.main) {
  main().catch((error: unknown) => {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  });
}
