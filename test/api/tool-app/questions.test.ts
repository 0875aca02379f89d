// Questions of traders, by the calls that answer them, and mistakes of models, by the result of `next`; on a market with a past (T-04, T-05).
// `QUESTIONS_MCP_URL` and `QUESTIONS_KEY` select a running service instead.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import t from 'tap';
import { MOST_BYTES } from '../../../api/tool-app/call-api.ts';
import { QUERIES } from '../../../api/tool-app/dql-page.ts';
import { NOW } from '../../support/apps/live-fixture.ts';
import { startToolService } from '../../support/apps/tool-fixture.ts';
import { ACCOUNTS, askedMarket, askedRows } from '../../support/apps/tool-market.ts';
import { type Ago, type ToolCall, traderQuestions, wrongCalls } from '../../support/documents/trader-questions.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);

const HOUR_MS = 3_600_000;
const agoFrom =
  (nowMs: number): Ago =>
  (hours) =>
    new Date((Math.floor(nowMs / HOUR_MS) - hours) * HOUR_MS).toISOString().replace('.000Z', 'Z');

type Service = { readonly mcpUrl: string; readonly key: string; readonly ago: Ago };

const startMarket = async (): Promise<Service> => {
  const { history, write } = await openTestStore(t, await useEngines(t, ['questdb']));
  await write(askedRows());
  const { mcpUrl, keys } = await startToolService(t, askedMarket(), { history, accounts: ACCOUNTS });
  return { mcpUrl, key: keys.pro_plus, ago: agoFrom(NOW / 1_000) };
};

const { QUESTIONS_MCP_URL: outside, QUESTIONS_KEY: outsideKey = '' } = process.env;
const service: Service =
  outside === undefined ? await startMarket() : { mcpUrl: outside, key: outsideKey, ago: agoFrom(Date.now()) };

const client = new Client({ name: 'questions', version: '1' });
await client.connect(
  new StreamableHTTPClientTransport(new URL(service.mcpUrl), {
    requestInit: { headers: { authorization: `Bearer ${service.key}` } },
  }),
);
t.teardown(() => client.close());
// The client checks answers against the schemas of tools it has listed.
await client.listTools();

type Called = { readonly isError: boolean; readonly text: string };
/** Waits for a limit of the key as long as the failure states. */
const call = async ([name, args]: ToolCall): Promise<Called> => {
  for (;;) {
    const { isError = false, content } = await client.callTool({ name, arguments: args });
    const [part] = content;
    const text = part?.type === 'text' ? part.text : '';
    if (!isError || !text.includes('"RATE_LIMITED"')) return { isError, text };
    const { retry_after } = JSON.parse(text) as { readonly retry_after: number };
    await new Promise((resolve) => setTimeout(resolve, retry_after * 1_000));
  }
};
const parseFailure = (text: string) =>
  JSON.parse(text) as { readonly code: string; readonly next: string; readonly retry: boolean };

t.test('fifty questions are answered by their first calls, each within the size of a model', async (t) => {
  const questions = traderQuestions(service.ago);
  t.equal(questions.length, 50);
  for (const { question, calls } of questions) {
    for (const one of calls) {
      const { isError, text } = await call(one);
      t.notOk(isError, `${question} ${isError ? text : ''}`);
      t.ok(Buffer.byteLength(text) <= MOST_BYTES, `${question} ${Buffer.byteLength(text)} bytes`);
    }
  }
});

t.test('fifty wrong calls are valid once `next` is followed', async (t) => {
  const wrong = wrongCalls(service.ago);
  t.equal(wrong.length, 50);
  for (const { call: made, code, next, corrected } of wrong) {
    const refused = await call(made);
    const name = `${made[0]} ${JSON.stringify(made[1])}`;
    const failure = refused.isError ? parseFailure(refused.text) : { code: 'none', next: '', retry: true };
    t.same([failure.code, failure.retry], [code, false], name);
    t.match(failure.next, next, name);
    const followed = await call(corrected);
    t.notOk(followed.isError, `${JSON.stringify(corrected[1])} ${followed.isError ? followed.text : ''}`);
  }
});

t.test('the ten queries of the page of the language run', async (t) => {
  for (const [question, query] of QUERIES) {
    const { isError, text } = await call(['screen', { query }]);
    t.notOk(isError, `${question} ${isError ? text : ''}`);
  }
});

t.test('the example in the description of each tool runs unchanged', async (t) => {
  const { tools } = await client.listTools();
  for (const { name, description = '' } of tools) {
    // A closed day and a rule are of one installation; those endpoints' own examples run in test/e2e/examples.test.ts.
    if (['account', 'anchor_proof', 'agent_state'].includes(name)) continue;
    const [, example = ''] = /^Example, .*?: (\{.*\})$/m.exec(description) ?? [];
    const args = JSON.parse(example) as Record<string, unknown>;
    // The clock of the market is fixed, that of the descriptions is not.
    const past =
      outside === undefined && Object.hasOwn(args, 'from') ? { from: service.ago(1), to: service.ago(0) } : {};
    const asOf = outside === undefined && Object.hasOwn(args, 'as_of') ? { as_of: service.ago(0) } : {};
    const { isError, text } = await call([name, { ...args, ...past, ...asOf }]);
    t.notOk(isError, `${name} ${isError ? text : ''}`);
  }
});
