// Real engines with TLS for tests: a Kafka broker with listeners of several kinds, a PostgreSQL that wants TLS of one user.
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDataDir } from '../../../infra/dev/engines/data-dir.ts';
import { findEngineJars, findJavaCommand } from '../../../infra/dev/engines/java.ts';
import { type KafkaProperties, startKafka } from '../../../infra/dev/engines/kafka.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { runOnce } from '../../../infra/dev/engines/run-once.ts';
import { createSupervisor } from '../../../infra/dev/engines/supervisor.ts';
import type { Authority, Certificate } from './certificates.ts';
import type { OwnEngines, Teardown } from './engines.ts';

/** A folder of PEM files that ends with the test; `write` answers the path. */
export const pemFolder = (t: Teardown): { readonly write: (name: string, text: string) => string } => {
  const dir = mkdtempSync(join(tmpdir(), 'tls-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return {
    write: (name, text) => {
      const path = join(dir, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    },
  };
};

export const SASL_USER = 'collector';
export const SASL_PASSWORD = 'p;ss word';
/** A user of PLAIN with the rights that a test gives; its password is its name. The others have all rights. */
export const GUEST = 'guest';
/** Name that the certificate of the listener `mutual` is for, which is not the host it is reached by. */
export const BROKER_NAME = 'broker.internal';

/** `host:port` by the requirement of a listener. */
type SecureKafka = {
  readonly plain: string;
  /** TLS and SASL: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512. */
  readonly sasl: string;
  /** TLS with a certificate of the client. */
  readonly mutual: string;
  /** TLS with a certificate that has expired. */
  readonly expired: string;
};
type Listener = Exclude<keyof SecureKafka, 'plain'>;

const LOGIN_MODULES = 'org.apache.kafka.common.security';

const pemProperties = (name: string, { cert, key }: Certificate, authority: Authority): KafkaProperties => ({
  [`listener.name.${name}.ssl.keystore.type`]: 'PEM',
  [`listener.name.${name}.ssl.keystore.certificate.chain`]: cert.trim(),
  [`listener.name.${name}.ssl.keystore.key`]: key.trim(),
  [`listener.name.${name}.ssl.truststore.type`]: 'PEM',
  [`listener.name.${name}.ssl.truststore.certificates`]: authority.cert.trim(),
});

type Guests = {
  /** Users of PLAIN whose password is their name, which have what ACLs give them and nothing else. */
  readonly guests?: readonly string[];
};

const secureProperties = (
  ports: Record<Listener | 'broker' | 'controller', number>,
  by: Authority,
  { guests }: Guests,
): KafkaProperties => {
  const here = (name: string, port: number): string => `${name}://127.0.0.1:${port}`;
  const open = [
    here('PLAINTEXT', ports.broker),
    here('SASL', ports.sasl),
    here('MUTUAL', ports.mutual),
    here('EXPIRED', ports.expired),
  ];
  const hosts = ['127.0.0.1', 'localhost'];
  const users = (guests ?? [GUEST]).map((name) => `user_${name}="${name}"`).join(' ');
  return {
    listeners: [...open, here('CONTROLLER', ports.controller)].join(),
    'advertised.listeners': open.join(),
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_SSL,MUTUAL:SSL,EXPIRED:SSL',
    ...pemProperties('sasl', by.issue({ name: 'broker', hosts }), by),
    ...pemProperties('mutual', by.issue({ name: 'broker', hosts: [BROKER_NAME] }), by),
    ...pemProperties('expired', by.issue({ name: 'broker', hosts, expired: true }), by),
    'listener.name.mutual.ssl.client.auth': 'required',
    'listener.name.sasl.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.sasl.plain.sasl.jaas.config': `${LOGIN_MODULES}.plain.PlainLoginModule required user_${SASL_USER}="${SASL_PASSWORD}" ${users};`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'allow.everyone.if.no.acl.found': String(guests === undefined),
    'super.users': `User:ANONYMOUS;User:${SASL_USER}`,
    'listener.name.sasl.scram-sha-256.sasl.jaas.config': `${LOGIN_MODULES}.scram.ScramLoginModule required;`,
    'listener.name.sasl.scram-sha-512.sasl.jaas.config': `${LOGIN_MODULES}.scram.ScramLoginModule required;`,
  };
};

/** The user of a SCRAM mechanism; that of PLAIN is in the broker's own settings. kafkajs cannot make users; the tool of Kafka can. */
export const addScramUser = (broker: string, mechanism: string): Promise<string> => {
  const credential = `${mechanism.toUpperCase()}=[iterations=4096,password=${SASL_PASSWORD}]`;
  const java = ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', `${findEngineJars('kafka')}/*`];
  const users = ['--alter', '--entity-type', 'users', '--entity-name', SASL_USER];
  const config = ['--add-config', credential];
  return runOnce(findJavaCommand(), [
    ...java,
    'kafka.admin.ConfigCommand',
    '--bootstrap-server',
    broker,
    ...users,
    ...config,
  ]);
};

/** A broker of this test alone, stopped when it ends; it has no SCRAM users yet. */
export const startSecureKafka = async (
  t: Teardown,
  authority: Authority,
  guests: Guests = {},
): Promise<SecureKafka> => {
  const dir = mkdtempSync(join(tmpdir(), 'secure-kafka-'));
  const dataDir = await openDataDir(dir, () => undefined);
  const supervisor = createSupervisor(dataDir, () => undefined);
  t.teardown(async () => {
    await supervisor.stop();
    dataDir.release();
    rmSync(dir, { recursive: true, force: true });
  });
  const names = ['broker', 'controller', 'sasl', 'mutual', 'expired'] as const;
  const ports = { broker: 0, controller: 0, sasl: 0, mutual: 0, expired: 0 };
  for (const name of names) ports[name] = await findFreePort();
  await startKafka(supervisor, dataDir, { ports, settings: secureProperties(ports, authority, guests), isLight: true });
  const at = (port: number): string => `127.0.0.1:${port}`;
  return {
    plain: at(ports.broker),
    sasl: at(ports.sasl),
    mutual: at(ports.mutual),
    expired: at(ports.expired),
  };
};

const TLS_ROLE = 'tls_only';
const TLS_ROLE_PASSWORD = 'only by TLS';

type SecurePostgres = {
  /** Without parameters of TLS, as the role that needs it. */
  readonly url: string;
  readonly present: (certificate: Certificate) => Promise<void>;
};

/** TLS for a PostgreSQL of this test alone, and a role with a database of its own that is let in by TLS only. */
export const securePostgres = async (engines: OwnEngines, certificate: Certificate): Promise<SecurePostgres> => {
  const admin = new pg.Client({ connectionString: engines.endpoints.database_url });
  await admin.connect();
  try {
    const { rows } = await admin.query<{ hba_file: string; data_directory: string }>(
      "SELECT current_setting('hba_file') AS hba_file, current_setting('data_directory') AS data_directory",
    );
    const { hba_file: hba = '', data_directory: data = '' } = rows[0] ?? {};
    const only = `hostnossl all ${TLS_ROLE} all reject\n`;
    writeFileSync(hba, `${only}${readFileSync(hba, 'utf8')}`);
    const dir = join(data, 'tls');
    mkdirSync(dir);
    const [certFile, keyFile] = [join(dir, 'server.crt'), join(dir, 'server.key')];
    const write = (text: Certificate): void => {
      const { uid, gid } = statSync(data);
      writeFileSync(certFile, text.cert);
      writeFileSync(keyFile, text.key, { mode: 0o600 });
      for (const path of [dir, certFile, keyFile]) chownSync(path, uid, gid);
    };
    write(certificate);
    await admin.query(`CREATE ROLE ${TLS_ROLE} LOGIN PASSWORD '${TLS_ROLE_PASSWORD}'`);
    await admin.query(`CREATE DATABASE ${TLS_ROLE} OWNER ${TLS_ROLE}`);
    for (const [name, value] of [
      ['ssl_cert_file', certFile],
      ['ssl_key_file', keyFile],
      ['ssl', 'on'],
    ])
      await admin.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await admin.query('SELECT pg_reload_conf()');
    const url = new URL(engines.endpoints.database_url);
    url.username = TLS_ROLE;
    url.password = encodeURIComponent(TLS_ROLE_PASSWORD);
    url.pathname = `/${TLS_ROLE}`;
    const present = async (other: Certificate): Promise<void> => {
      write(other);
      await withClient(engines.endpoints.database_url, (client) => client.query('SELECT pg_reload_conf()'));
    };
    return { url: url.href, present };
  } finally {
    await admin.end();
  }
};

const withClient = async (url: string, use: (client: pg.Client) => Promise<unknown>): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
};
