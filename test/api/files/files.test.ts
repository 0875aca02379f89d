// Links to archive files over a real folder store and real sockets: what is bound, ranges, conditions, many at once, clients that leave (AR-06).
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { LINK_S, writeLink } from '../../../api/files/link.ts';
import { openFileLinks } from '../../../api/files/links.ts';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { openS3Store } from '../../../infra/runtime/files/s3-store.ts';
import { market, NOW, testApp } from '../../support/apps/live-fixture.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);
const folder = mkdtempSync(join(tmpdir(), 'files-'));
const store = openFolderStore(folder);
const secret = randomBytes(32);
let now = NOW;
const links = openFileLinks(store, async () => secret, 'http://api.test/');
const { app, as } = await testApp(market(), { files: links, nowMicros: () => now });
t.teardown(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

const put = async (bytes: Buffer, ending = 'parquet', listing = 'binance%3A%E5%B8%81USDT'): Promise<string> => {
  const key = `2026-01-10/mark/${listing}/${createHash('sha256').update(bytes).digest('hex')}.${ending}`;
  const path = join(await store.workFolder('one'), 'rows');
  writeFileSync(path, bytes);
  await store.put(key, path);
  return key;
};
const BYTES = randomBytes(1_000);
const KEY = await put(BYTES);
const ETAG = `"${createHash('sha256').update(BYTES).digest('hex')}"`;
const linkTo = async (key: string): Promise<string> => {
  const { url, endsMs } = await links.make(key, now / 1_000);
  t.equal(endsMs, Math.floor(now / 1_000_000) * 1_000 + LINK_S * 1_000);
  t.ok(url.startsWith('http://api.test/files/'), url);
  return url.slice('http://api.test'.length);
};
const link = await linkTo(KEY);
const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' = 'GET') =>
  app.inject({ method, url, headers });

t.test('a link gives the file without credentials, and ignores those that are sent along', async (t) => {
  for (const headers of [{}, { authorization: 'Bearer wrong' }, { 'payment-signature': 'x' }, as('free')]) {
    const answer = await get(link, { 'accept-encoding': 'gzip, br', ...headers });
    t.equal(answer.statusCode, 200);
    t.ok(answer.rawPayload.equals(BYTES));
    t.match(answer.headers, {
      'content-type': 'application/vnd.apache.parquet',
      'content-length': '1000',
      'accept-ranges': 'bytes',
      etag: ETAG,
      'content-disposition': `attachment; filename="binance-_USDT-mark-2026-01-10.parquet"; filename*=UTF-8''binance-%E5%B8%81USDT-mark-2026-01-10.parquet`,
      'access-control-allow-origin': '*',
    });
    t.equal(answer.headers['content-encoding'], undefined);
    t.match(String(answer.headers['access-control-expose-headers']), /Content-Range/);
    t.equal(answer.headers['ratelimit'], undefined, 'not counted');
  }
  for (const ending of ['csv.zst', 'jsonl.zst']) {
    const answer = await get(await linkTo(await put(randomBytes(10), ending)));
    t.equal(answer.headers['content-type'], 'application/zstd');
  }
  t.match(await get(link, {}, 'POST'), { statusCode: 405, headers: { allow: 'GET, HEAD' } });
  // Readers of Parquet over HTTP ask for the length first, most of them with a coding of bodies that is never applied to files.
  for (const headers of [{ range: 'bytes=0-1' }, { 'accept-encoding': 'gzip, deflate' }, { 'accept-encoding': '*' }]) {
    const head = await get(link, headers, 'HEAD');
    t.equal(head.statusCode, 200);
    t.equal(head.headers['content-length'], '1000', JSON.stringify(headers));
    t.equal(head.body, '');
  }
});

t.test('every single character of a link is bound: with another one it is 404', async (t) => {
  const wrong = new Set<string>();
  for (let at = '/files/'.length; at < link.length; at++) {
    for (const char of ['0', 'a', 'A', '%', '/']) {
      if (char === link[at]) continue;
      const changed = `${link.slice(0, at)}${char}${link.slice(at + 1)}`;
      const answer = await get(changed);
      if (answer.statusCode !== 404 || answer.json().errors[0].code !== 'NOT_FOUND')
        wrong.add(`${answer.statusCode} ${changed}`);
    }
  }
  t.same([...wrong], []);
  const other = await put(randomBytes(1_000));
  const signature = link.slice(link.indexOf('?'));
  t.equal((await get(`${writeLink(secret, other, 1).split('?')[0]}${signature}`)).statusCode, 404, 'another file');
  for (const more of ['&', '&x=1', '?', '/', '&signature=']) t.equal((await get(link + more)).statusCode, 404, more);
  t.equal((await get(link.replace('%25', '%2525'))).statusCode, 404);
  t.equal((await get(writeLink(randomBytes(32), KEY, 4_000_000_000))).statusCode, 404, 'signed by another');
  t.equal((await get(writeLink(secret, '2026-01-10/none', 4_000_000_000))).statusCode, 404, 'no archive file');
  t.equal((await get(writeLink(secret, '../secret', 4_000_000_000))).statusCode, 404);
});

t.test('a link ends after 15 minutes, to the second, and with its file', async (t) => {
  now = NOW - 500_000 + (LINK_S * 1_000 - 1) * 1_000;
  t.equal((await get(link)).statusCode, 200);
  now += 1_000;
  t.equal((await get(link)).statusCode, 404);
  now = NOW;
  const gone = await put(Buffer.from('gone'));
  const url = await linkTo(gone);
  await store.remove(gone);
  t.equal((await get(url)).statusCode, 404);
});

t.test('a range gives its bytes, and conditions are judged as RFC 9110 says', async (t) => {
  const cases: [Record<string, string>, number, number, number][] = [
    [{ range: 'bytes=0-0' }, 206, 0, 1],
    [{ range: 'bytes=10-19' }, 206, 10, 20],
    [{ range: 'bytes=990-' }, 206, 990, 1_000],
    [{ range: 'bytes=-7' }, 206, 993, 1_000],
    [{ range: 'bytes=-5000' }, 206, 0, 1_000],
    [{ range: 'bytes=5-5000' }, 206, 5, 1_000],
    [{ range: 'bytes=5-18446744073709551615' }, 206, 5, 1_000],
    [{ range: 'bytes=-18446744073709551615' }, 206, 0, 1_000],
    [{ range: 'bytes=0-1,5-6' }, 200, 0, 1_000],
    [{ range: 'rows=0-1' }, 200, 0, 1_000],
    [{ range: 'bytes=9-1' }, 200, 0, 1_000],
    [{ range: 'bytes=0-1', 'if-range': ETAG }, 206, 0, 2],
    [{ range: 'bytes=0-1', 'if-range': `W/${ETAG}` }, 200, 0, 1_000],
    [{ range: 'bytes=0-1', 'if-range': 'Mon, 12 Jan 2026 00:00:00 GMT' }, 200, 0, 1_000],
    [{ 'if-none-match': '"other"' }, 200, 0, 1_000],
  ];
  for (const [headers, status, start, end] of cases) {
    const answer = await get(link, headers);
    t.equal(answer.statusCode, status, JSON.stringify(headers));
    t.ok(answer.rawPayload.equals(BYTES.subarray(start, end)));
    t.equal(answer.headers['content-range'], status === 206 ? `bytes ${start}-${end - 1}/1000` : undefined);
  }
  for (const range of ['bytes=1000-', 'bytes=1000-1001', 'bytes=-0', `bytes=${'9'.repeat(400)}-`]) {
    const answer = await get(link, { range });
    t.equal(answer.statusCode, 416, range);
    t.equal(answer.headers['content-range'], 'bytes */1000');
  }
  for (const tag of [ETAG, `W/${ETAG}`, `"x", ${ETAG}`, '*']) {
    const answer = await get(link, { 'if-none-match': tag });
    t.equal(answer.statusCode, 304, tag);
    t.equal(answer.body, '');
    t.equal(answer.headers.etag, ETAG);
  }
  const preflight = await get(
    link,
    { origin: 'https://a.test', 'access-control-request-method': 'GET', 'access-control-request-headers': 'range' },
    'OPTIONS',
  );
  t.match(String(preflight.headers['access-control-allow-headers']), /Range/);
});

t.test('a store that is away is 503, and a file that has gone meanwhile is no file', async (t) => {
  const names = { bucket: 'b', region: 'r', accessKeyId: 'a', secretAccessKey: 's', workFolder: folder };
  const away = openS3Store({ endpoint: 'http://127.0.0.1:1', ...names });
  const gone = { ...store, size: async () => BYTES.length };
  const ask = async (from: typeof away) => {
    const files = openFileLinks(from, async () => secret, 'http://api.test/');
    const { app } = await testApp(market(), { files, nowMicros: () => now });
    t.teardown(() => app.close());
    return app.inject({ url: await linkTo(KEY.replace('binance', 'okx')), headers: { range: 'bytes=0-9' } });
  };
  const answer = await ask(away);
  t.equal(answer.statusCode, 503);
  t.match(answer.json(), { errors: [{ code: 'UNAVAILABLE', message: 'The file cannot be read now.' }] });
  const refused = await ask(gone);
  t.equal(refused.statusCode, 404);
  for (const name of ['etag', 'accept-ranges', 'content-range', 'content-disposition'])
    t.notOk(name in refused.headers, `a refusal describes no file: ${name}`);
});

t.test('1,000 downloads at once are whole; a client that leaves leaves no open file', async (t) => {
  const large = randomBytes(400_000);
  const key = await put(large);
  const url = new URL(await linkTo(key), await app.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }));
  const openFiles = (): number =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).includes(folder);
      } catch {
        return false;
      }
    }).length;
  const hashes = await Promise.all(
    Array.from({ length: 1_000 }, async () => {
      const digest = createHash('sha256');
      for await (const piece of (await fetch(url)).body ?? []) digest.update(piece);
      return digest.digest('hex');
    }),
  );
  t.same([...new Set(hashes)], [createHash('sha256').update(large).digest('hex')]);
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      const left = Promise.withResolvers<void>();
      const call = request(url, (answer) => {
        answer.once('data', () => call.destroy());
        answer.once('close', () => left.resolve());
        answer.on('error', () => undefined);
      });
      call.on('error', () => left.resolve());
      call.end();
      await left.promise;
    }),
  );
  await waitFor('every file to be closed', () => openFiles() === 0, { seen: openFiles });
  t.equal((await fetch(url)).status, 200, 'and the next is served');
});
