// Arguments far larger than any that the API takes: refused in few words, whatever a caller makes of them (E-05, T-04, D-177, D-511).
import t from 'tap';
import { market } from '../../support/apps/live-fixture.ts';
import { startToolService } from '../../support/apps/tool-fixture.ts';
import { sendThenRead } from '../../support/services/send-then-read.ts';

type Answered = {
  readonly result: {
    readonly content: [{ readonly text: string }];
    readonly _meta: { readonly 'http/status': number };
  };
};
type Failure = { readonly errors: readonly { readonly message: string; readonly path?: string }[] };

const call = (where: unknown) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'instruments', arguments: { where } },
});
const makeMembers = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, 0]));

t.test('a selection that is none has at most twenty faults', async (t) => {
  const { post } = await startToolService(t, market());
  for (const where of [makeMembers(3_000), { symbol: Array(9_000).fill({}) }]) {
    const { result } = (await (await post(call(where))).json()) as Answered;
    const [{ text }] = result.content;
    const { errors } = JSON.parse(text) as Failure;
    t.equal(result._meta['http/status'], 400);
    t.equal(errors.length, 20);
    t.ok(errors.every(({ path }) => path?.startsWith('/where/')));
    t.ok(text.length < 10_000);
  }
});

t.test('a selection of which no text fits a URL is refused as the URL would be', async (t) => {
  const { post } = await startToolService(t, market());
  const sent = [makeMembers(10_000), 'base = BTC or '.repeat(5_000)];
  const texts = [];
  for (const where of sent) {
    const { result } = (await (await post(call(where))).json()) as Answered;
    texts.push(result.content[0].text);
  }
  t.match(JSON.parse(texts[0] ?? ''), { errors: [{ message: 'The URL and headers are larger than 16 KiB.' }] });
  t.equal(texts[0], texts[1]);
});

t.test('a body larger than twenty messages is not read', async (t) => {
  const { post } = await startToolService(t, market());
  const large = await post(call(makeMembers(40_000)));
  t.equal(large.status, 413);
  const batch = Array.from({ length: 20 }, (_, id) => ({ ...call(`base = BTC${' '.repeat(15_000)}`), id }));
  const answers = (await (await post(batch)).json()) as unknown[];
  t.equal(answers.length, 20, 'a batch of twenty is');
});

t.test('a client that sends all of a body that is too large before it reads is answered, and goes on', async (t) => {
  const { mcpUrl, as } = await startToolService(t, market());
  const { port, host } = new URL(mcpUrl);
  const key = `Authorization: ${as('pro').authorization}`;
  const head = ['POST /mcp HTTP/1.1', `Host: ${host}`, key, 'Content-Type: application/json'];
  const next = '/.well-known/oauth-protected-resource';
  const answers = await sendThenRead({ port: Number(port), head, mebibytes: 24, next });
  t.match(answers, /^HTTP\/1\.1 413 .*-32600.*HTTP\/1\.1 200 /s);
});
