// Lines of recordings: what ends one, gzipped files, and files that cannot be read.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { readLines } from '../../../../infra/dev/tools/recording-lines.ts';

const folder = mkdtempSync(join(tmpdir(), 'recording-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, bytes: Uint8Array | string): string => {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};

const readAll = async (path: string): Promise<readonly string[]> => {
  const lines: string[] = [];
  for await (const line of readLines(path)) lines.push(line);
  return lines;
};

t.test('a line ends at its line feed, whatever else it contains, gzipped or not', async (t) => {
  const text = '{"raw":"a\u2028b\u2029c"}\r\n\n{"raw":"d\re"}';
  for (const path of [write('lines.ndjson', text), write('lines.ndjson.gz', gzipSync(text))])
    t.same(await readAll(path), ['{"raw":"a\u2028b\u2029c"}', '', '{"raw":"d\re"}']);
});

t.test('gzip is known by its first bytes, whatever the name of the file', async (t) => {
  t.same(await readAll(write('named.ndjson', gzipSync('{"raw":"a"}\n'))), ['{"raw":"a"}']);
  for (const short of ['', '{', '\u001f'])
    t.same(await readAll(write('short.ndjson', short)), short === '' ? [] : [short]);
});

t.test('a file that is absent or broken is an error of the reader', async (t) => {
  for (const name of ['absent.ndjson', 'absent.ndjson.gz'])
    await t.rejects(readAll(join(folder, name)), { code: 'ENOENT' });
  await t.rejects(readAll(write('broken.gz', 'no gzip')), /incorrect header check/);
});
