// Random messages of every kind to two tool servers, alone and in batches: a request is answered under its own id, anything else with a fault or not at
// all, and the same whatever came before it and wherever it stands (T-01).
import fc from 'fast-check';
import t from 'tap';
import { market } from '../../support/apps/live-fixture.ts';
import { startToolService } from '../../support/apps/tool-fixture.ts';

const METHODS = [
  ...['ping', 'resources/list', 'resources/read', 'resources/templates/list', 'tools/call', 'prompts/list'],
  ...['notifications/initialized', 'notifications/cancelled', 'notifications/progress', 'notifications/none'],
  ...[
    'logging/setLevel',
    'completion/complete',
    'subscriptions/listen',
    'server/discover',
    'nothing',
    '',
    5,
    undefined,
  ],
];
const id = fc.constantFrom(1, 0, -1, 'a', '', 2 ** 53, 1.5, null, undefined, true, {}, []);
const params = fc.constantFrom(
  ...[
    undefined,
    {},
    [],
    5,
    null,
    { cursor: '' },
    { cursor: 'x' },
    { uri: 'docs://none' },
    { uri: 5 },
    { name: 'none' },
  ],
  ...[
    { name: 'account', arguments: { a: 1 } },
    { requestId: 1 },
    { progressToken: 1, progress: 1 },
    { level: 'debug' },
  ],
  { _meta: { progressToken: 'p' } },
);
const jsonrpc = fc.constantFrom('2.0', '2.0', '2.0', '2.0', '1.0', undefined);
const message = fc.oneof(
  { weight: 8, arbitrary: fc.record({ jsonrpc, id, method: fc.constantFrom(...METHODS), params }) },
  { weight: 1, arbitrary: fc.record({ jsonrpc, id, result: fc.constantFrom({}, 1) }) },
  { weight: 1, arbitrary: fc.record({ jsonrpc, id, error: fc.constantFrom({ code: 1, message: 'm' }, 1) }) },
  { weight: 1, arbitrary: fc.constantFrom(5, 'x', null, true, {}) },
);

type Answer = { readonly status: number; readonly text: string };

/** A request of JSON-RPC with an id that MCP allows. */
const isRequest = (sent: unknown): sent is { readonly id: unknown } => {
  if (typeof sent !== 'object' || sent === null) return false;
  const { jsonrpc: version, method, id: given } = sent as Record<string, unknown>;
  return version === '2.0' && typeof method === 'string' && (typeof given === 'string' || Number.isInteger(given));
};

/** What is wrong with the answer to a message that was sent alone; null: nothing. */
const findFault = (sent: unknown, { status, text }: Answer): string | null => {
  if (status >= 500) return 'the server failed';
  if (text === '') return status === 202 && !isRequest(sent) ? null : 'it is not answered';
  const answer = JSON.parse(text) as { jsonrpc: string; id: unknown; result?: unknown; error?: unknown };
  if (answer.jsonrpc !== '2.0' || 'result' in answer === 'error' in answer) return 'it is answered with no message';
  if (!isRequest(sent)) return 'error' in answer ? null : 'it is answered though it is no request';
  return JSON.stringify(answer.id) === JSON.stringify(sent.id) ? null : 'it is answered under another id';
};

// More at a time: MESSAGE_RUNS=500 MESSAGE_SEED=7 node test/api/tool-app/messages.test.ts.
const how = { numRuns: Number(process.env.MESSAGE_RUNS ?? 6), seed: Number(process.env.MESSAGE_SEED ?? 1) };

t.test('a message is answered the same alone, again, by another server and in a batch', async (t) => {
  const services = [await startToolService(t, market()), await startToolService(t, market())] as const;
  const ask = async (server: 0 | 1, body: unknown): Promise<Answer> => {
    const answer = await services[server].post(JSON.stringify(body));
    return { status: answer.status, text: await answer.text() };
  };
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), async (messages) => {
      const alone: Answer[] = [];
      for (const one of messages) alone.push(await ask(0, one));
      for (const [i, one] of messages.entries()) {
        const [first, again] = [alone[i] as Answer, await ask(1, one)];
        const fault = first.text === again.text ? findFault(one, first) : `it is ${again.text} again`;
        if (fault !== null) throw new Error(`${JSON.stringify(one)}: ${fault}: ${first.status} ${first.text}`);
      }
      const texts = alone.flatMap(({ text }) => (text === '' ? [] : [text]));
      const batch = await ask(1, messages);
      if (batch.text !== (texts.length === 0 ? '' : `[${texts.join(',')}]`))
        throw new Error(
          `a batch of ${JSON.stringify(messages)} is answered by ${batch.text}, each alone by ${texts.join()}`,
        );
    }),
    how,
  );
  t.pass(`${how.numRuns} batches`);
});
