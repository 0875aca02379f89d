// Configuration of a process: one table of environment variables, read once in main; all faults are reported together.
import { readFileSync } from 'node:fs';
import { computeEditDistance, findNearest } from '../../../schemas/errors.ts';
import { parseJson } from '../../../schemas/json-object.ts';
import { describeError } from '../../../schemas/thrown.ts';

type Kinds = {
  readonly string: string;
  readonly integer: number;
  readonly boolean: boolean;
  readonly list: readonly string[];
  readonly json: unknown;
  readonly url: string;
};

/** A variable without `default` is required; `default: null` makes it optional and its absence null. */
type Variable = {
  readonly [K in keyof Kinds]: {
    readonly type: K;
    readonly default?: Kinds[K] | null;
    /** Never printed: `***` replaces it. `NAME_FILE` names a file that holds it, as container platforms mount secrets. */
    readonly secret?: boolean;
    readonly description: string;
  };
}[keyof Kinds];
export type ConfigSpec = Readonly<Record<string, Variable>>;
export type Environment = Readonly<Record<string, string | undefined>>;

type Absent<V> = V extends { readonly default: null } ? null : never;
export type Config<S extends ConfigSpec> = { readonly [N in keyof S]: Kinds[S[N]['type']] | Absent<S[N]> };

/** Every fault of the environment, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(`configuration: ${faults.join('; ')}`);
    this.faults = faults;
  }
}

/** Throws ConfigError for one fault. */
export const refuseSetting = (fault: string): never => {
  throw new ConfigError([fault]);
};

/** Shorter names have neighbours by chance (HOST and HOME), so only these are guarded against misspelling. */
const GUARDED_LENGTH = 6;
/** Two edits turn a name up to this length into another valid one (MCP_URL and RPC_URL), so only one edit counts as misspelt. */
const SHORT_LENGTH = 8;

const WORDS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };

const PARSERS: { readonly [K in keyof Kinds]: (text: string) => Kinds[K] | undefined } = {
  string: (text) => text,
  integer: (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : undefined),
  boolean: (text) => WORDS[text.toLowerCase()],
  list: (text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  json: parseJson,
  url: (text) => (URL.canParse(text) ? text : undefined),
};

const EXPECTED: Readonly<Record<keyof Kinds, string>> = {
  string: 'a text',
  integer: 'a whole number',
  boolean: 'true or false',
  list: 'a list separated by commas',
  json: 'JSON',
  url: 'an absolute URL',
};

/** An address may carry its password: `scheme://user:***@host`. */
const hidePassword = (text: string): string => text.replace(/(:\/\/[^:@/]*):[^/]*@/, '$1:***@');

const show = (variable: Variable, text: string): string =>
  variable.secret === true ? '***' : JSON.stringify(hidePassword(text));

const toFileName = (name: string): string => `${name}_FILE`;

/** Every name that may be set: those of the table, and the files of secrets. */
const listNames = (spec: ConfigSpec): string[] =>
  Object.entries(spec).flatMap(([name, { secret }]) => (secret === true ? [name, toFileName(name)] : [name]));

/** This many variables with the same two first words are a family: an unknown name that begins with these words is a mistake. */
const FAMILY_SIZE = 3;
const toFamily = (name: string): string => name.split('_').slice(0, 2).join('_');

const groupNames = (names: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const groups = Map.groupBy(names, toFamily);
  return new Map([...groups].filter(([, members]) => members.length >= FAMILY_SIZE));
};

const isMisspelt = (name: string, near: string): boolean =>
  near.length > SHORT_LENGTH || computeEditDistance(name, near) <= 1;

const listUnknownNames = (spec: ConfigSpec, env: Environment): string[] => {
  const names = listNames(spec);
  const guarded = names.filter((name) => name.length >= GUARDED_LENGTH);
  const kin = groupNames(names);
  return Object.keys(env).flatMap((name) => {
    if (names.includes(name)) return [];
    const [near] = findNearest(name, guarded);
    const meant = near === undefined || isMisspelt(name, near) ? near : undefined;
    // When the correct name is set as well, the near one belongs to another program.
    if (meant !== undefined && env[meant] === undefined) return [`${name} is unknown, did you mean ${meant}?`];
    const known = kin.get(toFamily(name));
    return known === undefined ? [] : [`${name} is unknown; known: ${known.join(', ')}`];
  });
};

/** Why a file of a setting cannot be used, in one line. */
export const describeUnreadable = (name: string, path: string, error: unknown): string =>
  `${name} names ${path}, which cannot be read: ${describeError(error)}`;

/** The text of a variable, of the environment or of the file of a secret; undefined when neither gives one. */
const readText = (name: string, variable: Variable, env: Environment): string | undefined => {
  const text = env[name] || undefined;
  const file = (variable.secret === true && env[toFileName(name)]) || undefined;
  if (file === undefined) return text;
  if (text !== undefined) throw new ConfigError([`${name} and ${toFileName(name)} are both set: keep one`]);
  try {
    // Editors and `echo` end a file with a line break that is no part of the secret.
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '') || undefined;
  } catch (error) {
    throw new ConfigError([describeUnreadable(toFileName(name), file, error)]);
  }
};

/** Faults of single settings and of their combinations, collected: `use` returns undefined where it finds one. */
export class Faults {
  readonly list: string[] = [];
  use<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.list.push(...error.faults);
      return undefined;
    }
  }
  throwAny(): void {
    if (this.list.length > 0) throw new ConfigError(this.list);
  }
}

const readOne = (name: string, variable: Variable, env: Environment): unknown => {
  const text = readText(name, variable, env);
  if (text === undefined) {
    if (variable.default === undefined) throw new ConfigError([`${name} is required: ${variable.description}`]);
    return variable.default;
  }
  const value = PARSERS[variable.type](text);
  if (value !== undefined) return value;
  throw new ConfigError([`${name} must be ${EXPECTED[variable.type]}, found ${show(variable, text)}`]);
};

/**
 * Reads the variables of `spec`. An empty text counts as unset. Throws ConfigError with every fault: required and unset,
 * not of its type, a file of a secret that cannot be read, a name of the environment one or two edits away from one of ours
 * that is itself unset, or an unknown name of a family of ours.
 */
export const readConfig = <const S extends ConfigSpec>(spec: S, env: Environment): Config<S> => {
  const faults = new Faults();
  faults.list.push(...listUnknownNames(spec, env));
  const entries = Object.entries(spec).map(
    ([name, variable]) => [name, faults.use(() => readOne(name, variable, env))] as const,
  );
  faults.throwAny();
  return Object.fromEntries(entries) as Config<S>;
};

/** The configuration as it may be logged: secrets print as `***`. */
export const hideSecrets = <S extends ConfigSpec>(spec: S, config: Config<S>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(spec).map(([name, variable]) => {
      const value: unknown = config[name];
      if (variable.secret === true && value !== null) return [name, '***'];
      return [name, typeof value === 'string' ? hidePassword(value) : value];
    }),
  );

const toText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** Lines of `.env.example`: a required variable is uncommented; one with a default, and the file of a secret, are commented out. */
export const describeConfig = (spec: ConfigSpec): string =>
  Object.entries(spec)
    .map(([name, variable]) => {
      const required = variable.default === undefined;
      const fallback = variable.secret === true ? '' : toText(variable.default);
      const file = variable.secret === true ? `# ${toFileName(name)}=\n` : '';
      return `# ${variable.description}\n${required ? '' : '# '}${name}=${fallback}\n${file}`;
    })
    .join('\n');
