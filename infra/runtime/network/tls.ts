// TLS of connections to engines: files of certificates and keys, and failures that name the setting to check.
import { readFileSync } from 'node:fs';
import { ConfigError, describeUnreadable } from '../process/config.ts';

/** A PEM file of a setting. Throws ConfigError when it cannot be read or holds no PEM. */
export const readPem = (setting: string, path: string): string => {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError([describeUnreadable(setting, path, error)]);
  }
  if (text.includes('-----BEGIN ')) return text;
  throw new ConfigError([`${setting} names ${path}, which holds no PEM (-----BEGIN ...)`]);
};

/** The settings to check when a handshake fails, as the phrase that follows "look at". */
export type TlsSettings = {
  /** Where the authority of the server's certificate is set. */
  readonly authority: string;
  /** Where the expected name of the certificate is set. */
  readonly serverName: string;
  /** What switches TLS on and off. */
  readonly enabled: string;
  /** Where the client's certificate is set. */
  readonly client: string;
};

/** Node's names of the codes of OpenSSL (nodejs.org/api/tls.html, X509 certificate error codes). */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);
const DATES: ReadonlyMap<string, string> = new Map([
  ['CERT_HAS_EXPIRED', 'the certificate of the server, or of its authority, has expired'],
  ['CERT_NOT_YET_VALID', 'the certificate of the server, or of its authority, is not valid yet'],
]);
/** Errors for bytes that are no TLS record: the peer responds in plain text. */
const PLAIN_ANSWER = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE/;
/** Alerts of the server about the client's certificate. */
const CLIENT_REFUSED = /ALERT_(?:CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_\w+|HANDSHAKE_FAILURE)/;

const readCode = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

/** The cause of a failed handshake and the setting to check, in one sentence; null when the failure is not about TLS. */
export const explainTls = (error: Error, settings: TlsSettings): string | null => {
  const code = readCode(error);
  if (UNTRUSTED.has(code))
    return `the authority that issued the certificate of the server is not that of ${settings.authority}`;
  const dated = DATES.get(code);
  if (dated !== undefined) return `${dated}: renew it there, or look at ${settings.authority}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of the server is for another name than ${settings.serverName}`;
  if (PLAIN_ANSWER.test(code)) return `the server does not use TLS on this port: look at ${settings.enabled}`;
  if (CLIENT_REFUSED.test(code)) return `the server refused the certificate of this client: look at ${settings.client}`;
  return null;
};
