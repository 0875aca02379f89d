// A read-only schema registry with Confluent's paths, answers and error codes, so that external consumers can decode our topics (design section 4).
import avro from 'avsc';
import { SUBJECT_IDS, schemaText } from './avro/codec.ts';

type RegistryRequest = {
  readonly method: string;
  /** Path below the registry's root, still percent-encoded. */
  readonly path: string;
  /** Accepted and ignored: deserialisers send `?subject=` and `?deleted=`. */
  readonly query: Readonly<Record<string, string>>;
  /** Text of a POST body. */
  readonly body: string;
};

export type RegistryAnswer = { readonly status: number; readonly body: unknown };

type Version = { readonly family: string; readonly version: number; readonly id: number; readonly schema: string };

/** Families whose topics include the venue's code: `raw.binance`. */
const PER_VENUE = new Set(['raw', 'live', 'state', 'rows', 'checkpoints']);
const COMPATIBILITY = 'BACKWARD_TRANSITIVE';
const SUFFIX = '-value';

/** The published text without white space: a re-export would drop logical types and docs. */
const compact = (text: string): string => JSON.stringify(JSON.parse(text));

const VERSIONS: readonly Version[] = Object.entries(SUBJECT_IDS).flatMap(([family, ids]) =>
  ids.map((id, i) => ({ family, version: i + 1, id, schema: compact(schemaText(family, i + 1)) })),
);

const ok = (body: unknown): RegistryAnswer => ({ status: 200, body });
/** Confluent's error codes start with their HTTP status. */
const refuse = (errorCode: number, message: string): RegistryAnswer => ({
  status: Number(String(errorCode).slice(0, 3)),
  body: { error_code: errorCode, message },
});
const refuseSubject = (subject: string): RegistryAnswer => refuse(40401, `Subject '${subject}' not found.`);
const refuseSchema = (): RegistryAnswer => refuse(40403, 'Schema not found');
const readOnly = (): RegistryAnswer => refuse(405, 'This registry is read-only: schemas come with the service.');

/** Versions of `<topic>-value`, oldest first; empty for a topic that we do not write. */
const listVersions = (subject: string): readonly Version[] => {
  if (!subject.endsWith(SUFFIX)) return [];
  const topic = subject.slice(0, -SUFFIX.length);
  const [, family = '', venue] = /^([a-z]+)(?:\.([a-z0-9-]+))?$/.exec(topic) ?? [];
  const name = venue !== undefined && PER_VENUE.has(family) ? family : topic;
  return VERSIONS.filter((v) => v.family === name);
};

const toSubject = (version: Version): string => `${version.family}${SUFFIX}`;
const describe = (subject: string, { id, version, schema }: Version): unknown => ({ subject, version, id, schema });

const answerSchemas = (rest: readonly string[]): RegistryAnswer => {
  const [place, id = '', view] = rest;
  if (place === 'types' && rest.length === 1) return ok(['AVRO']);
  if (place !== 'ids' || rest.length < 2 || rest.length > 3) return refuse(404, 'HTTP 404 Not Found');
  const found = /^[0-9]{1,9}$/.test(id) ? VERSIONS.find((v) => v.id === Number(id)) : undefined;
  if (!found) return refuse(40403, `Schema ${id} not found`);
  switch (view) {
    case undefined:
      return ok({ schema: found.schema });
    case 'schema':
      return ok(JSON.parse(found.schema));
    case 'subjects':
      return ok([toSubject(found)]);
    case 'versions':
      return ok([{ subject: toSubject(found), version: found.version }]);
    default:
      return refuse(404, 'HTTP 404 Not Found');
  }
};

const answerVersion = (subject: string, rest: readonly string[]): RegistryAnswer => {
  const [wanted = '', view] = rest;
  const versions = listVersions(subject);
  if (wanted !== 'latest' && !/^[1-9][0-9]{0,8}$/.test(wanted)) {
    return refuse(42202, `The specified version '${wanted}' is not a valid version id.`);
  }
  const found = wanted === 'latest' ? versions.at(-1) : versions.find((v) => v.version === Number(wanted));
  if (!found) return refuse(40402, `Version ${wanted} not found.`);
  if (view === undefined) return ok(describe(subject, found));
  return view === 'schema' ? ok(JSON.parse(found.schema)) : refuse(404, 'HTTP 404 Not Found');
};

const answerSubjects = ([subject, place, ...rest]: readonly string[]): RegistryAnswer => {
  if (subject === undefined) return ok([...new Set(VERSIONS.map(toSubject))].sort());
  if (place !== 'versions' || rest.length > 2) return refuse(404, 'HTTP 404 Not Found');
  const versions = listVersions(subject);
  if (versions.length === 0) return refuseSubject(subject);
  return rest.length === 0 ? ok(versions.map((v) => v.version)) : answerVersion(subject, rest);
};

/** Fingerprint of Avro's canonical form: clients send schemas without docs and with members in their own order. */
const hashSchema = (schema: string): string =>
  avro.Type.forSchema(JSON.parse(schema) as avro.Schema, { wrapUnions: 'never' })
    .fingerprint()
    .toString('hex');

/** Fingerprint of the schema in a look-up's body; null without one. */
const parseLookup = (body: string): string | null => {
  try {
    const { schema } = JSON.parse(body) as { readonly schema?: unknown };
    return typeof schema === 'string' ? hashSchema(schema) : null;
  } catch {
    return null;
  }
};

/** `POST /subjects/{subject}`: finds the version with this schema. */
const lookUp = (subject: string, body: string): RegistryAnswer => {
  const versions = listVersions(subject);
  if (versions.length === 0) return refuseSubject(subject);
  const fingerprint = parseLookup(body);
  if (fingerprint === null) return refuse(42201, 'Invalid schema');
  const found = versions.findLast((v) => hashSchema(v.schema) === fingerprint);
  return found ? ok(describe(subject, found)) : refuseSchema();
};

/** `/config` and `/mode`, for all subjects or one. */
const answerSetting = (rest: readonly string[], setting: unknown): RegistryAnswer => {
  const [subject] = rest;
  if (rest.length > 1) return refuse(404, 'HTTP 404 Not Found');
  return subject === undefined || listVersions(subject).length > 0 ? ok(setting) : refuseSubject(subject);
};

const answerGet = ([room, ...rest]: readonly string[]): RegistryAnswer => {
  switch (room) {
    case undefined:
      return ok({});
    case 'schemas':
      return answerSchemas(rest);
    case 'subjects':
      return answerSubjects(rest);
    case 'config':
      return answerSetting(rest, { compatibilityLevel: COMPATIBILITY });
    case 'mode':
      return answerSetting(rest, { mode: 'READONLY' });
    default:
      return refuse(404, 'HTTP 404 Not Found');
  }
};

const splitPath = (path: string): readonly string[] | null => {
  try {
    return path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
};

/** Answers one request of Confluent's registry protocol. Every write is refused with 405. */
export const registryAnswer = ({ method, path, body }: RegistryRequest): RegistryAnswer => {
  const segments = splitPath(path);
  if (segments === null) return refuse(404, 'HTTP 404 Not Found');
  if (method === 'GET' || method === 'HEAD') return answerGet(segments);
  const [room, subject, ...rest] = segments;
  const isLookup = method === 'POST' && room === 'subjects' && subject !== undefined && rest.length === 0;
  return isLookup ? lookUp(subject, body) : readOnly();
};
