/** Kafka brokers in KRaft mode on loopback, run from the archives of pom.xml with the machine's JDK. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
// Repairs the timer of kafkajs before its first connection.
import '../../runtime/kafka/patches/kafkajs.ts';
import type { DataDir } from './data-dir.ts';
import { FEW_ARENAS, findEngineJars, findJavaCommand, LIGHT_JVM, listClassArchiveOptions, SMALL_HEAP } from './java.ts';
import { runOnce } from './run-once.ts';
import type { Supervised, Supervisor } from './supervisor.ts';

interface KafkaPorts {
  readonly broker: number;
  readonly controller: number;
}

export type KafkaProperties = Readonly<Record<string, string | number | boolean>>;

/** Brokers of one cluster; each is a controller too, and keeps a copy of every partition. */
export interface KafkaCluster {
  /** `host:port` of every broker, separated by commas. */
  readonly endpoint: string;
  readonly brokers: readonly ClusterBroker[];
}

interface ClusterBroker extends Supervised {
  /** Starts it again with an empty disk, as a replaced machine. It must be down. */
  restartEmpty(): Promise<void>;
}

const HEADLESS = '-Djava.awt.headless=true';
// Kafka's own performance options (bin/kafka-run-class.sh).
const G1 = [
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-XX:InitiatingHeapOccupancyPercent=35',
  '-XX:+ExplicitGCInvokesConcurrent',
];
/** The heap is reduced for a laptop. */
const JVM = [...G1, HEADLESS, '-Xms256m', '-Xmx768m'];
const LIGHT = [...LIGHT_JVM, HEADLESS, ...SMALL_HEAP, '-Xmn24m', '-Xmx768m'];
/** Brokers of a cluster restart often: the quick compiler alone halves the CPU time of a start on two cores. */
const JVM_OF_CLUSTER = [...G1, HEADLESS, '-Xms256m', '-Xmx256m', '-XX:TieredStopAtLevel=1'];

interface Node {
  readonly name: string;
  readonly id: number;
  readonly ports: KafkaPorts;
  /** The whole quorum, this node in its position: node ids count from 1. */
  readonly quorum: readonly KafkaPorts[];
  readonly clusterId: string;
  readonly jvm: readonly string[];
  readonly settings: KafkaProperties;
}

const makeClusterId = (): string => randomBytes(16).toString('base64url');

interface KafkaOptions {
  readonly ports: KafkaPorts;
  /** Override those of its file. */
  readonly settings?: KafkaProperties;
  /** For a run of minutes (LIGHT_JVM). */
  readonly isLight?: boolean;
}

/** Starts the broker; resolves once describeCluster returns a controller. */
export function startKafka(
  supervisor: Supervisor,
  dataDir: DataDir,
  { ports, settings = {}, isLight = false }: KafkaOptions,
): Promise<Supervised> {
  const jvm = isLight ? LIGHT : JVM;
  const node = { name: 'kafka', id: 1, ports, quorum: [ports], clusterId: makeClusterId(), jvm, settings };
  return startNode(supervisor, dataDir, node);
}

/** Starts one broker per entry of ports: `kafka-1`, `kafka-2` and so on. */
export async function startKafkaCluster(
  supervisor: Supervisor,
  dataDir: DataDir,
  quorum: readonly KafkaPorts[],
): Promise<KafkaCluster> {
  const clusterId = makeClusterId();
  const brokers = await Promise.all(
    quorum.map(async (ports, index): Promise<ClusterBroker> => {
      const node = {
        name: `kafka-${index + 1}`,
        id: index + 1,
        ports,
        quorum,
        clusterId,
        jvm: JVM_OF_CLUSTER,
        settings: {},
      };
      const broker = await startNode(supervisor, dataDir, node);
      const restartEmpty = async (): Promise<void> => {
        rmSync(toDataPath(dataDir, node), { recursive: true, force: true });
        await format(prepare(dataDir, node), node);
        await broker.restart();
      };
      return Object.assign(broker, { restartEmpty });
    }),
  );
  return { endpoint: quorum.map(({ broker }) => `127.0.0.1:${broker}`).join(), brokers };
}

interface Prepared {
  readonly properties: string;
  readonly java: readonly string[];
}

const toDataPath = (dataDir: DataDir, { name }: Node): string => join(dataDir.path, name, 'data');

function prepare(dataDir: DataDir, node: Node): Prepared {
  const folder = join(dataDir.path, node.name);
  const data = toDataPath(dataDir, node);
  mkdirSync(data, { recursive: true });
  const properties = join(folder, 'server.properties');
  const logging = join(folder, 'log4j2.properties');
  writeFileSync(properties, formatProperties({ ...makeServerProperties(node, data), ...node.settings }));
  writeFileSync(logging, LOGGING);
  return {
    properties,
    java: [
      ...listClassArchiveOptions('kafka'),
      `-Dlog4j2.configurationFile=${logging}`,
      '-cp',
      `${findEngineJars('kafka')}/*`,
    ],
  };
}

async function startNode(supervisor: Supervisor, dataDir: DataDir, node: Node): Promise<Supervised> {
  const prepared = prepare(dataDir, node);
  const { java, properties } = prepared;
  if (!existsSync(join(toDataPath(dataDir, node), 'meta.properties'))) await format(prepared, node);
  return supervisor.start({
    name: node.name,
    command: findJavaCommand(),
    args: [...node.jvm, ...java, 'kafka.Kafka', properties],
    env: FEW_ARENAS,
    stopGraceMs: 15_000,
    isReady: () => isAnswering(`127.0.0.1:${node.ports.broker}`),
  });
}

async function format({ java, properties }: Prepared, { clusterId }: Node): Promise<void> {
  // An id may begin with `-`, which the tool would parse as an option.
  const tool = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '-c', properties];
  const small = ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
  await runOnce(findJavaCommand(), [...small, ...java, ...tool, '--ignore-formatted']);
}

async function isAnswering(broker: string): Promise<boolean> {
  const kafka = new Kafka({
    brokers: [broker],
    clientId: 'readiness',
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1000,
    requestTimeout: 2000,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    return cluster.brokers.length > 0 && cluster.controller !== null;
  } finally {
    await admin.disconnect();
  }
}

function makeServerProperties({ id, ports, quorum }: Node, data: string): KafkaProperties {
  const copies = quorum.length;
  const inSync = Math.max(1, copies - 1);
  const voters = quorum.map(({ controller }, index) => `${index + 1}@127.0.0.1:${controller}`);
  return {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': voters.join(),
    listeners: `PLAINTEXT://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${ports.broker}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'log.dirs': data,
    'num.network.threads': 2,
    'num.io.threads': 3,
    'num.partitions': 6,
    'default.replication.factor': copies,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': copies,
    'offsets.topic.num.partitions': 6,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': inSync,
    'transaction.state.log.num.partitions': 3,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': inSync,
    'group.initial.rebalance.delay.ms': 0,
    // A broker killed with -9 may register again only when its old session lapses (9 s by default).
    'broker.session.timeout.ms': 3000,
    'broker.heartbeat.interval.ms': 1000,
    'auto.create.topics.enable': false,
    // Of a quorum, the default shows followers twice a second that the controller lives. Alone, each record is a write to disk for nobody.
    ...(copies === 1 ? { 'metadata.max.idle.interval.ms': 5_000 } : {}),
    'log.segment.bytes': 67_108_864,
    'log.roll.ms': 3_600_000,
    'log.retention.hours': 6,
    'log.retention.check.interval.ms': 60_000,
    // The default takes 128 MB of the heap. 24 bytes a key: compacted topics have a key for each task and group.
    'log.cleaner.dedupe.buffer.size': 4_194_304,
    // A venue's whole reference response is one message.
    'message.max.bytes': 20_971_520,
  };
}

/** Java reads a properties file as Latin-1, a line for each: other letters of a path, and the lines of a certificate, are escapes there. */
const escapeProperty = (value: string): string =>
  value.replace(/[^ -[\]-~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

function formatProperties(lines: KafkaProperties): string {
  return `${Object.entries(lines)
    .map(([key, value]) => `${key}=${escapeProperty(String(value))}`)
    .join('\n')}\n`;
}

const LOGGING = `rootLogger.level=WARN
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{ISO8601} %p %m (%c{1})%n
logger.server.name=kafka.server
logger.server.level=INFO
logger.dead.name=org.apache.kafka.server.BrokerFeatures
logger.dead.level=ERROR
`;
