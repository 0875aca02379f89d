// The Kafka client of a process: connection settings and logging.
import type { Admin, Kafka as KafkaClient, KafkaConfig, logCreator } from 'kafkajs';
import type { Logger } from '../process/log.ts';
import './compression.ts';
import { ForeignRecords } from './foreign-records.ts';
import kafkajs from './patches/kafkajs.ts';
import { toConnection } from './security.ts';
import type { KafkaSecurity } from './settings.ts';

/** kafkajs logs each attempt that fails, some ten a second while no broker answers; our own code logs the outage. */
const createLogCreator =
  (log: Logger): logCreator =>
  () =>
  ({ namespace, log: { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...rest } }) => {
    log.debug({ kafkajs: namespace, detail: rest }, message);
  };

type KafkaSettings = {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Plain text and no authentication without it. */
  readonly security?: KafkaSecurity;
};

export type KafkaHandle = {
  readonly kafka: KafkaClient;
  /** For clients created beside kafkajs's own (fetch.ts). */
  readonly settings: KafkaConfig;
  readonly log: Logger;
  /** What readers pass over. */
  readonly foreign: ForeignRecords;
  /** One connected admin, shared. */
  readonly admin: () => Promise<Admin>;
  /** Closes the admin; the creators of publishers, readers and members close them before this. */
  readonly close: () => Promise<void>;
};

const OPEN: KafkaSecurity = { tls: null, sasl: null };

/** Connects to nothing yet: each part connects on first use and retries without limit. */
export const openKafka = ({ brokers, clientId, security = OPEN }: KafkaSettings, log: Logger): KafkaHandle => {
  const settings: KafkaConfig = {
    brokers: [...brokers],
    clientId,
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 8 },
    logCreator: createLogCreator(log),
    ...toConnection(security),
  };
  const kafka = new kafkajs.Kafka(settings);
  let shared: Promise<Admin> | null = null;
  const connectAdmin = async (): Promise<Admin> => {
    const admin = kafka.admin();
    await admin.connect();
    return admin;
  };
  return {
    kafka,
    settings,
    log,
    foreign: new ForeignRecords(log),
    admin: () => {
      shared ??= connectAdmin().catch((error: unknown) => {
        shared = null;
        throw error;
      });
      return shared;
    },
    close: async () => {
      const admin = await shared?.catch(() => null);
      shared = null;
      await admin?.disconnect();
    },
  };
};
