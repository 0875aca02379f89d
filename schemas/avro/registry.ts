// A read-only schema registry with Confluent's paths, answers and error codes, so that external consumers can decode our topics (design section 4).
import avro from 'avsc';
import { readSchemaText, SUBJECT_IDS } from './codec.ts';

type RegistryRequest = {
  readonly method: string;
  /** Path below the registry's root, still percent-encoded. */
  readonly path: string;
  /** `subjectPrefix`, `latestOnly`, `offset`, `limit` and `verbose` count; what else clients send (`subject`, `deleted`) changes nothing here. */
  readonly query: Readonly<Record<string, string>>;
  /** Text of a POST body. */
  readonly body: string;
};

/** `allow`: of a 405, the methods that the address has. */
export type RegistryAnswer = { readonly status: number; readonly body: unknown; readonly allow?: string };

type Version = { readonly family: string; readonly version: number; readonly id: number; readonly schema: string };

/** Families whose topics include the venue's code: `raw.binance`. */
const PER_VENUE = new Set(['raw', 'live', 'state', 'rows', 'checkpoints']);
const COMPATIBILITY = 'BACKWARD_TRANSITIVE';
const SUFFIX = '-value';

/** The published text without white space: a re-export would drop logical types and docs. */
const compactText = (text: string): string => JSON.stringify(JSON.parse(text));

const VERSIONS: readonly Version[] = Object.entries(SUBJECT_IDS).flatMap(([family, ids]) =>
  ids.map((id, i) => ({ family, version: i + 1, id, schema: compactText(readSchemaText(family, i + 1)) })),
);

const makeAnswer = (body: unknown): RegistryAnswer => ({ status: 200, body });
/** Confluent's error codes start with their HTTP status. */
const refuse = (errorCode: number, message: string): RegistryAnswer => ({
  status: Number(String(errorCode).slice(0, 3)),
  body: { error_code: errorCode, message },
});
const refuseSubject = (subject: string): RegistryAnswer => refuse(40401, `Subject '${subject}' not found.`);
/** Nothing is at this path. */
const NO_ADDRESS = refuse(404, 'HTTP 404 Not Found');
const refuseMethod = (allow: string): RegistryAnswer => ({
  ...refuse(405, 'This registry is read-only: schemas come with the service.'),
  allow,
});

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

type Query = RegistryRequest['query'];

/** A page of what begins with the prefix; subjects are all in the context `.`, which a prefix may name. A limit below zero is none. */
const cutPage = <T>(all: readonly T[], query: Query, subjectOf: (one: T) => string): readonly T[] => {
  const prefix = (query['subjectPrefix'] ?? '').replace(/^:[.*]?:/, '');
  const [offset, limit] = [Number(query['offset'] ?? 0), Number(query['limit'] ?? -1)];
  const found = all.filter((one) => subjectOf(one).startsWith(prefix)).slice(Math.max(offset, 0));
  return limit >= 0 ? found.slice(0, limit) : found;
};

const SUBJECTS: readonly string[] = [...new Set(VERSIONS.map(toSubject))].sort();

/** `GET /schemas`: versions of all subjects. */
const listSchemas = (query: Query): RegistryAnswer => {
  const bySubject = SUBJECTS.flatMap((subject) => {
    const versions = listVersions(subject);
    return query['latestOnly'] === 'true' ? versions.slice(-1) : versions;
  });
  return makeAnswer(cutPage(bySubject, query, toSubject).map((version) => describe(toSubject(version), version)));
};

const answerSchemas = (rest: readonly string[], query: Query): RegistryAnswer => {
  const [place, id = '', view] = rest;
  if (place === undefined) return listSchemas(query);
  if (place === 'types' && rest.length === 1) return makeAnswer(['AVRO']);
  if (place !== 'ids' || rest.length < 2 || rest.length > 3) return NO_ADDRESS;
  const found = /^[0-9]{1,9}$/.test(id) ? VERSIONS.find((v) => v.id === Number(id)) : undefined;
  if (!found) return refuse(40403, `Schema ${id} not found`);
  switch (view) {
    case undefined:
      return makeAnswer({ schema: found.schema });
    case 'schema':
      return makeAnswer(JSON.parse(found.schema));
    case 'subjects':
      return makeAnswer([toSubject(found)]);
    case 'versions':
      return makeAnswer([{ subject: toSubject(found), version: found.version }]);
    default:
      return NO_ADDRESS;
  }
};

/** The version of a subject that is named by its number, `latest` or -1; a refusal when there is none. */
const findVersion = (subject: string, wanted: string): Version | RegistryAnswer => {
  const versions = listVersions(subject);
  if (versions.length === 0) return refuseSubject(subject);
  const isLatest = wanted === 'latest' || wanted === '-1';
  if (!isLatest && !/^[1-9][0-9]{0,8}$/.test(wanted)) {
    return refuse(42202, `The specified version '${wanted}' is not a valid version id.`);
  }
  const found = isLatest ? versions.at(-1) : versions.find((v) => v.version === Number(wanted));
  return found ?? refuse(40402, `Version ${wanted} not found.`);
};

const answerVersion = (subject: string, [wanted = '', view]: readonly string[]): RegistryAnswer => {
  const found = findVersion(subject, wanted);
  if ('status' in found) return found;
  switch (view) {
    case undefined:
      return makeAnswer(describe(subject, found));
    case 'schema':
      return makeAnswer(JSON.parse(found.schema));
    case 'referencedby':
      return makeAnswer([]);
    default:
      return NO_ADDRESS;
  }
};

const answerSubjects = ([subject, place, ...rest]: readonly string[], query: Query): RegistryAnswer => {
  if (subject === undefined) return makeAnswer(cutPage(SUBJECTS, query, (one) => one));
  if (place !== 'versions' || rest.length > 2) return NO_ADDRESS;
  const versions = listVersions(subject);
  if (versions.length === 0) return refuseSubject(subject);
  return rest.length === 0 ? makeAnswer(versions.map((v) => v.version)) : answerVersion(subject, rest);
};

const toType = (schema: string): avro.Type =>
  avro.Type.forSchema(JSON.parse(schema) as avro.Schema, { wrapUnions: 'never' });

/** Fingerprint of Avro's canonical form: clients send schemas without docs and with members in their own order. */
const describeHashType = (type: avro.Type): string => type.fingerprint().toString('hex');

/** The schema in the body of a question; null without one. */
const parseAsked = (body: string): avro.Type | null => {
  try {
    const { schema } = JSON.parse(body) as { readonly schema?: unknown };
    return typeof schema === 'string' ? toType(schema) : null;
  } catch {
    return null;
  }
};

/** `POST /subjects/{subject}`: finds the version with this schema. */
const lookUp = (subject: string, body: string): RegistryAnswer => {
  const versions = listVersions(subject);
  if (versions.length === 0) return refuseSubject(subject);
  const asked = parseAsked(body);
  if (asked === null) return refuse(42201, 'Invalid schema');
  const found = versions.findLast((v) => describeHashType(toType(v.schema)) === describeHashType(asked));
  return found ? makeAnswer(describe(subject, found)) : refuse(40403, 'Schema not found');
};

/** Why a reader with this schema cannot read what was written with a version; null: it can. */
const findIncompatibility = (reader: avro.Type, { version, schema }: Version): string | null => {
  try {
    reader.createResolver(toType(schema));
    return null;
  } catch (error) {
    return `Version ${version}: ${(error as Error).message}`;
  }
};

/** `POST /compatibility/subjects/{subject}/versions[/{version}]`: whether a schema could follow; nothing is kept. */
const checkCompatibility = (rest: readonly string[], { body, query }: RegistryRequest): RegistryAnswer => {
  const [place, subject = '', list, wanted, ...more] = rest;
  if (place !== 'subjects' || list !== 'versions' || more.length > 0) return NO_ADDRESS;
  const found = findVersion(subject, wanted ?? 'latest');
  if ('status' in found) return found;
  const asked = parseAsked(body);
  if (asked === null) return refuse(42201, 'Invalid schema');
  const compared = wanted === undefined ? listVersions(subject) : [found];
  const messages = compared.flatMap((version) => findIncompatibility(asked, version) ?? []);
  const compatible = { is_compatible: messages.length === 0 };
  return makeAnswer(query['verbose'] === 'true' ? { ...compatible, messages } : compatible);
};

/** `/config` and `/mode`, for all subjects or one. */
const answerSetting = (rest: readonly string[], setting: unknown): RegistryAnswer => {
  const [subject] = rest;
  if (rest.length > 1) return NO_ADDRESS;
  return subject === undefined || listVersions(subject).length > 0 ? makeAnswer(setting) : refuseSubject(subject);
};

const answerGet = ([room, ...rest]: readonly string[], query: Query): RegistryAnswer => {
  switch (room) {
    case undefined:
      return makeAnswer({});
    case 'schemas':
      return answerSchemas(rest, query);
    case 'subjects':
      return answerSubjects(rest, query);
    case 'contexts':
      return rest.length === 0 ? makeAnswer(['.']) : NO_ADDRESS;
    case 'config':
      return answerSetting(rest, { compatibilityLevel: COMPATIBILITY });
    case 'mode':
      return answerSetting(rest, { mode: 'READONLY' });
    default:
      return NO_ADDRESS;
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
export const answerRegistryRequest = (request: RegistryRequest): RegistryAnswer => {
  const { method, path, query, body } = request;
  const segments = splitPath(path);
  if (segments === null) return NO_ADDRESS;
  if (method === 'GET' || method === 'HEAD') return answerGet(segments, query);
  const [room, subject = '', ...rest] = segments;
  const isQuestion = room === 'compatibility';
  const isLookup = room === 'subjects' && subject !== '' && rest.length === 0;
  if (method !== 'POST' || !(isQuestion || isLookup))
    return refuseMethod(isQuestion || isLookup ? 'POST' : 'GET, HEAD');
  return isQuestion ? checkCompatibility(segments.slice(1), request) : lookUp(subject, body);
};
