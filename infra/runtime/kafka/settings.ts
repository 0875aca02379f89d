// Settings of the connections to Kafka, the same for every process and tool: brokers, TLS, SASL.
import { findNearest } from '../../../schemas/errors.ts';
import { readPem } from '../network/tls.ts';
import {
  type Config,
  type ConfigSpec,
  type Environment,
  Faults,
  readConfig,
  refuseSetting,
} from '../process/config.ts';

export const KAFKA_SECURITY_CONFIG = {
  KAFKA_TLS: { type: 'boolean', default: false, description: 'Connect to Kafka with TLS.' },
  KAFKA_TLS_CA_FILE: {
    type: 'string',
    default: null,
    description: 'PEM file of the authority of the brokers’ certificates; unset: those that Node.js trusts.',
  },
  KAFKA_TLS_CERT_FILE: {
    type: 'string',
    default: null,
    description: 'PEM file of the certificate of this client, if the brokers require one.',
  },
  KAFKA_TLS_KEY_FILE: { type: 'string', default: null, description: 'PEM file of its private key.' },
  KAFKA_TLS_SERVER_NAME: {
    type: 'string',
    default: null,
    description: 'Name that the brokers’ certificates must have; unset: the host of each broker.',
  },
  KAFKA_SASL_MECHANISM: {
    type: 'string',
    default: null,
    description: 'plain, scram-sha-256 or scram-sha-512; unset: no SASL.',
  },
  KAFKA_SASL_USER: { type: 'string', default: null, description: 'SASL user.' },
  KAFKA_SASL_PASSWORD: { type: 'string', default: null, secret: true, description: 'Its password.' },
} as const satisfies ConfigSpec;

export const KAFKA_CONFIG = {
  KAFKA_BROKERS: { type: 'list', description: 'Kafka brokers, host:port separated by commas.' },
  ...KAFKA_SECURITY_CONFIG,
} as const satisfies ConfigSpec;

export const SASL_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
export type KafkaSasl = {
  readonly mechanism: (typeof SASL_MECHANISMS)[number];
  readonly username: string;
  readonly password: string;
};
/** PEM texts; null: Node's own authorities, or no client certificate. */
export type KafkaTls = {
  readonly ca: string | null;
  readonly client: { readonly cert: string; readonly key: string } | null;
  readonly serverName: string | null;
};
export type KafkaSecurity = { readonly tls: KafkaTls | null; readonly sasl: KafkaSasl | null };

type Settings = Config<typeof KAFKA_SECURITY_CONFIG>;

const OF_TLS = ['KAFKA_TLS_CA_FILE', 'KAFKA_TLS_CERT_FILE', 'KAFKA_TLS_KEY_FILE', 'KAFKA_TLS_SERVER_NAME'] as const;

const readTls = (settings: Settings): KafkaTls | null => {
  const [unused] = OF_TLS.filter((name) => settings[name] !== null);
  if (!settings.KAFKA_TLS)
    return unused === undefined ? null : refuseSetting(`${unused} is set without KAFKA_TLS=true`);
  const { KAFKA_TLS_CA_FILE: ca, KAFKA_TLS_CERT_FILE: cert, KAFKA_TLS_KEY_FILE: key } = settings;
  if ((cert === null) !== (key === null)) refuseSetting('KAFKA_TLS_CERT_FILE and KAFKA_TLS_KEY_FILE go together');
  return {
    ca: ca === null ? null : readPem('KAFKA_TLS_CA_FILE', ca),
    client:
      cert === null || key === null
        ? null
        : { cert: readPem('KAFKA_TLS_CERT_FILE', cert), key: readPem('KAFKA_TLS_KEY_FILE', key) },
    serverName: settings.KAFKA_TLS_SERVER_NAME,
  };
};

const parseMechanism = (text: string): KafkaSasl['mechanism'] => {
  const known = SASL_MECHANISMS.find((mechanism) => mechanism === text.toLowerCase());
  if (known !== undefined) return known;
  const [meant] = findNearest(text, SASL_MECHANISMS);
  const hint = meant === undefined ? `known: ${SASL_MECHANISMS.join(', ')}` : `did you mean ${meant}?`;
  return refuseSetting(`KAFKA_SASL_MECHANISM ${JSON.stringify(text)} is unknown, ${hint}`);
};

const readSasl = (settings: Settings): KafkaSasl | null => {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USER: username, KAFKA_SASL_PASSWORD: password } = settings;
  if (mechanism === null)
    return username === null && password === null
      ? null
      : refuseSetting('KAFKA_SASL_USER and KAFKA_SASL_PASSWORD are set without KAFKA_SASL_MECHANISM');
  if (username === null || password === null)
    return refuseSetting('KAFKA_SASL_MECHANISM is set without KAFKA_SASL_USER and KAFKA_SASL_PASSWORD');
  return { mechanism: parseMechanism(mechanism), username, password };
};

/** Reads the files named by the settings. Throws ConfigError with every fault: settings that conflict, files that cannot be read. */
export const loadKafkaSecurity = (settings: Settings): KafkaSecurity => {
  const faults = new Faults();
  const tls = faults.use(() => readTls(settings));
  const sasl = faults.use(() => readSasl(settings));
  faults.throwAny();
  return { tls: tls ?? null, sasl: sasl ?? null };
};

/** For tools, which get their brokers from elsewhere. */
export const readKafkaSecurity = (env: Environment): KafkaSecurity =>
  loadKafkaSecurity(readConfig(KAFKA_SECURITY_CONFIG, env));
