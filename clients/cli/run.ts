// One run of the command line: what every command has alike around its call.
import { writeFileSync } from 'node:fs';
import { type Client, createClient, type TableFormat, type TableName } from '../typescript/src/index.ts';
import { parseDurationMs } from '../typescript/src/windows.ts';
import { UsageError } from './exit.ts';
import { cleanText, type Format, type Printed, printAnswer, type Streams } from './output.ts';
import { type Environment, readSettings, type Settings } from './settings.ts';

/** The surroundings of a run: tests pass their own. */
export type World = Streams & {
  readonly env: Environment;
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly signal: AbortSignal;
};

/** Options of a command and those before it, as commander names them. */
export type Options = Readonly<Record<string, string | boolean | undefined>>;

export type Run = {
  readonly world: World;
  readonly options: Options;
  readonly settings: Settings;
  /** Figures are text: what is printed has the venue's digits. */
  readonly client: Client<string>;
  readonly format: Format;
};

export const readTextOption = (options: Options, name: string): string | undefined => {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
};

const FORMATS: readonly Format[] = ['table', 'json', 'csv', 'parquet'];

/** Default: a table on a terminal, else an object a line. */
const chooseFormat = (options: Options, { out }: World): Format => {
  const chosen = FORMATS.filter((format) => options[format] === true || options['output'] === format);
  if (chosen.length > 1) throw new UsageError(`Both ${chosen.join(' and ')} were given.`, 'Give one format.');
  return chosen[0] ?? (out.isTTY === true ? 'table' : 'json');
};

const withoutUndefined = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

export const openRun = (options: Options, world: World): Run => {
  const baseUrl = readTextOption(options, 'baseUrl');
  const keyFile = readTextOption(options, 'keyFile');
  const settings = readSettings({ ...(baseUrl && { baseUrl }), ...(keyFile && { keyFile }) }, world.env);
  const client = createClient({
    key: settings.key,
    baseUrl: settings.baseUrl,
    numberFormat: 'string',
    onRetry: ({ error, waitMs }) =>
      world.err.write(`${cleanText(error.code)}, again in ${(waitMs / 1_000).toFixed(1)} s\n`),
  });
  return { world, options, settings, client, format: chooseFormat(options, world) };
};

const LAYERS = /[\s,]+/;
export const readLayers = (options: Options): readonly string[] | undefined =>
  readTextOption(options, 'layers')?.split(LAYERS).filter(Boolean);

/** Members of a request that options name alike; what is not given is left out. */
export const makeRequest = <Request>({ options }: Run, more: Readonly<Record<string, unknown>>): Request => {
  const { where, units, freshness } = options;
  return withoutUndefined({ where, units, freshness, ...more }) as Request;
};

export const readNumberOption = (options: Options, name: string): number | undefined => {
  const text = readTextOption(options, name);
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new UsageError(`--${name} takes a whole number, not "${text}".`, `Write --${name} 20.`);
  return Number(text);
};

/** `--from`, or `--last 2h` before the end; the end is `--to`, or now. Default the last hour. */
export const readPeriod = (options: Options, nowMs: number): { readonly from: string; readonly to: string } => {
  const to = readTextOption(options, 'to') ?? new Date(nowMs).toISOString();
  const [from, last] = [readTextOption(options, 'from'), readTextOption(options, 'last')];
  if (from === undefined) return { from: new Date(readEndMs(to) - readLengthMs(last ?? '1h')).toISOString(), to };
  if (last !== undefined)
    throw new UsageError(
      '--from and --last exclude each other.',
      'Give one of them: both say where the period begins.',
    );
  return { from, to };
};

const readEndMs = (text: string): number => {
  const endMs = Date.parse(text);
  if (Number.isNaN(endMs))
    throw new UsageError(`--to takes an instant, not "${text}".`, 'Write --to 2026-01-15T12:00:00Z.');
  return endMs;
};

const readLengthMs = (text: string): number => {
  if (!/^[1-9]\d{0,5}[smhd]$/.test(text))
    throw new UsageError(`--last takes a duration, not "${text}".`, 'Write --last 2h.');
  return parseDurationMs(text);
};

export const print = ({ format, world }: Run, printed: Printed): void => {
  if (format === 'parquet')
    throw new UsageError(
      'This command has no Parquet.',
      'history, candles and liquidations have; use --csv or --json.',
    );
  printAnswer(printed, format, world);
};

/** The only file there is. Throws UsageError when the rows fill more than one. */
const readOnly = async (files: AsyncGenerator<Uint8Array>): Promise<Uint8Array> => {
  const { value = new Uint8Array() } = await files.next();
  const { done = false } = await files.next();
  if (done) return value;
  throw new UsageError(
    'The rows fill more than one Parquet file.',
    'Shorten the period with --from and --to, or use --csv.',
  );
};

/** A table as the service makes it, to a file or a pipe; never onto a terminal. */
export const writeTable = async <Name extends TableName>(run: Run, name: Name, request: object): Promise<void> => {
  const { client, world, options } = run;
  const file = readTextOption(options, 'out');
  if (file === undefined && world.out.isTTY === true)
    throw new UsageError('Parquet is not for a terminal.', 'Give --out FILE, or a pipe.');
  const asked = { ...request, format: 'parquet' as TableFormat } as Parameters<typeof client.table<Name>>[1];
  // Pages have no hint that says which period fits.
  const bytes = await (name === 'liquidations'
    ? readOnly(client.tables(name, asked, { signal: world.signal }))
    : client.table(name, asked, { signal: world.signal }));
  if (file === undefined) world.out.write(bytes);
  else writeFileSync(file, bytes);
};
