// The target of a request is divided and decoded as the router does it: compared with the router itself.
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import t from 'tap';
import { readPath, readQuery } from '../../../api/contract/request-url.ts';

const app = fastify();
app.get('/v2/venues', (asked) => asked.query);
await app.listen({ host: '127.0.0.1', port: 0 });
t.teardown(() => app.close());
const { port } = app.server.address() as AddressInfo;

/** A request whose target is exactly this text. */
const ask = (path: string): Promise<{ readonly statusCode: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path }, (answer) => {
      let body = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        body += part;
      });
      answer.on('end', () => resolve({ statusCode: answer.statusCode ?? 0, body }));
    });
    sent.on('error', reject);
    sent.end();
  });

const PATHS = [
  ...[
    '/v2/venues',
    '/%762/venues',
    '/v%32/%76enues',
    '/V2/venues',
    '//v2/venues',
    '/v2//venues',
    '/v2/venues/',
    '/v2%2Fvenues',
  ],
  ...[
    '/v2%2fvenues',
    '/v2/venues;x',
    '/v2/venues%3Fx',
    '/v2/venues%23',
    '/v2/%2576enues',
    '/v2/./venues',
    '/%76%32/venues%00',
  ],
  ...[
    'http://any.test/v2/venues',
    'HTTPS://any.test:1/%762/venues',
    'ftp://any.test/v2/venues',
    '*',
    '/v2/%zz',
    '/%76%/venues',
    '/v2/%ff',
  ],
];
const QUERIES = ['', '?', '?a=1', '?a=1?b=2', '?a=b?sk_x#c=1', '#a=1', '#x?a=1', '?a=1&a=2&%61=3', '?a=%zz'];

t.test('every spelling of an address has the path and the query of the route that it takes', async (t) => {
  for (const path of PATHS)
    for (const query of QUERIES) {
      const url = `${path}${query}`;
      const { statusCode, body } = await ask(url);
      // What is no request, or has a malformed escape, takes no route.
      if (statusCode === 400) continue;
      t.equal(readPath(url) === '/v2/venues', statusCode === 200, `${url}: ${readPath(url)}, ${statusCode}`);
      if (statusCode !== 200) continue;
      const read = JSON.parse(body) as Record<string, string | string[]>;
      const own = readQuery(url);
      t.same([...new Set(own.keys())].sort(), Object.keys(read).sort(), url);
      for (const [name, value] of Object.entries(read)) t.same(own.getAll(name), [value].flat(), `${url} ${name}`);
    }
});

t.test('a malformed escape leaves the rest of a path readable', (t) => {
  t.equal(readPath('/%762/%zz/%76'), '/v2/%zz/v');
  t.end();
});
