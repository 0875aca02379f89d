// The example of an endpoint as a command for a shell, and formatted JSON.
import type { Endpoint } from '../../../api/contract/endpoint.ts';

const WIDTH = 116;

const formatSpaced = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(formatSpaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${formatSpaced(member)}`);
  return `{${members.join(', ')}}`;
};

/** JSON in as few lines as fit; `used` is the number of columns already taken in the first line. */
export const formatWideJson = (value: unknown, indent = '', used = 0): string => {
  const line = formatSpaced(value);
  if (indent.length + used + line.length <= WIDTH || typeof value !== 'object' || value === null) return line;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    return `[\n${value.map((item) => inner + formatWideJson(item, inner)).join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, member]) => {
    const head = `${JSON.stringify(name)}: `;
    return inner + head + formatWideJson(member, inner, head.length);
  });
  return `{\n${members.join(',\n')}\n${indent}}`;
};

/** Shell variables used by examples: an hour that ends now, by GNU's `date` or BSD's. */
export const INSTANTS = `FROM=$(date -u -d '1 hour ago' +%FT%TZ 2>/dev/null || date -u -v-1H +%FT%TZ)
TO=$(date -u +%FT%TZ)`;

/** A day that has files, and a root once it is closed: the oldest of the archive. */
export const ARCHIVED_DAY = `DAY=$(curl -sG "$BASE/v2/archive" -H "Authorization: Bearer $KEY" -d layer=funding -d where=venue=binance |
     grep -o '"day":"[^"]*' | head -n 1 | cut -c 8-)`;
/** What each member of an example about a day or a payment is in a shell; the demo's closed day has rows of ten minutes from 12:00. */
const VARIABLES: Readonly<Record<string, string>> = {
  day: '$DAY',
  at: `\${DAY}T12:10:00Z`,
  receipt_id: '$RECEIPT',
};
const WINDOW: ReadonlySet<string> = new Set(['from', 'to']);

/** Inside single quotes of a shell. */
const quoteText = (text: string): string => text.replaceAll("'", "'\\''");

/** Replaces instants of the example's window by the shell's variables. */
const withWindow = (body: string): string =>
  body.replaceAll(/"(from|to)": "[^"]*"/g, (_all, name: string) => `"${name}": "'$${name.toUpperCase()}'"`);

/** The path of a command, in double quotes. */
const toShellPath = (path: string, input: Readonly<Record<string, unknown>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => VARIABLES[name] ?? encodeURIComponent(String(input[name])));

const toShellParameter = ([name, value]: [string, unknown]): string =>
  VARIABLES[name] === undefined ? `'${name}=${quoteText(String(value))}'` : `"${name}=${VARIABLES[name]}"`;

/** The example as a command; it uses BASE, KEY and, for the past, FROM and TO, DAY or RECEIPT. */
export const formatExampleCommand = ({ method, path, key, class: requestClass, example }: Endpoint): string => {
  const url = `"$BASE${toShellPath(path, example.input)}"`;
  const headers = key === 'required' ? ' -H "Authorization: Bearer $KEY"' : '';
  if (method === 'POST') {
    const body = withWindow(quoteText(formatWideJson(example.input, '     ', 4)));
    return `curl -s ${url}${headers} -H 'Content-Type: application/json' \\\n     -d '${body}'`;
  }
  const inputs = Object.entries(example.input).filter(([name]) => !path.includes(`{${name}}`));
  const query = inputs.map((input) => ` \\\n     --data-urlencode ${toShellParameter(input)}`).join('');
  const flags = `${requestClass === 'stream' ? 'N' : ''}${inputs.length > 0 ? 'G' : ''}`;
  return `curl -s${flags} ${url}${headers}${query}`;
};

/** Whether the example uses FROM and TO. */
export const isAboutPast = ({ example }: Endpoint): boolean => Object.keys(example.input).some((n) => WINDOW.has(n));
