// Configuration of a process: one table of environment variables, read once in main, all faults told at once.
import { nearest } from '../../schemas/errors.ts';

type Kinds = {
  readonly string: string;
  readonly integer: number;
  readonly boolean: boolean;
  readonly list: readonly string[];
  readonly json: unknown;
  readonly url: string;
};

/** A variable without `default` is required; `default: null` makes it optional and its absence null. */
export type Variable = {
  readonly [K in keyof Kinds]: {
    readonly type: K;
    readonly default?: Kinds[K] | null;
    /** Never printed: `***` stands for it. */
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

/** Shorter names have neighbours by chance (HOST and HOME), so only these are guarded against misspelling. */
const GUARDED_LENGTH = 6;

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
  json: (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  },
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

const show = (variable: Variable, text: string): string => (variable.secret === true ? '***' : JSON.stringify(text));

const misspelt = (spec: ConfigSpec, env: Environment): string[] => {
  const guarded = Object.keys(spec).filter((name) => name.length >= GUARDED_LENGTH);
  return Object.keys(env).flatMap((name) => {
    if (name in spec) return [];
    const [meant] = nearest(name, guarded);
    // A right spelling beside the near one means that both are known to whoever set them.
    return meant === undefined || env[meant] !== undefined ? [] : [`${name} is unknown, did you mean ${meant}?`];
  });
};

/**
 * Reads the variables of `spec`. An empty text counts as unset. Throws ConfigError with every fault: required and unset,
 * not of its type, or a name of the environment one or two edits away from one of ours that is itself unset.
 */
export const readConfig = <const S extends ConfigSpec>(spec: S, env: Environment): Config<S> => {
  const faults: string[] = misspelt(spec, env);
  const config: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(spec)) {
    const text = env[name];
    if (text === undefined || text === '') {
      if (variable.default === undefined) faults.push(`${name} is required: ${variable.description}`);
      config[name] = variable.default ?? null;
      continue;
    }
    const value = PARSERS[variable.type](text);
    if (value === undefined) faults.push(`${name} must be ${EXPECTED[variable.type]}, found ${show(variable, text)}`);
    config[name] = value;
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return config as Config<S>;
};

/** The configuration as it may be logged: secrets print as `***`. */
export const printableConfig = <S extends ConfigSpec>(spec: S, config: Config<S>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(spec).map(([name, variable]) => {
      const value: unknown = config[name];
      return [name, variable.secret === true && value !== null ? '***' : value];
    }),
  );

const asText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** Lines of `.env.example`: a required variable stands bare, one with a default is commented out. */
export const describeConfig = (spec: ConfigSpec): string =>
  Object.entries(spec)
    .map(([name, variable]) => {
      const required = variable.default === undefined;
      const fallback = variable.secret === true ? '' : asText(variable.default);
      return `# ${variable.description}\n${required ? '' : '# '}${name}=${fallback}\n`;
    })
    .join('\n');
