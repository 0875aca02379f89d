// Archive files and proofs by the TypeScript client: over the real app and its folder store, through a wire that cuts and spoils.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ArchiveFile, ArchiveManifest } from '../../../api/contract/archive.ts';
import { openFileLinks } from '../../../api/files/links.ts';
import { createClient } from '../../../clients/typescript/src/index.ts';
import {
  archiveFileName,
  type DownloadProgress,
  downloadArchive,
  verifyProof,
  verifyProofText,
} from '../../../clients/typescript/src/node.ts';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { market, NOW, testApp } from '../../support/apps/live-fixture.ts';
import { buildDay, makeProof } from '../../support/days/anchored-day.ts';
import { answerJson, type EdgeAnswer, openEdgeServer } from '../../support/services/edge-server.ts';

const FILE_BYTES = 300_000;
const makeFolder = (t: Test | typeof import('tap').t): string => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const store = openFolderStore(makeFolder(t));
const bytes = randomBytes(FILE_BYTES);
const sha256 = createHash('sha256').update(bytes).digest('hex');

/** Two files of two days, one of them with a symbol that is no file name. */
const files = await Promise.all(
  ['BTCUSDT', 'hyna:1/BTC'].map(async (venueSymbol, at): Promise<ArchiveFile> => {
    const day = `2026-01-1${at}`;
    const key = `${day}/mark/${encodeURIComponent(`binance:${venueSymbol}`)}/${sha256}.parquet`;
    const path = join(await store.workFolder(`file-${at}`), 'rows');
    writeFileSync(path, bytes);
    await store.put(key, path);
    const rest = {
      instrument: 'BTC-PERP',
      tier: 'core',
      rows: 3,
      schemaVersion: 1,
      writtenAt: NOW,
      final: false,
    } as const;
    return {
      venue: 'binance',
      venueSymbol,
      layer: 'mark',
      day,
      ...rest,
      anchored: false,
      key,
      bytes: FILE_BYTES,
      sha256,
    };
  }),
);
const manifest: ArchiveManifest = {
  list: async () => files,
  find: async ({ day }) => files.find((file) => file.day === day) ?? null,
};

/** The app, behind a proxy that forwards whatever `spoil` leaves unchanged. */
const openWire = async (t: Test, spoil: (request: IncomingMessage) => EdgeAnswer | null) => {
  let appUrl = '';
  const send: EdgeAnswer = async (response: ServerResponse, request: IncomingMessage) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const answer = await fetch(appUrl + request.url, { headers, redirect: 'manual' });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  };
  const edge = await openEdgeServer(t, [(response, request) => (spoil(request) ?? send)(response, request)]);
  const links = openFileLinks(store, async () => Buffer.alloc(32, 7), edge.url);
  const { app, keys } = await testApp(market(), { files: links, manifest });
  appUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  return { edge, client: createClient({ baseUrl: edge.url, key: keys.pro_plus }) };
};

const isFile = ({ url }: IncomingMessage): boolean => url?.startsWith('/v2') === false;
/** The first bytes of the file, and nothing more once the client has some of them. */
const cutAfter =
  (length: number, held: Promise<void>): EdgeAnswer =>
  (response) => {
    response.writeHead(200, { 'content-length': String(FILE_BYTES) });
    response.write(bytes.subarray(0, length));
    void held.then(() => response.destroy());
  };

t.test('continues where a download broke off, checks the hash, then gives the file its name', async (t) => {
  let cuts = 0;
  const held = Promise.withResolvers<void>();
  const { edge, client } = await openWire(t, (request) =>
    isFile(request) && cuts++ === 0 ? cutAfter(100_000, held.promise) : null,
  );
  const folder = makeFolder(t);
  const progress: DownloadProgress[] = [];
  const onProgress = (one: DownloadProgress): void => {
    progress.push(one);
    held.resolve();
  };
  const done = await downloadArchive(client, {}, { folder, onProgress });
  t.same(
    readdirSync(folder).sort(),
    ['binance-BTCUSDT-mark-2026-01-10.parquet', 'binance-hyna~3A1~2FBTC-mark-2026-01-11.parquet'],
    'nothing else is left',
  );
  for (const { path } of done) t.ok(readFileSync(path).equals(bytes), path);
  const ranges = edge.requests.filter(isFile).map(({ headers }) => headers.range);
  t.equal(ranges.length, 3);
  t.equal(ranges[0], undefined);
  const from = Number(/^bytes=(\d+)-$/.exec(ranges[1] ?? '')?.[1]);
  t.ok(from > 0 && from <= 100_000, `went on at ${from}`);
  t.same([...new Set(edge.requests.filter(isFile).map(({ headers }) => headers.authorization))], [undefined]);
  t.equal(progress.filter(({ state }) => state === 'done').length, 2);
  t.ok(
    progress.every(
      (one, at) =>
        one.state !== 'fetching' ||
        one.bytes >= (progress[at - 1]?.bytes ?? 0) ||
        at === 0 ||
        progress[at - 1]?.state !== 'fetching',
    ),
  );
  const again: string[] = [];
  await downloadArchive(client, {}, { folder, onProgress: ({ state }) => again.push(state) });
  t.same(again, ['kept', 'kept'], 'what is there is not fetched again');
});

t.test('no list names a place outside the folder', (t) => {
  const file = { ...{ venue: 'v', venue_symbol: 'S', layer: 'mark', day: '2026-01-10', format: 'parquet' } } as never;
  t.equal(archiveFileName(file), 'v-S-mark-2026-01-10.parquet');
  for (const member of ['venue', 'venue_symbol', 'layer', 'day'])
    t.match(archiveFileName({ ...(file as object), [member]: '../..\\/x' } as never), /^[\w.~-]+$/, member);
  t.end();
});

t.test('a file with other bytes is no file', async (t) => {
  const spoilt: EdgeAnswer = (response) => void response.writeHead(200).end(randomBytes(FILE_BYTES));
  const { client } = await openWire(t, (request) => (isFile(request) ? spoilt : null));
  const folder = makeFolder(t);
  await t.rejects(downloadArchive(client, {}, { folder, tries: 2 }), { code: 'BAD_FILE', message: new RegExp(sha256) });
  t.same(readdirSync(folder), []);
});

t.test('a refusal is reported at once, in the words of the API', async (t) => {
  const { client } = await openWire(t, (request) =>
    request.url?.startsWith('/v2/archive/')
      ? answerJson(403, { errors: [{ code: 'PLAN_LIMIT', message: 'No.', hint: 'Pay.' }] })
      : null,
  );
  await t.rejects(downloadArchive(client, {}, { folder: makeFolder(t) }), { code: 'PLAN_LIMIT', hint: 'Pay.' });
});

t.test('a service that asks for hours is not requested again', async (t) => {
  const refusal = { errors: [{ code: 'UNAVAILABLE', message: 'No.' }] };
  const { client, edge } = await openWire(t, (request) =>
    isFile(request) || request.url?.startsWith('/v2/archive/')
      ? answerJson(503, refusal, { 'retry-after': '40000' })
      : null,
  );
  await t.rejects(downloadArchive(client, {}, { folder: makeFolder(t) }), { code: 'UNAVAILABLE', retryAfter: 40_000 });
  t.equal(edge.requests.length, 2, 'the list and one file');
});

t.test('the verifier of the service checks a proof: each step is reported, a tampered row is refused', async (t) => {
  const day = buildDay();
  const table = day.partitions[0]?.table.table ?? '';
  const answer = (await makeProof(day, { table, index: 0 })) as { row: Record<string, unknown> };
  const edge = await openEdgeServer(t, [answerJson(200, answer)]);
  const client = createClient({ baseUrl: edge.url, key: 'k' });
  const request = { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark', at: '2026-01-10T00:00:10Z' };
  const lines: string[] = [];
  const check = await verifyProof(client, request, { tell: (line) => lines.push(line) });
  t.match(check, { verified: true, onChain: false });
  t.equal(check.steps.filter(({ outcome }) => outcome === 'ok').length, 9);
  t.equal(check.steps.filter(({ outcome }) => outcome === 'skipped').length, 4, 'the chain receives no request');
  t.match(lines.join('\n'), /^proof answer\nok {3}form/);
  const tampered = { ...answer, row: { ...answer.row, symbol: 'ETHUSDT' } };
  const refused = await verifyProofText(JSON.stringify(tampered));
  t.equal(refused.verified, false);
  t.match(
    refused.steps.find(({ outcome }) => outcome === 'failed'),
    { name: 'canonical', reason: /another canonical text/ },
  );
  await t.rejects(verifyProofText('{"a": 1}'), { message: /neither a proof answer/ });
});
