// X.509 certificates made in the test: an authority and what it issues, with any names and any dates (RFC 5280, DER by hand).
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { MS_PER_DAY } from '../../../schemas/instants.ts';

export type Certificate = {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS#8. */
  readonly key: string;
};
type Subject = {
  readonly name: string;
  /** DNS names and IPv4 addresses it is for. */
  readonly hosts?: readonly string[];
  /** It ended yesterday. */
  readonly expired?: boolean;
};
export type Authority = Certificate & { readonly issue: (subject: Subject) => Certificate };

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};
const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const octets = (body: Buffer): Buffer => der(0x04, body);
const bits = (body: Buffer): Buffer => der(0x03, Buffer.from([0]), body);
const integer = (body: Buffer): Buffer => der(0x02, body);
const TRUE = Buffer.from([0x01, 0x01, 0xff]);

/** Each number of these is below 16,384, and the first two make one byte. */
const oid = (text: string): Buffer => {
  const [a = 0, b = 0, ...rest] = text.split('.').map(Number);
  const bytes = rest.flatMap((n) => (n < 0x80 ? [n] : [0x80 | (n >> 7), n & 0x7f]));
  return der(0x06, Buffer.from([a * 40 + b, ...bytes]));
};

const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
const makeName = (text: string): Buffer => sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(text)))));
const utcTime = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));

const hostName = (host: string): Buffer =>
  isIP(host) === 4 ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host));

const makeExtensions = (hosts: readonly string[] | null): Buffer => {
  const constraints = sequence(oid('2.5.29.19'), TRUE, octets(hosts === null ? sequence(TRUE) : sequence()));
  if (hosts === null || hosts.length === 0) return der(0xa3, sequence(constraints));
  return der(0xa3, sequence(constraints, sequence(oid('2.5.29.17'), octets(sequence(...hosts.map(hostName))))));
};

const toPem = (body: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${body
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')}\n-----END CERTIFICATE-----\n`;

type Issuer = { readonly name: string; readonly privateKey: KeyObject };

const issueFor = ({ name, hosts, expired = false }: Subject, by: Issuer | null) => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = by ?? { name, privateKey };
  const now = Date.now();
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const body = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ECDSA_SHA256,
    makeName(issuer.name),
    sequence(utcTime(now - 2 * MS_PER_DAY), utcTime(expired ? now - MS_PER_DAY : now + MS_PER_DAY)),
    makeName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    makeExtensions(by === null ? null : (hosts ?? [])),
  );
  const cert = toPem(sequence(body, ECDSA_SHA256, bits(sign('sha256', body, issuer.privateKey))));
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { cert, key, privateKey };
};

/** An unknown authority; its name differs from that of every other one. */
export const createAuthority = (): Authority => {
  const name = `authority ${randomBytes(4).toString('hex')}`;
  const { cert, key, privateKey } = issueFor({ name }, null);
  return {
    cert,
    key,
    issue: (subject) => {
      const issued = issueFor(subject, { name, privateKey });
      return { cert: issued.cert, key: issued.key };
    },
  };
};
