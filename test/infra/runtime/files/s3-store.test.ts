// The store of files in a bucket, against a real S3 server: whole files only, ranges, links that end, no key no bytes (AR-06).
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { ARCHIVE_CONFIG, openArchiveStore } from '../../../../infra/runtime/files/archive-store.ts';
import { openS3Store } from '../../../../infra/runtime/files/s3-store.ts';
import { readConfig } from '../../../../infra/runtime/process/config.ts';
import { startS3Server } from '../../../support/engines/s3-server.ts';
import { waitFor } from '../../../support/wait.ts';

t.setTimeout(900_000);
const server = await startS3Server(t);
const folder = mkdtempSync(join(tmpdir(), 's3-work-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const store = openS3Store({ ...server, workFolder: folder });
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const KEY = '2026-01-10/mark/binance%3A%E5%B8%81USDT/00ff.parquet';
const put = async (key: string, bytes: Buffer): Promise<string> => {
  const path = join(await store.workFolder('one'), 'rows');
  writeFileSync(path, bytes);
  await store.put(key, path);
  return path;
};

t.test('a file is put under its key, read whole and in ranges, replaced and removed', async (t) => {
  const bytes = randomBytes(100_000);
  t.equal(await store.size(KEY), null);
  await t.rejects(store.read(KEY), { code: 'ENOENT' });
  const path = await put(KEY, bytes);
  t.notOk(existsSync(path), 'the work file has moved');
  t.equal(await store.size(KEY), 100_000);
  t.ok((await buffer(await store.read(KEY))).equals(bytes));
  t.ok((await buffer(await store.read(KEY, { start: 10, end: 20 }))).equals(bytes.subarray(10, 20)));
  t.ok((await buffer(await store.read(KEY, { start: 99_990, end: 100_010 }))).equals(bytes.subarray(99_990)));
  t.equal((await buffer(await store.read(KEY, { start: 100_000, end: 100_010 }))).length, 0, 'behind its end');
  await put(KEY, Buffer.from('other'));
  t.equal((await buffer(await store.read(KEY))).toString(), 'other');
  await store.remove(KEY);
  t.equal(await store.size(KEY), null);
  await store.remove(KEY);
  await t.rejects(store.size('../x'), /is not a key/);
});

t.test('a large file comes in parts, and is not there before the last one', async (t) => {
  const bytes = randomBytes(35 * 1024 * 1024);
  const key = '2026-01-10/trades/large';
  let [isThere, early] = [false, 0];
  const putting = put(key, bytes).then(() => {
    isThere = true;
  });
  await waitFor('the end of the upload', async () => {
    const size = await store.size(key);
    if (size !== null && size !== bytes.length) early += 1;
    return isThere;
  });
  await putting;
  t.equal(early, 0, 'never a part of it');
  t.equal(sha256(await buffer(await store.read(key))), sha256(bytes));
});

t.test('wrong keys read, write and sign nothing', async (t) => {
  const stranger = openS3Store({ ...server, secretAccessKey: 'wrong', workFolder: folder });
  await put(KEY, Buffer.from('rows'));
  await t.rejects(stranger.read(KEY), { name: 'S3Error', status: 403 });
  const path = join(await stranger.workFolder('stranger'), 'rows');
  writeFileSync(path, 'forged');
  await t.rejects(stranger.put(KEY, path), { name: 'S3Error', status: 403 });
  t.ok(existsSync(path), 'what was not stored is kept');
  const url = await stranger.presign?.(KEY, { expiresInS: 900, disposition: 'attachment', type: 'text/plain' });
  t.equal((await fetch(url ?? '')).status, 403);
  t.equal((await buffer(await store.read(KEY))).toString(), 'rows');
});

t.test('a link leads to one file for its time, without credentials', async (t) => {
  const type = 'application/vnd.apache.parquet';
  const disposition = 'attachment; filename="rows.parquet"';
  await put(KEY, Buffer.from('rows of a day'));
  await put('2026-01-10/mark/other', Buffer.from('other'));
  const link = (await store.presign?.(KEY, { expiresInS: 900, disposition, type })) ?? '';
  const answer = await fetch(link, { headers: { range: 'bytes=5-6' } });
  t.equal(answer.status, 206);
  t.equal(await answer.text(), 'of');
  t.equal(answer.headers.get('content-type'), type);
  t.equal(answer.headers.get('content-disposition'), disposition);
  t.equal((await fetch(link.replace(/mark\/[^?]+/, 'mark/other'))).status, 403, 'of another file');
  t.equal((await fetch(link.replace('Expires=900', 'Expires=901'))).status, 403, 'a later end');
  const short = (await store.presign?.(KEY, { expiresInS: 1, disposition, type })) ?? '';
  // Whether it is still open here is a matter of the machine: that it ends because of its time is told by the refusal.
  const refusal = await waitFor('the end of the link', async () => {
    const late = await fetch(short);
    const text = await late.text();
    return late.status === 403 ? text : false;
  });
  t.match(refusal, /expired/i);
});

t.test('settings: a bucket needs its keys; links may go through the API', (t) => {
  const open = (env: Record<string, string>) => openArchiveStore(readConfig(ARCHIVE_CONFIG, env));
  t.equal(open({}).presign, null, 'a folder has no address');
  t.throws(() => open({ ARCHIVE_S3_BUCKET: 'b' }), /needs ARCHIVE_S3_ACCESS_KEY_ID/);
  const keys = { ARCHIVE_S3_BUCKET: 'b', ARCHIVE_S3_ACCESS_KEY_ID: 'a', ARCHIVE_S3_SECRET_ACCESS_KEY: 's' };
  t.type(open(keys).presign, 'function');
  t.equal(open({ ...keys, ARCHIVE_S3_PRESIGN: 'false' }).presign, null);
  t.end();
});
