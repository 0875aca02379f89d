// What a call of a tool makes of any answer: a result or a failure that a model can read, and never an exception (T-05).
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { Agent } from 'undici';
import { type ApiAnswer, createCallApi } from '../../../api/tool-app/call-api.ts';
import { callTool } from '../../../api/tool-app/call-tool.ts';
import type { Tool } from '../../../api/tool-app/tools.ts';

const call = (answer: () => Promise<ApiAnswer>) => {
  let isUnauthorized = false;
  const onUnauthorized = (): void => {
    isUnauthorized = true;
  };
  const caller = { key: 'key', address: null, signal: new AbortController().signal, onUnauthorized };
  const tool = { method: 'GET', path: '/v2/venues', members: {}, defaults: {} } as unknown as Tool;
  return callTool(tool, { args: {}, caller }, answer).then((result) => ({ result, isUnauthorized }));
};

const answered = (status: number, text: string) => () => Promise.resolve({ status, retryAfterS: null, text });

t.test('an answer is passed on as text and as content with its digits and the order of its members', async (t) => {
  for (const text of [
    '{"price":0.10,"id":9007199254740993}',
    '{"values":{"(mark)":1,"10":{"b":1,"7":[{"2":0.10,"1":"{\\"5\\":1,"}],"07":0},"9":null},"5":["a,","5"]}',
  ]) {
    const { result } = await call(answered(200, text));
    t.match(result, { content: [{ type: 'text', text }] });
    t.equal(JSON.stringify((result as { structuredContent: unknown }).structuredContent), text);
  }
});

t.test('names that an engine takes for one are no fault', async (t) => {
  const { result } = await call(answered(200, '{"\\u00005":1,"5":2}'));
  t.equal(JSON.stringify((result as { structuredContent: unknown }).structuredContent), '{"5":2}');
});

t.test('what is no answer of the API is a failure to try again', async (t) => {
  const gone = () => Promise.reject(new Error('refused'));
  const pages = ['<html>', '[]', '"away"', '5', 'null'].map((text) => answered(200, text));
  // Other programs have errors, too.
  const failures = ['<html>', '{"errors":["no upstream"]}', '{"errors":[null]}', '{"errors":[{"code":1000}]}', 'null'];
  for (const answer of [gone, ...pages, ...failures.map((text) => answered(502, text))]) {
    const { result } = await call(answer);
    t.match(result, { isError: true, _meta: { 'http/status': 503 } });
    t.match(JSON.parse(result.content[0].text), { code: 'UNAVAILABLE', retry: true, retry_after: 5 });
  }
});

t.test('a proxy before the API may say when to come again', async (t) => {
  for (const status of [429, 502, 503]) {
    const { result } = await call(() => Promise.resolve({ status, retryAfterS: 120, text: '<html>' }));
    t.match(JSON.parse(result.content[0].text), {
      ...{ code: 'UNAVAILABLE', retry: true, retry_after: 120 },
      next: 'Wait 120 seconds, then repeat the same call.',
    });
    t.match(result, { _meta: { 'http/status': 503, 'http/retry-after': 120 } });
  }
});

t.test('Retry-After is seconds or a date, and no wait is none', async (t) => {
  const asked: string[] = [];
  const server = createServer((_request, reply) => reply.writeHead(503, { 'retry-after': asked.at(-1) }).end('<html>'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new Agent();
  t.teardown(async () => {
    await agent.close();
    server.close();
  });
  const callApi = createCallApi(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, agent);
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  for (const [header, least, most] of [
    ['7', 7, 7],
    [inAMinute, 30, 60],
    ['0', 5, 5],
    [new Date(0).toUTCString(), 5, 5],
    ['1e9', 5, 5],
    ['soon', 5, 5],
  ] as const) {
    asked.push(header);
    const { result } = await call(() =>
      callApi(
        { method: 'GET', path: '/v2/venues', members: {}, defaults: {} },
        {},
        { key: 'key', address: null, signal: new AbortController().signal },
      ),
    );
    const { retry_after: waitS } = JSON.parse(result.content[0].text);
    t.ok(waitS >= least && waitS <= most, `${header}: ${waitS} s`);
  }
});

t.test('a redirect, and a refusal by a proxy, are not tried again: the next call would end the same way', async (t) => {
  for (const [status, text] of [
    ...[301, 308, 401, 403, 404].map((status) => [status, '<html>'] as const),
    [401, '{"errors":["no credentials"]}'] as const,
  ]) {
    const { result, isUnauthorized } = await call(answered(status, text));
    t.notOk(isUnauthorized, 'a client that signed in again would come to the same proxy');
    const failure = JSON.parse(result.content[0].text);
    t.match(failure, { code: 'UNAVAILABLE', retry: false, next: /^Tell whoever runs the tool server/ });
    t.notOk('retry_after' in failure);
    t.same(result, { ...result, isError: true, _meta: { 'http/status': status } });
  }
});

t.test('what to do next names tools and pages, not addresses of the API that have one', async (t) => {
  const codes = ['DQL_UNKNOWN_FIELD', 'DQL_UNKNOWN_ASSET', 'DQL_UNKNOWN_INSTRUMENT', 'DQL_UNKNOWN_CURRENCY'];
  for (const code of codes) {
    const hint = 'GET /v2/instruments lists every code.';
    const text = JSON.stringify({ errors: [{ code, message: 'It is not known.', hint }] });
    const { result } = await call(answered(400, text));
    const failure = JSON.parse(result.content[0].text) as { readonly next: string; readonly hint: string };
    t.equal(failure.hint, hint);
    t.match(failure.next, /docs:\/\/dql|that instruments lists/);
    t.notMatch(failure.next, /GET/);
  }
  const file = 'The final file of that day in GET /v2/archive has every row.';
  const unproven = JSON.stringify({ errors: [{ code: 'ANCHOR_NOT_FOUND', message: 'There is no row.', hint: file }] });
  const noRow = JSON.parse((await call(answered(404, unproven))).result.content[0].text) as { readonly next: string };
  t.equal(noRow.next, 'Ask history for an instant of the day at which the listing has a row.');
  const scope = async (hint?: string): Promise<string> => {
    const text = JSON.stringify({ errors: [{ code: 'DQL_SCOPE', message: 'It has a value for each venue.', hint }] });
    return (JSON.parse((await call(answered(400, text))).result.content[0].text) as { readonly next: string }).next;
  };
  const inside = 'Put the field inside any(venues where ...).';
  t.equal(
    await scope('Write any(venues where ...) around the condition, or max(venues, ...) around the value.'),
    inside,
  );
  t.equal(await scope(), inside);
  t.equal(await scope('Order by max(venues, ...).'), 'Order by max(venues, ...).', 'no condition stands in a key');
  const hint = 'Use GET /v2/stream with layers=trade.';
  const text = JSON.stringify({ errors: [{ code: 'DQL_JSON_SCHEMA', message: 'It has no readings.', hint }] });
  const { result } = await call(answered(400, text));
  t.equal((JSON.parse(result.content[0].text) as { readonly next: string }).next, hint);
});

t.test('a key that the API does not accept is the answer to the whole request', async (t) => {
  const text = JSON.stringify({ errors: [{ code: 'AUTH_INVALID', message: 'The key is not valid.' }] });
  const { result, isUnauthorized } = await call(answered(401, text));
  t.match(result, { isError: true });
  t.equal(isUnauthorized, true);
});
