// What a rule matches now, over a data API that answers nothing, half of an answer, or through a proxy that answers for it.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { matchNow } from '../../../api/account-app/rule-check.ts';
import type { Site } from '../../../api/account-app/site.ts';
import { fetchCatalogue } from '../../../api/rules/check-rule.ts';
import type { RuleDraft } from '../../../api/rules/rule.ts';

const DRAFT = { query: 'count(venues) > 1', units: 'published', freshness: null } as unknown as RuleDraft;
const SCREENED = { evaluated_at: '2026-01-15T12:00:00.000Z', instruments: [], page: { next_cursor: null } };
const REFUSED = { errors: [{ code: 'UNAVAILABLE', message: 'The key cannot be checked now.' }] };

t.test('an answer that is none of the API is one that does not come', async (t) => {
  let answer: (response: ServerResponse) => unknown = () => undefined;
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const site = {
    pool: { query: async () => ({ rows: [] }) },
    connectionSecret: Buffer.alloc(32, 1),
    urls: { api: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  } as unknown as Site;
  const match = () => matchNow(site, DRAFT, 'acc_1');

  answer = (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>');
  t.equal(await match(), null, 'of a proxy');
  answer = (response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('{"evaluated_at":');
    response.socket?.end();
  };
  t.equal(await match(), null, 'half of it');
  answer = (response) => response.socket?.destroy();
  t.equal(await match(), null, 'nothing');
  for (const half of [200, 502]) {
    answer = (response) => {
      response.writeHead(half, { 'content-length': '1000' }).write('{"dql":');
      response.socket?.end();
    };
    await t.rejects(fetchCatalogue(site.urls.api), { errors: [{ code: 'UNAVAILABLE' }] }, 'half of the catalogue');
  }
  answer = (response) => response.writeHead(503).end(JSON.stringify(REFUSED));
  await t.rejects(match(), REFUSED, 'a refusal of the API is shown');
  answer = (response) => response.end(JSON.stringify(SCREENED));
  t.match(await match(), { at: SCREENED.evaluated_at, matched: [] });
});
