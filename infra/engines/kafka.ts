/** One Kafka broker in KRaft mode on loopback, run from the archives of pom.xml with the machine's JDK. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
// Repairs the timer of kafkajs before its first connection.
import '../runtime/kafka-client.ts';
import type { DataDir } from './data-dir.ts';
import { engineJars, javaCommand } from './java.ts';
import { runOnce } from './run-once.ts';
import type { Supervised, Supervisor } from './supervisor.ts';

export interface KafkaPorts {
  readonly broker: number;
  readonly controller: number;
}

export type KafkaProperties = Readonly<Record<string, string | number | boolean>>;

// Kafka's own performance options (bin/kafka-run-class.sh), heap cut to a single laptop broker.
const JVM = [
  '-Xms256m',
  '-Xmx768m',
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-XX:InitiatingHeapOccupancyPercent=35',
  '-XX:+ExplicitGCInvokesConcurrent',
  '-Djava.awt.headless=true',
];

/** Starts the broker; resolves once it answers describeCluster with a controller. `settings` are laid over those of its file. */
export async function startKafka(
  supervisor: Supervisor,
  dataDir: DataDir,
  ports: KafkaPorts,
  settings: KafkaProperties = {},
): Promise<Supervised> {
  const folder = join(dataDir.path, 'kafka');
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  const properties = join(folder, 'server.properties');
  const logging = join(folder, 'log4j2.properties');
  writeFileSync(properties, propertiesText({ ...serverProperties(ports, data), ...settings }));
  writeFileSync(logging, LOGGING);
  const java = [`-Dlog4j2.configurationFile=${logging}`, '-cp', `${engineJars('kafka')}/*`];
  if (!existsSync(join(data, 'meta.properties'))) await format(java, properties);
  return supervisor.start({
    name: 'kafka',
    command: javaCommand(),
    args: [...JVM, ...java, 'kafka.Kafka', properties],
    readyTimeoutMs: 60_000,
    stopGraceMs: 15_000,
    isReady: () => answers(`127.0.0.1:${ports.broker}`),
  });
}

async function format(java: readonly string[], properties: string): Promise<void> {
  // An id may begin with `-`, which the tool would take for an option of its own.
  const clusterId = `--cluster-id=${randomBytes(16).toString('base64url')}`;
  const tool = ['kafka.tools.StorageTool', 'format', clusterId, '-c', properties, '--ignore-formatted'];
  await runOnce(javaCommand(), ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...java, ...tool]);
}

async function answers(broker: string): Promise<boolean> {
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

function serverProperties(ports: KafkaPorts, data: string): KafkaProperties {
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${ports.controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${ports.broker}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'log.dirs': data,
    'num.network.threads': 2,
    'num.io.threads': 3,
    'num.partitions': 6,
    'default.replication.factor': 1,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 6,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 3,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // A broker killed with -9 may register again only when its old session lapses (9 s by default).
    'broker.session.timeout.ms': 3000,
    'broker.heartbeat.interval.ms': 1000,
    'auto.create.topics.enable': false,
    'log.segment.bytes': 67_108_864,
    'log.roll.ms': 3_600_000,
    'log.retention.hours': 6,
    'log.retention.check.interval.ms': 60_000,
    // The default takes 128 MB of the heap.
    'log.cleaner.dedupe.buffer.size': 33_554_432,
    // A venue's whole reference answer travels as one message.
    'message.max.bytes': 20_971_520,
  };
}

function propertiesText(lines: KafkaProperties): string {
  return `${Object.entries(lines)
    .map(([key, value]) => `${key}=${value}`)
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
