// Every process with the rights that the deployment document lists and no other: Kafka with its authorizer, QuestDB's read-only user, a plain role.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import kafkajs from 'kafkajs';
import t from 'tap';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { ensureDemoKeys } from '../../infra/dev/local/demo-keys.ts';
import { openKafka } from '../../infra/runtime/kafka/kafka.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { createAuthority } from '../support/engines/certificates.ts';
import { ownEngines } from '../support/engines/engines.ts';
import { pemFolder, securePostgres, startSecureKafka } from '../support/engines/secure-engines.ts';
import { type Child, startChild, startSimulator } from '../support/services/pipeline.ts';
import { waitFor } from '../support/wait.ts';

type Env = Readonly<Record<string, string>>;
type Right = { readonly process: string; readonly kind: string; readonly name: string; readonly operation: string };

const NAMESPACE = 'rights.';
const PROCESSES = ['ingest', 'processors', 'api', 'nightly'];
const DOCUMENT = fileURLToPath(new URL('../../docs/deployment.md', import.meta.url));

const listWords = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

/** The table of the document, a right for each process, resource and operation. */
const readRights = (): readonly Right[] =>
  [...readFileSync(DOCUMENT, 'utf8').matchAll(/^\| `(\w+)` \| (topics|groups) (.+) \| (.+) \|$/gm)].flatMap(
    ([, process = '', kind = '', names = '', operations = '']) =>
      listWords(names).flatMap((name) =>
        listWords(operations).map((operation) => ({ process, kind, name: `${NAMESPACE}${name}`, operation })),
      ),
  );

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

const toAcl = ({ process, kind, name, operation }: Right) => ({
  resourceType: kind === 'topics' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP,
  resourceName: name.replace(/\*$/, ''),
  resourcePatternType: name.endsWith('*') ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
  principal: `User:${process}`,
  host: '*',
  operation: AclOperationTypes[operation as keyof typeof AclOperationTypes],
  permissionType: AclPermissionTypes.ALLOW,
});

const authority = createAuthority();
const pem = pemFolder(t);
const caFile = pem.write('ca.pem', authority.cert);
const [kafka, engines] = await Promise.all([
  startSecureKafka(t, authority, { guests: PROCESSES }),
  ownEngines(t, ['questdb', 'postgres']),
]);
const database = await securePostgres(engines, authority.issue({ name: 'engine', hosts: ['127.0.0.1'] }));
const databaseUrl = `${database.url}?sslmode=verify-full&sslrootcert=${caFile}`;
const { endpoints } = engines;
const WRITER = { QUESTDB_USER: endpoints.questdb_user, QUESTDB_PASSWORD: endpoints.questdb_password };
const READER = { QUESTDB_USER: endpoints.questdb_readonly_user, QUESTDB_PASSWORD: endpoints.questdb_readonly_password };

const start = async (name: string, file: string, env: Env): Promise<{ child: Child; url: string }> => {
  const port = String(await findFreePort());
  const child = startChild(`${NAMESPACE}${name}`, file, { ...makeSettings(name), METRICS_PORT: port, ...env });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, url: `http://127.0.0.1:${port}` };
};

const makeSettings = (user: string): Env => ({
  KAFKA_BROKERS: kafka.sasl,
  KAFKA_TLS: 'true',
  KAFKA_TLS_CA_FILE: caFile,
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USER: user,
  KAFKA_SASL_PASSWORD: user,
  QUESTDB_HTTP: endpoints.questdb_http,
  QUESTDB_PG: endpoints.questdb_pg,
  VENUES: 'binance',
  TOPIC_NAMESPACE: NAMESPACE,
});

/** It uses no Kafka, and no QuestDB. */
const startWeb = async (base: string): Promise<{ child: Child; url: string }> => {
  const [port, internal] = [String(await findFreePort()), String(await findFreePort())];
  const child = startChild(`${NAMESPACE}web`, 'api/web.ts', {
    ...{ DATABASE_URL: databaseUrl, BASE_URL: base, METRICS_PORT: '0' },
    ...{ ACCOUNT_PORT: port, INTERNAL_PORT: internal },
  });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, url: `http://localhost:${port}` };
};

const isOk = async (url: string): Promise<boolean> => {
  const answer = await fetch(url).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.ok === true;
};

const grantRights = async (rights: readonly Right[]): Promise<void> => {
  const handle = openKafka({ brokers: [kafka.plain], clientId: 'operator' }, createLog('rights-test', 'silent'));
  await (await handle.admin()).createAcls({ acl: rights.map(toAcl) });
  await handle.close();
};

t.test('a value goes from the venue to an answer and to a row with the rights of the document', async (t) => {
  const rights = readRights();
  t.same([...new Set(rights.map(({ process }) => process))], PROCESSES);
  const refused = await start('processors', 'processors/main.ts', WRITER);
  t.equal(await refused.child.exited, 1, 'nothing is allowed that no right allows');
  await grantRights(rights);
  const simulator = await startSimulator({ SIM_LISTINGS: '4', SIM_RATE: '60', SIM_LEVELS: '20' });
  t.teardown(() => simulator.child.kill());
  const keys = await ensureDemoKeys(databaseUrl, `${caFile}.keys.json`);
  const ingest = await start('ingest', 'ingest/main.ts', {
    VENUE_ENDPOINTS: simulator.endpoints,
    SPOOL_DIR: `${caFile}.spool`,
  });
  // Under a name of its own it looks for its predecessor in its groups.
  const processors = await start('processors', 'processors/main.ts', { ...WRITER, PROCESSOR_ID: 'one' });
  const port = String(await findFreePort());
  const api = await start('api', 'api/main.ts', {
    ...READER,
    DATABASE_URL: databaseUrl,
    PORT: port,
    SIMULATED: 'true',
  });
  const nightly = await start('nightly', 'processors/nightly.ts', { ...WRITER, DATABASE_URL: databaseUrl });
  const base = `http://127.0.0.1:${port}`;
  await waitFor('the API is ready', () => isOk(`${base}/readyz`));
  const headers = { authorization: `Bearer ${keys.pro_plus}`, 'content-type': 'application/json' };
  const ask = async (path: string, body: object): Promise<string> => {
    const answer = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await answer.text();
    return answer.ok ? text : '';
  };
  const where = { where: 'base = BTC', layers: ['mark'] };
  await waitFor('a mark price is present', async () => (await ask('/v2/snapshots', where)).includes('"present"'));
  const from = new Date(Date.now() - 60_000).toISOString();
  await waitFor('history has a row', async () => {
    const to = new Date().toISOString();
    return (await ask('/v2/snapshots/history', { ...where, interval: '10s', from, to })).includes('"present"');
  });
  for (const { url } of [ingest, processors, nightly])
    t.ok(await waitFor(`${url} is ready`, () => isOk(`${url}/readyz`)));

  const web = await startWeb(base);
  t.ok(await waitFor('the account site answers', () => isOk(`${web.url}/sign-in`)));

  const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
  const env = { ...makeSettings('nightly'), ...WRITER, DATABASE_URL: databaseUrl, ARCHIVE_DIR: `${caFile}.archive` };
  const args = ['--step', 'archive', '--day', day];
  const archived = startChild(`${NAMESPACE}archive`, 'processors/nightly.ts', env, args);
  t.equal(await archived.exited, 0, 'a nightly step, which asks Kafka how far stored history has come');

  for (const { child } of [web, api, nightly, processors, ingest]) {
    child.process.kill('SIGTERM');
    t.equal(await child.exited, 0);
  }
});
