// Values that a URL has no text for: told as a body with them would be, never sent as a word that looks like them (T-02, T-05, D-695).
import t, { type Test } from 'tap';
import { market } from '../../support/apps/live-fixture.ts';
import { connectClient, startToolService } from '../../support/apps/tool-fixture.ts';

type Failure = {
  readonly code: string;
  readonly errors: readonly { readonly message: string; readonly path?: string }[];
};
const ROW = { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark', at: '2026-01-10T12:00:00Z' };

const openCalls = async (t: Test) => {
  const client = await connectClient(t, await startToolService(t, market()), { era: 'modern' });
  return async (name: string, args: Record<string, unknown>): Promise<Failure> => {
    const { isError, content } = await client.callTool({ name, arguments: args });
    t.ok(isError, `${name} ${JSON.stringify(args).slice(0, 100)}`);
    const [part] = content;
    return JSON.parse(part?.type === 'text' ? part.text : '') as Failure;
  };
};

t.test('null and objects are no texts, nor are lists of them', async (t) => {
  const fail = await openCalls(t);
  for (const [name, args, path, message] of [
    ['anchor_proof', { ...ROW, symbol: null }, '/symbol', '"symbol" is null, not a string.'],
    ['anchor_proof', { ...ROW, symbol: { a: 1 } }, '/symbol', '"symbol" is an object, not a string.'],
    ['anchor_proof', { ...ROW, symbol: [null] }, '/symbol', '"symbol" is a list, not a string.'],
    ['anchor_proof', { ...ROW, seq: null }, '/seq', '"seq" is null, not a whole number.'],
    ['instruments', { cursor: null }, '/cursor', '"cursor" is null, not a string.'],
    ['instruments', { limit: {} }, '/limit', '"limit" is an object, not a whole number.'],
    ['instruments', { units: [['base']] }, '/units', '"units" is a list, not one of its values.'],
    ['instruments', { where: null }, '/where', '"where" is null, not a string or an object.'],
    ['instruments', { where: 5 }, '/where', '"where" is 5, not a string or an object.'],
    ['instruments', { where: ['base = BTC'] }, '/where', '"where" is a list, not a string or an object.'],
    ['agent_state', { rule_id: [null] }, '/rule_id/0', '"rule_id/0" is null, not a string.'],
    ['agent_state', { fresh: {} }, '/fresh', '"fresh" is an object, not true or false.'],
  ] as const) {
    const { code, errors } = await fail(name, args);
    t.equal(code, 'DQL_JSON_SCHEMA');
    t.match(errors, [{ message, path }]);
  }
  const { errors } = await fail('instruments', { units: null, where: { venues: 'okx' }, limit: null });
  t.same(
    errors.map(({ path }) => path),
    ['/limit', '/units', '/where/venues'],
    'told together',
  );
});

t.test('a member that no endpoint has is the fault, whatever its value', async (t) => {
  const fail = await openCalls(t);
  for (const value of [null, {}, [null]])
    t.match(await fail('venues', { colour: value }), { errors: [{ path: '/colour' }] });
});

t.test('what is larger than the head of a request is refused in one word', async (t) => {
  const fail = await openCalls(t);
  const { errors } = await fail('agent_state', { rule_id: Array(20_000).fill(null) });
  t.match(errors, [{ message: 'The URL and headers are larger than 16 KiB.' }]);
});

/** Of newer engines than the library of types knows. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

t.test('a number has a text, also one that no double holds', async (t) => {
  const client = await connectClient(t, await startToolService(t, market()), { era: 'modern' });
  const args = { limit: rawJSON('12345678901234567890') };
  const { isError, content } = await client.callTool({ name: 'instruments', arguments: args });
  t.notOk(isError, JSON.stringify(content));
});
