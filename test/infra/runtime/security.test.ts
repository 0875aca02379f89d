// TLS and SASL to the real engines: what is let in works as in plain text, what is not gives a reason that names the setting, and is tried again.
import { readFileSync } from 'node:fs';
import kafkajs, { type AclOperationTypes, type AclResourceTypes } from 'kafkajs';
import t from 'tap';
import {
  createPublisher,
  ensureTopics,
  joinGroup,
  type KafkaHandle,
  openKafka,
  readPartitions,
  readToEnd,
  TopicRightMissing,
} from '../../../infra/runtime/kafka/kafka.ts';
import { KAFKA_CONFIG, loadKafkaSecurity, SASL_MECHANISMS } from '../../../infra/runtime/kafka/settings.ts';
import { parsePostgresAddress } from '../../../infra/runtime/postgres/connection.ts';
import { listenPostgres } from '../../../infra/runtime/postgres/listener.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { type ConfigError, readConfig } from '../../../infra/runtime/process/config.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbHttp, parseQuestdbHttp } from '../../../infra/runtime/questdb/http.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { createAuthority } from '../../support/engines/certificates.ts';
import { ownEngines } from '../../support/engines/engines.ts';
import {
  addScramUser,
  BROKER_NAME,
  GUEST,
  pemFolder,
  SASL_PASSWORD,
  SASL_USER,
  securePostgres,
  startSecureKafka,
} from '../../support/engines/secure-engines.ts';
import { startTlsProxy } from '../../support/engines/tls-proxy.ts';
import { waitFor } from '../../support/wait.ts';

const log = createLog('security-test', 'silent');
const [authority, stranger] = [createAuthority(), createAuthority()];
const pem = pemFolder(t);
const caFile = pem.write('ca.pem', authority.cert);
const strangerFile = pem.write('stranger.pem', stranger.cert);
const passwordFile = pem.write('password', `${SASL_PASSWORD}\n`);
const issuedToClient = authority.issue({ name: 'collector' });
const certFile = pem.write('client.crt', issuedToClient.cert);
const keyFile = pem.write('client.key', issuedToClient.key);
const here = authority.issue({ name: 'here', hosts: ['127.0.0.1', 'localhost'] });
const elsewhere = authority.issue({ name: 'elsewhere', hosts: ['elsewhere.internal'] });
const expired = authority.issue({ name: 'here', hosts: ['127.0.0.1', 'localhost'], expired: true });
const unknown = stranger.issue({ name: 'here', hosts: ['127.0.0.1', 'localhost'] });

type Env = Readonly<Record<string, string>>;

const readSecurity = (env: Env) => loadKafkaSecurity(readConfig(KAFKA_CONFIG, { KAFKA_BROKERS: 'a:1', ...env }));
const catchFaults = (work: () => unknown): readonly string[] => {
  try {
    work();
    return [];
  } catch (error) {
    return (error as ConfigError).faults;
  }
};

t.test('settings of Kafka that do not fit together are refused by name, and a secret may be in a file', (t) => {
  const sasl = { KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_USER: 'u' };
  const cases: readonly (readonly [Env, readonly (string | RegExp)[]])[] = [
    [{ KAFKA_TLS_CA_FILE: caFile }, ['KAFKA_TLS_CA_FILE is set without KAFKA_TLS=true']],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CERT_FILE: certFile }, [/KAFKA_TLS_CERT_FILE and KAFKA_TLS_KEY_FILE go together/]],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: '/nowhere' }, [/^KAFKA_TLS_CA_FILE names \/nowhere, .*ENOENT/]],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: passwordFile }, [/KAFKA_TLS_CA_FILE names .* which holds no PEM/]],
    [{ ...sasl, KAFKA_SASL_MECHANISM: 'scram-sha-265', KAFKA_SASL_PASSWORD: 'p' }, [/did you mean scram-sha-256\?/]],
    [{ ...sasl, KAFKA_SASL_MECHANISM: 'oauth', KAFKA_SASL_PASSWORD: 'p' }, [/"oauth" is unknown, known: plain, /]],
    [sasl, ['KAFKA_SASL_MECHANISM is set without KAFKA_SASL_USER and KAFKA_SASL_PASSWORD']],
    [{ KAFKA_SASL_USER: 'u' }, [/set without KAFKA_SASL_MECHANISM$/]],
    [{ ...sasl, KAFKA_TLS_CA_FILE: caFile }, [/KAFKA_TLS=true/, /KAFKA_SASL_PASSWORD/]],
    [{ KAFKA_SASL_USERNAME: 'u' }, [/^KAFKA_SASL_USERNAME is unknown; known: KAFKA_SASL_MECHANISM, KAFKA_SASL_USER, /]],
    [{ KAFKA_TLS_CA: caFile }, [/^KAFKA_TLS_CA is unknown; known: .*KAFKA_TLS_CA_FILE/]],
    [{ KAFKA_SASL_PASSWORDFILE: 'p' }, ['KAFKA_SASL_PASSWORDFILE is unknown, did you mean KAFKA_SASL_PASSWORD_FILE?']],
    [{ ...sasl, KAFKA_SASL_PASSWORD: 'p', KAFKA_SASL_PASSWORD_FILE: passwordFile }, [/both set: keep one$/]],
    [{ ...sasl, KAFKA_SASL_PASSWORD_FILE: '/nowhere' }, [/^KAFKA_SASL_PASSWORD_FILE names \/nowhere/]],
  ];
  for (const [env, expected] of cases) {
    const faults = catchFaults(() => readSecurity(env));
    t.equal(faults.length, expected.length, JSON.stringify(faults));
    t.match(faults, expected);
  }
  t.strictSame(readSecurity({}), { tls: null, sasl: null });
  t.strictSame(readSecurity({ ...sasl, KAFKA_SASL_PASSWORD_FILE: passwordFile, KAFKA_TLS: 'true' }), {
    tls: { ca: null, client: null, serverName: null },
    sasl: { mechanism: 'plain', username: 'u', password: SASL_PASSWORD },
  });
  t.end();
});

t.test('addresses of PostgreSQL and QuestDB carry their TLS, and what they cannot carry is refused by name', (t) => {
  const pgCases: readonly (readonly [string, RegExp])[] = [
    ['sslmode=require', /^sslmode of QUESTDB_PG must be disable or verify-full, found require/],
    ['sslmode=no-verify', /found no-verify/],
    ['ssl=true', /^ssl of QUESTDB_PG is unknown; known: sslmode, /],
    [`sslrootcert=${caFile}`, /^sslrootcert of QUESTDB_PG is set without sslmode=verify-full/],
    ['sslmode=verify-full&sslrootcert=/nowhere', /^sslrootcert of QUESTDB_PG names \/nowhere/],
    [`sslmode=verify-full&sslcert=${certFile}`, /^sslcert and sslkey of QUESTDB_PG go together/],
    [
      'sslmode=verify-full&sslnegotiation=maybe',
      /sslnegotiation of QUESTDB_PG must be postgres or direct, found maybe/,
    ],
  ];
  for (const [parameters, fault] of pgCases)
    t.match(
      catchFaults(() => parsePostgresAddress(`postgres://h:1/d?${parameters}`, 'QUESTDB_PG')),
      [fault],
      parameters,
    );
  t.strictSame(
    parsePostgresAddress(
      `postgres://h:1/d?sslmode=verify-full&sslrootcert=${caFile}&application_name=x`,
      'DATABASE_URL',
    ),
    {
      connectionString: 'postgres://h:1/d?application_name=x',
      ssl: { ca: readFileSync(caFile, 'utf8') },
      sslnegotiation: 'postgres',
    },
  );
  t.match(parsePostgresAddress('postgres://h:1/d?sslmode=verify-full&sslrootcert=system', 'DATABASE_URL'), { ssl: {} });
  t.match(parsePostgresAddress('postgres://h:1/d', 'DATABASE_URL'), { ssl: false }, 'none is required');
  const httpCases: readonly (readonly [string, RegExp])[] = [
    ['127.0.0.1:9000', /QUESTDB_HTTP must be/],
    ['ftp://h:1', /must begin with http:\/\/ or https:\/\//],
    [`http://h:1?tls_ca=${caFile}`, /tls_ca of QUESTDB_HTTP is set without https/],
    ['https://h:1?tlsca=x', /tlsca of QUESTDB_HTTP is unknown; known: tls_ca/],
  ];
  for (const [address, fault] of httpCases)
    t.match(
      catchFaults(() => parseQuestdbHttp(address)),
      [fault],
      address,
    );
  const auth = { user: 'u', password: 'a;b' };
  const { senderConfig } = openQuestdbHttp(`https://q.internal?tls_ca=${caFile}`, auth);
  t.equal(senderConfig, `https::addr=q.internal:443;tls_ca=${caFile};username=u;password=a;;b;`);
  t.end();
});

t.test('Kafka with TLS and SASL', async (t) => {
  const kafka = await startSecureKafka(t, authority);
  const TLS = { KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: caFile };
  const login = (mechanism: string): Env => ({
    ...TLS,
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USER: SASL_USER,
    KAFKA_SASL_PASSWORD_FILE: passwordFile,
  });
  const open = (broker: string, env: Env): KafkaHandle => {
    const handle = openKafka({ brokers: [broker], clientId: 'security', security: readSecurity(env) }, log);
    t.teardown(() => handle.close());
    return handle;
  };
  const MUTUAL = { ...TLS, KAFKA_TLS_SERVER_NAME: BROKER_NAME };
  const CLIENT = { KAFKA_TLS_CERT_FILE: certFile, KAFKA_TLS_KEY_FILE: keyFile };

  await t.test('what is refused gives the setting to look at', async (t) => {
    const cases: readonly (readonly [string, string, Env, RegExp])[] = [
      ['another authority', kafka.sasl, { ...login('plain'), KAFKA_TLS_CA_FILE: strangerFile }, /KAFKA_TLS_CA_FILE/],
      ['an expired certificate', kafka.expired, TLS, /certificate .* has expired/],
      ['another name', kafka.mutual, { ...TLS, ...CLIENT }, /another name than KAFKA_TLS_SERVER_NAME/],
      ['no certificate of the client', kafka.mutual, MUTUAL, /KAFKA_TLS_CERT_FILE and KAFKA_TLS_KEY_FILE/],
      ['plain text to TLS', kafka.sasl, {}, /KAFKA_TLS/],
      ['TLS to plain text', kafka.plain, TLS, /during the TLS handshake: look at KAFKA_TLS/],
      ['no SASL', kafka.sasl, TLS, /KAFKA_SASL_MECHANISM/],
      ['a wrong password', kafka.sasl, { ...TLS, ...wrongLogin('plain') }, /KAFKA_SASL_USER and KAFKA_SASL_PASSWORD/],
      ['a wrong password of SCRAM', kafka.sasl, { ...TLS, ...wrongLogin('scram-sha-256') }, /KAFKA_SASL_PASSWORD/],
    ];
    await Promise.all(
      cases.map(([what, broker, env, reason]) => t.rejects(listTopics(open(broker, env)), { message: reason }, what)),
    );
  });

  const topic = { topic: 'secure', partitions: 2, config: {} };
  await t.test('a certificate of the client lets it in', async (t) => {
    const handle = open(kafka.mutual, { ...MUTUAL, ...CLIENT });
    await ensureTopics(handle, [topic]);
    t.ok((await listTopics(handle)).includes('secure'));
  });

  await t.test('a right on topics that is missing is named at once, with the topics', async (t) => {
    const admin = await open(kafka.plain, {}).admin();
    const { AclOperationTypes: Operation, AclResourceTypes: Resource, AclPermissionTypes: Permission } = kafkajs;
    const allow = (resource: AclResourceTypes, resourceName: string, operation: AclOperationTypes) => ({
      resourceType: resource,
      resourceName,
      resourcePatternType: kafkajs.ResourcePatternTypes.LITERAL,
      principal: `User:${GUEST}`,
      host: '*',
      operation,
      permissionType: Permission.ALLOW,
    });
    await admin.createAcls({
      acl: [
        allow(Resource.TOPIC, 'undescribed', Operation.CREATE),
        allow(Resource.TOPIC, 'uncreated', Operation.DESCRIBE),
        allow(Resource.CLUSTER, 'kafka-cluster', Operation.DESCRIBE),
      ],
    });
    const guest = pem.write('guest', GUEST);
    const env = { ...login('plain'), KAFKA_SASL_USER: GUEST, KAFKA_SASL_PASSWORD_FILE: guest };
    const handle = open(kafka.sasl, env);
    const ensure = (name: string) => ensureTopics(handle, [{ topic: name, partitions: 1, config: {} }]);
    await t.rejects(
      ensure('undescribed'),
      new TopicRightMissing('DESCRIBE (READ and WRITE include it)', ['undescribed']),
    );
    await t.rejects(ensure('uncreated'), new TopicRightMissing('CREATE', ['uncreated']));
  });

  await t.test('who is not let in yet tries again, in every client, and loses nothing', async (t) => {
    const handle = open(kafka.sasl, login('scram-sha-512'));
    const reasons: unknown[] = [];
    const publisher = createPublisher(handle, { onFatal: (error) => reasons.push(error) });
    for (const n of [0, 1]) publisher.publish({ topic: 'secure', partition: n, key: null, value: Buffer.from(`${n}`) });
    const read: string[] = [];
    const onFatal = (error: unknown): void => void reasons.push(error);
    const stop = new AbortController();
    const reading = readPartitions(handle, {
      topic: 'secure',
      from: () => 'earliest',
      signal: stop.signal,
      onFatal,
      onBatch: (_partition, messages) => void read.push(...messages.map(({ value }) => String(value))),
    });
    await waitFor('a request is under way', () => publisher.stalledMs() > 0);
    await addScramUser(kafka.plain, 'scram-sha-512');
    await publisher.flush();
    await reading;
    await waitFor('both are read', () => read.length === 2);
    t.strictSame(read.sort(), ['0', '1']);
    t.strictSame(reasons, [], 'nothing ended for it');
    stop.abort();
    await publisher.close();
  });

  for (const mechanism of SASL_MECHANISMS)
    await t.test(`${mechanism}: publisher, reader and group work`, async (t) => {
      if (mechanism === 'scram-sha-256') await addScramUser(kafka.plain, mechanism);
      const handle = open(kafka.sasl, login(mechanism));
      const own = { ...topic, topic: `by-${mechanism}` };
      await ensureTopics(handle, [own]);
      const publisher = createPublisher(handle);
      publisher.publish({ topic: own.topic, partition: 1, key: 'k', value: Buffer.from(mechanism) });
      await publisher.close();
      const read: string[] = [];
      const take = ({ value }: { readonly value: Buffer | null }): void => void read.push(String(value));
      await readToEnd(handle, { topic: own.topic, from: () => 'earliest' }, take);
      const taken: string[] = [];
      const member = await joinGroup(handle, {
        topics: [own.topic],
        groupId: mechanism,
        onBatch: ({ messages }) => void taken.push(...messages.map(({ value }) => String(value))),
      });
      await waitFor('the group reads', () => taken.length === 1);
      await member.stop();
      t.strictSame([read, taken], [[mechanism], [mechanism]]);
    });
});

/** Connecting alone does not require a login. */
const listTopics = async (handle: KafkaHandle): Promise<readonly string[]> => (await handle.admin()).listTopics();

const wrongLogin = (mechanism: string): Env => ({
  KAFKA_SASL_MECHANISM: mechanism,
  KAFKA_SASL_USER: SASL_USER,
  KAFKA_SASL_PASSWORD: 'another',
});

t.test('PostgreSQL with TLS: pool and notices', async (t) => {
  const engines = await ownEngines(t, ['postgres']);
  const plain = openPostgres(`${engines.endpoints.database_url}?sslmode=verify-full&sslrootcert=${caFile}`, { max: 1 });
  await t.rejects(plain.query('SELECT 1'), {
    message: /does not support SSL.*sslmode and sslnegotiation in DATABASE_URL/,
  });
  await plain.end();
  const server = await securePostgres(engines, here);
  const secure = (file: string): string => `${server.url}?sslmode=verify-full&sslrootcert=${file}`;
  const refused = async (url: string, reason: RegExp): Promise<void> => {
    const pool = openPostgres(url, { max: 1 });
    await t.rejects(pool.query('SELECT 1'), { message: reason }, reason.source);
    await pool.end();
  };

  const pool = openPostgres(secure(caFile), { max: 1 });
  t.teardown(() => pool.end());
  const used = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
  t.strictSame((await pool.query(used)).rows, [{ ssl: true }]);
  const received: string[] = [];
  const channels = { news: (payload: string) => void received.push(payload) };
  const listener = listenPostgres({ url: secure(caFile), channels, onListening: () => undefined, log });
  await waitFor('it listens', () => listener.isListening());
  await pool.query("NOTIFY news, 'by TLS'");
  await waitFor('the notice', () => received.length >= 1);
  await listener.stop();

  await refused(server.url, /no encryption.*sslmode in DATABASE_URL/);
  await refused(secure(strangerFile), /not that of sslrootcert in DATABASE_URL/);
  await refused(
    secure(caFile).replace('127.0.0.1', 'localhost').replace('only', 'never'),
    /the user and password in DATABASE_URL/,
  );
  await server.present(elsewhere);
  await waitFor('the other certificate is presented', async () => {
    const probe = openPostgres(secure(caFile), { max: 1 });
    const reason = await probe.query('SELECT 1').then(
      () => null,
      (error: Error) => error.message,
    );
    await probe.end();
    return reason?.includes('another name than the host in DATABASE_URL');
  });
  const waiting = listenPostgres({ url: secure(caFile), channels, onListening: () => undefined, log });
  await server.present(here);
  await waitFor('a listener that was refused listens', () => waiting.isListening());
  t.equal(waiting.losses(), 0);
  await waiting.stop();
});

t.test('QuestDB behind a proxy that ends TLS: rows, visibility, reads', async (t) => {
  const engines = await ownEngines(t, ['questdb']);
  const { questdb_http, questdb_pg, questdb_user: user, questdb_password: password } = engines.endpoints;
  const auth = { user, password };
  const toPort = (url: string): number => Number(new URL(url).port);
  const http = await startTlsProxy(t, { port: toPort(questdb_http), certificate: here });
  const direct = await startTlsProxy(t, { port: toPort(questdb_pg), certificate: here });
  const asked = await startTlsProxy(t, { port: toPort(questdb_pg), certificate: here, answersSslRequest: true });
  const pgUrl = (port: number, file: string, more = ''): string =>
    `postgres://127.0.0.1:${port}/qdb?sslmode=verify-full&sslrootcert=${file}${more}`;
  const reader = openQuestdbReader(pgUrl(direct.port, caFile, '&sslnegotiation=direct'), {
    max: 1,
    timeoutMs: 9_000,
    auth,
    log,
  });
  const other = openQuestdbReader(pgUrl(asked.port, caFile), { max: 1, timeoutMs: 9_000, auth, log });
  await reader.query({ text: 'CREATE TABLE secure (at TIMESTAMP, mark DOUBLE) TIMESTAMP(at) PARTITION BY DAY WAL' });

  const sender = createRowSender(`https://127.0.0.1:${http.port}?tls_ca=${caFile}`, { auth, log });
  const row = (at: number) => ({
    table: 'secure',
    at,
    texts: {},
    instants: {},
    integers: {},
    figures: { mark: '1.5' },
    flags: {},
  });
  await sender.send('secure', [row(1_000_000)] as never);
  await sender.waitVisible(['secure']);
  t.strictSame(await other.query({ text: 'SELECT mark FROM secure' }), [['1.5']]);

  const problems: readonly (readonly [string, typeof here, RegExp])[] = [
    ['another authority', unknown, /not that of tls_ca in QUESTDB_HTTP/],
    ['an expired certificate', expired, /has expired.*tls_ca in QUESTDB_HTTP/],
    ['another name', elsewhere, /another name than the host in QUESTDB_HTTP/],
  ];
  for (const [what, certificate, reason] of problems) {
    http.present(certificate);
    const sending = sender.send('secure', [row(2_000_000)] as never);
    const problem = await waitFor(what, () => sender.problem());
    await waitFor(what, () => reason.test(sender.problem() ?? ''), { seen: () => problem });
    http.present(here);
    await sending;
    t.equal(sender.problem(), null, `${what} was waited for`);
  }
  const fresh = createRowSender(`https://127.0.0.1:${http.port}?tls_ca=${strangerFile}`, { auth, log });
  const never = t.rejects(fresh.send('secure', [row(3_000_000)] as never), /closed|aborted/);
  await waitFor('the reason of the first request', () => /tls_ca in QUESTDB_HTTP/.test(fresh.problem() ?? ''));
  await fresh.close();
  await never;
  const stranded = createRowSender(`https://127.0.0.1:${http.port}?tls_ca=${caFile}`, {
    auth: { user, password: 'x' },
    log,
  });
  const closedSend = t.rejects(stranded.send('secure', [row(3_000_000)] as never), /closed|aborted/);
  await waitFor('the reason of a refused login', () =>
    /QUESTDB_USER and QUESTDB_PASSWORD/.test(stranded.problem() ?? ''),
  );
  await stranded.close();
  await closedSend;

  const refused = async (url: string, reason: RegExp, as = auth): Promise<void> => {
    const one = openQuestdbReader(url, { max: 1, timeoutMs: 9_000, auth: as, log });
    await t.rejects(one.ping(), { message: reason }, reason.source);
    await one.close();
  };
  await refused(pgUrl(asked.port, strangerFile), /not that of sslrootcert in QUESTDB_PG/);
  await refused(pgUrl(toPort(questdb_pg), caFile), /does not support SSL.*QUESTDB_PG/);
  await refused(`postgres://127.0.0.1:${direct.port}/qdb`, /sslmode in QUESTDB_PG/);
  await refused(pgUrl(asked.port, caFile), /QUESTDB_USER and QUESTDB_PASSWORD/, { user, password: 'wrong' });
  await sender.close();
  await Promise.all([reader.close(), other.close()]);
});
