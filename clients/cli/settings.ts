// Where the address and the key come from: an option, the environment, the file that `perp login` wrote. A key is never an option: `ps` shows those.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { UsageError } from './exit.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
type GivenSettings = { readonly baseUrl?: string; readonly keyFile?: string };
export type Settings = {
  readonly baseUrl: string;
  readonly key: string | null;
  /** As text, for `doctor`. */
  readonly keyFrom: string;
  readonly baseUrlFrom: string;
};

const DEMO = 'http://127.0.0.1:8080';

const toConfigPath = (env: Environment): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'perp', 'config.json');

type Config = { readonly base_url?: string; readonly key?: string };

const readConfig = (env: Environment): Config => {
  let text: string;
  try {
    text = readFileSync(toConfigPath(env), 'utf8');
  } catch {
    return {};
  }
  const config = parseObject(text);
  if (config === null)
    throw new UsageError(`${toConfigPath(env)} is not a JSON object.`, 'Remove the file, then run perp login.');
  return config;
};

const parseObject = (text: string): object | null => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
};

const readKeyFile = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    throw new UsageError(`The key file ${path} cannot be read.`, 'Give a file that contains only the key.');
  }
};

export const readSettings = ({ baseUrl, keyFile }: GivenSettings, env: Environment): Settings => {
  const config = readConfig(env);
  const [url, baseUrlFrom] =
    baseUrl !== undefined
      ? [baseUrl, '--base-url']
      : env['PERP_BASE_URL']
        ? [env['PERP_BASE_URL'], 'PERP_BASE_URL']
        : config.base_url !== undefined
          ? [config.base_url, toConfigPath(env)]
          : [DEMO, 'the demo, by default'];
  if (!/^https?:\/\/./.test(url)) throw new UsageError(`"${url}" is not an address.`, 'Write http://127.0.0.1:8080.');
  const [key, keyFrom] =
    keyFile !== undefined
      ? [readKeyFile(keyFile), keyFile]
      : env['PERP_API_KEY']
        ? [env['PERP_API_KEY'], 'PERP_API_KEY']
        : [config.key ?? null, config.key === undefined ? 'nowhere' : toConfigPath(env)];
  return { baseUrl: url, key, keyFrom, baseUrlFrom };
};

/** Written beside and moved, readable by its owner alone. */
export const writeConfig = (config: Config, env: Environment): string => {
  const path = toConfigPath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  chmodSync(`${path}.new`, 0o600);
  renameSync(`${path}.new`, path);
  return path;
};

export const removeConfig = (env: Environment): void => rmSync(toConfigPath(env), { force: true });
