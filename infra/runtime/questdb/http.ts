// QuestDB over HTTP: its address with or without TLS, for our own requests and for the sender of rows.
import { Agent, fetch, type Response } from 'undici';
import { toError } from '../../../schemas/thrown.ts';
import { explainTls, readPem, type TlsSettings } from '../network/tls.ts';
import { refuseSetting } from '../process/config.ts';

export type Credentials = { readonly user: string; readonly password: string };

const SETTINGS: TlsSettings = {
  authority: 'tls_ca in QUESTDB_HTTP',
  serverName: 'the host in QUESTDB_HTTP',
  enabled: 'the scheme and the port in QUESTDB_HTTP',
  client: 'the proxy before QuestDB: client certificates are not supported there',
};
const LOGIN = 'look at QUESTDB_USER and QUESTDB_PASSWORD';

type Address = { readonly url: URL; readonly caFile: string | null };

/**
 * `http://host:port`, or `https://host:port` with `?tls_ca=FILE` where the authority is not one that Node.js trusts: `tls_ca` as in the
 * configuration of QuestDB's own clients. Throws ConfigError.
 */
export const parseQuestdbHttp = (text: string): Address => {
  const url = URL.canParse(text) ? new URL(text) : refuseSetting('QUESTDB_HTTP must be an absolute URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    refuseSetting('QUESTDB_HTTP must begin with http:// or https://');
  const [unknown] = [...url.searchParams.keys()].filter((name) => name !== 'tls_ca');
  if (unknown !== undefined) refuseSetting(`${unknown} of QUESTDB_HTTP is unknown; known: tls_ca`);
  const caFile = url.searchParams.get('tls_ca');
  if (caFile !== null && url.protocol === 'http:') refuseSetting('tls_ca of QUESTDB_HTTP is set without https://');
  return { url: new URL('/', url), caFile };
};

/** The error whose message names the setting to check; any other error unchanged. */
export const explainQuestdbHttp = (error: unknown): Error => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const reason = explainTls(cause, SETTINGS);
    if (reason !== null) return new Error(`${reason} (${cause.message})`, { cause: error });
    // QuestDB's own text ends with a line feed, and a reason of readiness is one line.
    if (cause.message.includes('statusCode=401'))
      return new Error(`${cause.message.trim()}: ${LOGIN}`, { cause: error });
  }
  return toError(error);
};

export type QuestdbHttp = {
  /** GET; resolves for any status. */
  readonly get: (path: string, parameters: Readonly<Record<string, string>>, signal?: AbortSignal) => Promise<Response>;
  /** The beginning of a configuration of QuestDB's own client: scheme, address, authority, user. */
  readonly senderConfig: string;
  /** One connection for a sender of rows; whoever opened it closes it. */
  readonly openSenderAgent: () => Agent;
  readonly close: () => Promise<void>;
};

/** Below the five minutes after which QuestDB closes an idle connection: a table that gets rows once a minute keeps its own. */
const SENDER_IDLE_MS = 240_000;

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

const toSenderConfig = ({ url, caFile }: Address, auth: Credentials | undefined): string => {
  const { protocol, hostname } = url;
  const quote = (text: string): string => text.replaceAll(';', ';;');
  // Without a port the client takes 9000, whatever the scheme.
  const parts = {
    addr: `${hostname}:${url.port || PORTS[protocol]}`,
    ...(caFile === null ? {} : { tls_ca: caFile }),
    ...(auth === undefined ? {} : { username: auth.user, password: auth.password }),
  };
  const text = Object.entries(parts).map(([name, value]) => `${name}=${quote(value)};`);
  return `${protocol.slice(0, -1)}::${text.join('')}`;
};

export const openQuestdbHttp = (text: string, auth: Credentials | undefined): QuestdbHttp => {
  const address = parseQuestdbHttp(text);
  const ca = address.caFile === null ? undefined : readPem('tls_ca of QUESTDB_HTTP', address.caFile);
  const connect = ca === undefined ? {} : { ca };
  const agent = new Agent({ connect });
  const headers: Record<string, string> =
    auth === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${auth.user}:${auth.password}`).toString('base64')}` };
  return {
    senderConfig: toSenderConfig(address, auth),
    openSenderAgent: () => new Agent({ connect, connections: 1, keepAliveTimeout: SENDER_IDLE_MS }),
    get: (path, parameters, signal) => {
      const url = new URL(path, address.url);
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return fetch(url, { headers, dispatcher: agent, ...(signal === undefined ? {} : { signal }) });
    },
    close: () => agent.destroy(),
  };
};
