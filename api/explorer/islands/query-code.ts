// A call of the explorer as others would make it: curl, Python, TypeScript; and the shown rows as CSV.

export type Call = { readonly path: string; readonly body: Readonly<Record<string, unknown>> };

const quoteShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const toCurl = (base: string, { path, body }: Call): string =>
  [
    `curl -s ${base}/v2${path} \\`,
    '  -H "Authorization: Bearer $PERP_API_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quoteShell(JSON.stringify(body))}`,
  ].join('\n');

/** Values of JSON as Python writes them. */
const toPython = (value: unknown): string => {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, held]) => `${JSON.stringify(name)}: ${toPython(held)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
};

/** Uses the standard library alone, so it runs unchanged. */
export const toPythonCode = (base: string, { path, body }: Call): string =>
  [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(`${base}/v2${path}`)},`,
    `    data=json.dumps(${toPython(body)}).encode(),`,
    '    headers={"Authorization": "Bearer " + os.environ["PERP_API_KEY"], "Content-Type": "application/json"},',
    ')',
    'print(json.dumps(json.load(urllib.request.urlopen(request)), indent=2))',
  ].join('\n');

export const toTypeScript = (base: string, { path, body }: Call): string =>
  [
    `const answer = await fetch(${JSON.stringify(`${base}/v2${path}`)}, {`,
    "  method: 'POST',",
    '  headers: {',
    "    authorization: 'Bearer ' + process.env.PERP_API_KEY,",
    "    'content-type': 'application/json',",
    '  },',
    `  body: JSON.stringify(${JSON.stringify(body)}),`,
    '});',
    'console.log(await answer.json());',
  ].join('\n');

/** RFC 4180; an absent value is an empty cell. */
export const toCsv = (columns: readonly string[], rows: readonly (readonly (string | null)[])[]): string => {
  const cell = (text: string | null): string =>
    text === null ? '' : /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return `${[columns, ...rows].map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`;
};
