// Connections by the PostgreSQL protocol, to PostgreSQL and to QuestDB: TLS by the address, failures that name the setting to check.
import pg from 'pg';
import { explainTls, readPem, type TlsSettings } from '../network/tls.ts';
import { Faults, refuseSetting } from '../process/config.ts';
import type { Logger } from '../process/log.ts';

/** The phrase about TLS in descriptions of settings. */
export const PG_TLS_HINT = 'with TLS ?sslmode=verify-full&sslrootcert=FILE, as libpq has it';

/** Names of an address in messages: its setting, and where its user and password are set. */
type AddressNames = { readonly address: string; readonly login: string };

const MODES = ['disable', 'verify-full'] as const;
const NEGOTIATIONS = ['postgres', 'direct'] as const;
const FILES = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' } as const;
const KNOWN: readonly string[] = ['sslmode', 'sslnegotiation', ...Object.values(FILES)];
/** libpq's name for the authorities the system trusts; here those of Node.js. */
const SYSTEM = 'system';

type Tls = { readonly ca?: string; readonly cert?: string; readonly key?: string };
type PostgresConnection = Pick<pg.ClientConfig, 'connectionString' | 'ssl'> & {
  readonly sslnegotiation?: (typeof NEGOTIATIONS)[number];
};

const findKnown = <T extends string>(known: readonly T[], text: string): T | undefined =>
  known.find((one) => one === text);

const readFiles = (parameters: URLSearchParams, address: string): Tls => {
  const faults = new Faults();
  const files = Object.entries(FILES).flatMap(([part, name]) => {
    const path = parameters.get(name);
    if (path === null || (path === SYSTEM && part === 'ca')) return [];
    return [[part, faults.use(() => readPem(`${name} of ${address}`, path))]];
  });
  faults.throwAny();
  if (parameters.has('sslcert') !== parameters.has('sslkey'))
    refuseSetting(`sslcert and sslkey of ${address} go together`);
  return Object.fromEntries(files);
};

const readNegotiation = (parameters: URLSearchParams, address: string): (typeof NEGOTIATIONS)[number] => {
  const text = parameters.get('sslnegotiation') ?? 'postgres';
  return (
    findKnown(NEGOTIATIONS, text) ??
    refuseSetting(`sslnegotiation of ${address} must be ${NEGOTIATIONS.join(' or ')}, found ${text}`)
  );
};

/**
 * The parameters of libpq that concern TLS (postgresql.org/docs/current/libpq-connect.html): `sslmode` `disable` (also without one) or
 * `verify-full`, `sslrootcert`, `sslcert`, `sslkey`, `sslnegotiation`. Modes that encrypt without verifying the server are refused: the driver
 * gives them another meaning than libpq. Throws ConfigError.
 */
export const parsePostgresAddress = (text: string, address: string): PostgresConnection => {
  if (!URL.canParse(text)) return refuseSetting(`${address} must be an absolute URL`);
  const url = new URL(text);
  const given = [...url.searchParams.keys()].filter((name) => name.startsWith('ssl'));
  const [unknown] = given.filter((name) => !KNOWN.includes(name));
  if (unknown !== undefined) refuseSetting(`${unknown} of ${address} is unknown; known: ${KNOWN.join(', ')}`);
  const mode = url.searchParams.get('sslmode') ?? 'disable';
  if (findKnown(MODES, mode) === undefined)
    refuseSetting(
      `sslmode of ${address} must be ${MODES.join(' or ')}, found ${mode}: only verify-full checks who answers`,
    );
  const [unused] = given.filter((name) => name !== 'sslmode');
  if (mode === 'disable' && unused !== undefined)
    refuseSetting(`${unused} of ${address} is set without sslmode=verify-full`);
  const ssl = mode === 'disable' ? false : readFiles(url.searchParams, address);
  const sslnegotiation = readNegotiation(url.searchParams, address);
  for (const name of KNOWN) url.searchParams.delete(name);
  // Without the parameters, which the driver would read again by its own rules.
  return { connectionString: url.href, ssl, ...(ssl === false ? {} : { sslnegotiation }) };
};

const readTlsSettings = (address: string): TlsSettings => ({
  authority: `sslrootcert in ${address}`,
  serverName: `the host in ${address}`,
  enabled: `sslmode and the port in ${address}`,
  client: `sslcert and sslkey in ${address}`,
});

/** invalid_authorization_specification, which a server that requires TLS returns too, and invalid_password; QuestDB has no code for either. */
const LOGIN_REFUSED = /^28(?:000|P01)$/;
const NO_TLS = 'does not support SSL';
const CUT = /Connection terminated|ECONNRESET/;

const findAdvice = (error: Error, { address, login }: AddressNames): string | null => {
  const code = 'code' in error ? String(error.code) : '';
  if (LOGIN_REFUSED.test(code) || error.message.includes('invalid username/password'))
    return `look at ${login}, and at sslmode in ${address}`;
  if (error.message.includes(NO_TLS)) return `look at sslmode and sslnegotiation in ${address}`;
  return CUT.test(error.message) ? `unless the server is being stopped, look at sslmode in ${address}` : null;
};

const unconnected = new WeakSet<object>();

/** Whether it is the failure of an attempt to connect: a server that is away, or one that refuses a login or is refused for its certificate. */
export const isUnconnected = (error: Error): boolean => unconnected.has(error);

/** The same error with a completed message: callers decide by its class and code. */
const explain = <E extends Error | null | undefined>(error: E, names: AddressNames): E => {
  if (!error) return error;
  unconnected.add(error);
  const reason = explainTls(error, readTlsSettings(names.address));
  const advice = reason === null ? findAdvice(error, names) : null;
  if (reason !== null) error.message = `${reason} (${error.message})`;
  if (advice !== null) error.message = `${error.message}: ${advice}`;
  return error;
};

/**
 * For every connection: if a server disappears without closing it (a lost machine, a broken line), a statement would wait for ever. Node.js probes ten
 * times, a second apart, so such a connection ends after twenty seconds.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;

/**
 * A connection that is lost while nobody listens must not end the process: between two statements of a transaction the next one rejects, and an
 * idle connection is logged as `lost` and replaced. The error carries its whole client with its secrets, which must not be logged.
 */
export const guardPool = (pool: pg.Pool, log: Pick<Logger, 'warn'>, lost: string): pg.Pool => {
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', ({ message, stack }) => log.warn({ err: { message, stack } }, lost));
  return pool;
};

type OnConnect = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** A client whose connection failures name the setting; for pools too. */
export const makeClientClass = (names: AddressNames): typeof pg.Client =>
  class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: OnConnect): void;
    override connect(callback?: OnConnect): Promise<pg.Client> | undefined {
      if (callback === undefined)
        return super.connect().catch((error: Error) => {
          throw explain(error, names);
        });
      const done = callback as (error: Error | null, client?: pg.Client) => void;
      super.connect((error: Error | null, client?: pg.Client) => done(explain(error, names), client));
      return undefined;
    }
  };

export const DATABASE_NAMES: AddressNames = {
  address: 'DATABASE_URL',
  login: 'the user and password in DATABASE_URL',
};
export const QUESTDB_PG_NAMES: AddressNames = {
  address: 'QUESTDB_PG',
  login: 'QUESTDB_USER and QUESTDB_PASSWORD',
};
