// Lines of a recording, gzipped or not, for every tool that reads recordings; the format is that of their README.
import { once } from 'node:events';
import { createReadStream, type ReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';

/** A line, read as JSON. */
export type RecordingLine = {
  /** Null or absent in a recording without times. */
  readonly recv_ms?: number | null;
  readonly kind: 'ws' | 'rest';
  readonly dir: 'in' | 'out' | 'open';
  readonly url?: string;
  readonly raw: string;
};

/** Lines end at a line feed only: a venue's text may contain the separators U+2028 and U+2029, at which `node:readline` would cut it. */
export async function* readLines(path: string): AsyncIterable<string> {
  const file = createReadStream(path);
  const input = path.endsWith('.gz') || (await isGzipped(file)) ? file.pipe(createGunzip()) : file;
  if (input !== file) file.on('error', (error) => input.destroy(error));
  let rest = '';
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    rest += first;
    for (const line of others) {
      yield withoutReturn(rest);
      rest = line;
    }
  }
  if (rest !== '') yield withoutReturn(rest);
}

/** The first bytes of every gzip file; no JSON begins with them. */
const GZIP = Buffer.from([0x1f, 0x8b]);

/** The bytes are put back, and not read a second time: the path may be a pipe. */
const isGzipped = async (file: ReadStream): Promise<boolean> => {
  await once(file, 'readable');
  const head = file.read(GZIP.length) as Buffer | null;
  if (head !== null) file.unshift(head);
  return head?.equals(GZIP) === true;
};

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line);
