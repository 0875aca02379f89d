// The whole path over secured connections: collector, Kafka by SASL_SSL, processors, QuestDB and PostgreSQL by TLS, an answer; metrics on a set host.
import t from 'tap';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { ensureDemoKeys } from '../../infra/dev/local/demo-keys.ts';
import { createAuthority } from '../support/engines/certificates.ts';
import { ownEngines } from '../support/engines/engines.ts';
import {
  addScramUser,
  pemFolder,
  SASL_PASSWORD,
  SASL_USER,
  securePostgres,
  startSecureKafka,
} from '../support/engines/secure-engines.ts';
import { startTlsProxy } from '../support/engines/tls-proxy.ts';
import { type Child, startChild, startSimulator } from '../support/services/pipeline.ts';
import { waitFor } from '../support/wait.ts';

type Env = Readonly<Record<string, string>>;

/** Another loopback address, which shows whether the setting is used. */
const METRICS_HOST = '127.0.0.2';
const NAMESPACE = 'secure.';
const MECHANISM = 'scram-sha-512';

const authority = createAuthority();
const certificate = authority.issue({ name: 'engine', hosts: ['127.0.0.1'] });
const pem = pemFolder(t);
const caFile = pem.write('ca.pem', authority.cert);

const [kafka, engines] = await Promise.all([startSecureKafka(t, authority), ownEngines(t, ['questdb', 'postgres'])]);
await addScramUser(kafka.plain, MECHANISM);
const database = await securePostgres(engines, certificate);
const { questdb_http, questdb_pg, questdb_user, questdb_password } = engines.endpoints;
const startProxy = async (url: string): Promise<number> =>
  (await startTlsProxy(t, { port: Number(new URL(url).port), certificate })).port;
const VERIFIED = `sslmode=verify-full&sslrootcert=${caFile}`;
const databaseUrl = `${database.url}?${VERIFIED}`;
const passwords = {
  KAFKA_SASL_PASSWORD_FILE: pem.write('sasl', `${SASL_PASSWORD}\n`),
  QUESTDB_PASSWORD_FILE: pem.write('questdb', questdb_password),
};
const settings: Env = {
  KAFKA_BROKERS: kafka.sasl,
  KAFKA_TLS: 'true',
  KAFKA_TLS_CA_FILE: caFile,
  KAFKA_SASL_MECHANISM: MECHANISM,
  KAFKA_SASL_USER: SASL_USER,
  QUESTDB_HTTP: `https://127.0.0.1:${await startProxy(questdb_http)}?tls_ca=${caFile}`,
  QUESTDB_PG: `postgres://127.0.0.1:${await startProxy(questdb_pg)}/qdb?${VERIFIED}&sslnegotiation=direct`,
  QUESTDB_USER: questdb_user,
  ...passwords,
  VENUES: 'binance',
  TOPIC_NAMESPACE: NAMESPACE,
  METRICS_HOST,
};

const start = async (name: string, file: string, env: Env): Promise<{ child: Child; metrics: string }> => {
  const port = String(await findFreePort());
  const child = startChild(`${NAMESPACE}${name}`, file, { ...settings, METRICS_PORT: port, ...env });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, metrics: `http://${METRICS_HOST}:${port}` };
};

const isOk = async (url: string): Promise<boolean> => {
  const answer = await fetch(url).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.ok === true;
};

t.test('a value goes from the venue to an answer, to a row, by TLS all the way', async (t) => {
  const simulator = await startSimulator({ SIM_LISTINGS: '4', SIM_RATE: '60', SIM_LEVELS: '20' });
  t.teardown(() => simulator.child.kill());
  const keys = await ensureDemoKeys(databaseUrl, `${caFile}.keys.json`);
  const spool = { VENUE_ENDPOINTS: simulator.endpoints, SPOOL_DIR: `${caFile}.spool` };
  const ingest = await start('ingest', 'ingest/main.ts', spool);
  const processors = await start('processors', 'processors/main.ts', {});
  const port = String(await findFreePort());
  const api = await start('api', 'api/main.ts', { DATABASE_URL: databaseUrl, PORT: port, SIMULATED: 'true' });
  const nightly = await start('nightly', 'processors/nightly.ts', { DATABASE_URL: databaseUrl });
  const base = `http://127.0.0.1:${port}`;
  await waitFor('the API is ready', () => isOk(`${base}/readyz`));
  const headers = { authorization: `Bearer ${keys.pro_plus}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ where: 'base = BTC', layers: ['mark'] });
  const found = await waitFor('a mark price is present', async () => {
    const answer = await fetch(`${base}/v2/snapshots`, { method: 'POST', headers, body });
    const text = await answer.text();
    return answer.ok && text.includes('"present"') ? text : null;
  });
  t.match(found, /"mark":\d/);

  const rows = await waitFor('rows are written', async () => {
    const text = await (await fetch(`${processors.metrics}/metrics`)).text();
    return [...text.matchAll(/^sink_rows_written_total\S* (\d+)/gm)].find(([, count]) => Number(count) > 0);
  });
  t.ok(Number(rows[1]) > 0, `${rows[1]} rows`);
  for (const { metrics } of [ingest, processors, api, nightly]) {
    t.ok(await waitFor(`metrics at ${metrics}`, () => isOk(`${metrics}/metrics`)));
    t.notOk(await isOk(`${metrics.replace(METRICS_HOST, '127.0.0.1')}/metrics`), 'and nowhere else');
  }
  // The step asks Kafka how far stored history has come, before it writes anything.
  const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
  const archived = startChild(
    `${NAMESPACE}archive`,
    'processors/nightly.ts',
    { ...settings, DATABASE_URL: databaseUrl, ARCHIVE_DIR: `${caFile}.archive` },
    ['--step', 'archive', '--day', day],
  );
  t.equal(await archived.exited, 0, 'a nightly step');

  for (const { child } of [api, nightly, processors, ingest]) {
    child.process.kill('SIGTERM');
    t.equal(await child.exited, 0);
  }
});

t.test('a process that is not let in ends with the reason in its log, and prints no secret', async (t) => {
  const password = 'a wrong password';
  const child = startChild(`${NAMESPACE}refused`, 'processors/main.ts', {
    ...Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'KAFKA_SASL_PASSWORD_FILE')),
    KAFKA_SASL_PASSWORD: password,
    METRICS_PORT: '0',
  });
  let output = '';
  for (const stream of [child.process.stdout, child.process.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  t.equal(await child.exited, 1);
  t.match(output, /could not start/);
  t.match(output, /look at KAFKA_SASL_USER and KAFKA_SASL_PASSWORD/);
  t.notMatch(output, new RegExp(`${password}|${questdb_password}`));
});
