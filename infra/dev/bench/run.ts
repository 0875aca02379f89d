// One run of the service under load: the service itself, the simulator's controls, the processes' own metrics.
import { openKafka } from '../../runtime/kafka/kafka.ts';
import { readKafkaSecurity } from '../../runtime/kafka/settings.ts';
import { createLog } from '../../runtime/process/log.ts';
import type { Progress } from '../local/progress.ts';
import type { Service } from '../local/service.ts';
import { sum } from './instruments/figures.ts';
import { waitUntil } from './instruments/until.ts';
import { type LogWatch, watchLog } from './stages/log-watch.ts';

export const VENUE = 'binance';

type Counters = {
  /** Frames the simulator handed to sockets. */
  readonly sent: number;
  /** Messages the collector wrote. */
  readonly collected: number;
  /** Raw records the tasks applied, ticks included. */
  readonly applied: number;
  readonly deadLetters: number;
  readonly connectionsLost: number;
};

export type Run = {
  readonly service: Service;
  readonly dir: string;
  readonly handle: ReturnType<typeof openKafka>;
  readonly watch: LogWatch;
  readonly progress: Progress;
  setRate(framesPerSecond: number): Promise<void>;
  /** Requests a fault from the simulator. */
  fault(request: object): Promise<void>;
  counters(): Promise<Counters>;
  /** Waits until the tasks are less than a second behind. */
  caughtUp(forMs: number): Promise<boolean>;
  close(): Promise<void>;
};

/** Values of a metric in Prometheus text, one per set of labels. */
const parseMetricValues = (text: string, name: string): number[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));

export const fetchText = async (url: string): Promise<string> => {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.text();
};

/** Frames the simulator handed to sockets, since its start. */
export const readSentCount = async ({ endpoints }: Pick<Service, 'endpoints'>): Promise<number> => {
  const sent = JSON.parse(await fetchText(`${endpoints.control_url}/sent`)) as Sent;
  return sum(sent.connections.map(({ frames }) => frames));
};

type Sent = { readonly connections: readonly { readonly frames: number }[] };

const readCounters = async ({ endpoints }: Service): Promise<Counters> => {
  const [ingest, processors, sent] = await Promise.all([
    fetchText(endpoints.metrics_urls.ingest),
    fetchText(endpoints.metrics_urls.processors),
    readSentCount({ endpoints }),
  ]);
  return {
    sent,
    collected: sum(parseMetricValues(ingest, 'ingest_messages_total')),
    applied: sum(parseMetricValues(processors, 'processor_records_applied_total')),
    deadLetters: sum(parseMetricValues(processors, 'processor_dead_letters_total')),
    connectionsLost: sum(parseMetricValues(ingest, 'ingest_connections_lost_total')),
  };
};

const CAUGHT_UP_MS = 1_000;
const POLL_MS = 100;

export const openRun = async (service: Service, dir: string, progress: Progress): Promise<Run> => {
  const { kafka, control_url: control } = service.endpoints;
  if (kafka === null || control === null) throw new Error('a bench runs on simulated venues and Kafka');
  const handle = openKafka(
    { brokers: kafka.split(','), clientId: 'bench', security: readKafkaSecurity(process.env) },
    createLog('bench', 'error'),
  );
  const watch = await watchLog(handle, VENUE);
  return {
    service,
    dir,
    handle,
    watch,
    progress,
    setRate: async (rate) => {
      const answer = await fetch(`${control}/rate?rate=${rate}`, { method: 'POST' });
      if (!answer.ok) throw new Error(`the simulator refused ${rate} frames/s: ${await answer.text()}`);
    },
    fault: async (request) => {
      const answer = await fetch(`${control}/faults`, { method: 'POST', body: JSON.stringify(request) });
      if (!answer.ok) throw new Error(`the simulator refused ${JSON.stringify(request)}: ${await answer.text()}`);
    },
    counters: () => readCounters(service),
    caughtUp: (forMs) =>
      waitUntil(() => (watch.lagMs() ?? Number.POSITIVE_INFINITY) <= CAUGHT_UP_MS, { everyMs: POLL_MS, forMs }),
    close: async () => {
      await watch.stop();
      await handle.close();
    },
  };
};
