// Every example of docs/endpoints.md and every other block of the documentation, run as it is pasted, against the whole service on real engines
// and five simulated venues; test/e2e/local.test.ts runs them on the demo, where none may answer nothing. Blocks in Python run in clients/python/tests/test_readme.py, and here with DOCS_PYTHON=1 (pip fetches 90 MB).
import { spawn } from 'node:child_process';
import { ExactEvmScheme } from '@x402/evm';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import pg, { type Pool } from 'pg';
import t from 'tap';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import type { Endpoint } from '../../api/contract/endpoint.ts';
import { PLANS } from '../../api/contract/plans.ts';
import { OPERATIONS } from '../../api/operations/index.ts';
import type { Operation } from '../../api/operations/operation.ts';
import { receipt } from '../../api/operations/receipt.ts';
import { STREAM } from '../../api/stream/request.ts';
import { ARCHIVED_DAY, formatExampleCommand, INSTANTS } from '../../infra/dev/documents/endpoint-examples.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { findSchemaFaults } from '../support/documents/closed-schema.ts';
import {
  type Block,
  docsBlocks,
  type Language,
  type Place,
  placedSql,
  type Ran,
  RUN,
  runPython,
  runScript,
  runShell,
  settingsBefore,
} from '../support/documents/docs-blocks.ts';
import { fillPath } from '../support/documents/example-path.ts';
import { pythonWithClient } from '../support/python/python-venv.ts';
import { awaitSettled, exampleCall, startPaidService, TOP100_FILE } from '../support/services/paid-service.ts';
import { stockClient } from '../support/services/payment-world.ts';
import { type Api, until } from '../support/services/pipeline.ts';
import { parseFrames } from '../support/services/stream-client.ts';

/** A first minute must be over and its candle published. */
const PATIENCE_MS = 150_000;
const STREAM_MS = 30_000;

/** The payment that the example of receipts requests, of nobody on this chain. */
const addSettled = async (pool: Pool): Promise<void> => {
  const { receipt_id, transaction, network, payer, amount, class: of, settled_at } = receipt.example.output as Settled;
  const values = [receipt_id, transaction, network, payer, amount, of, settled_at];
  await pool.query(
    `insert into payment_ledger (receipt_id, transaction, network, payer, amount, class, settled_at, nonce, presented_at)
    values ($1, $2, $3, $4, $5, $6, $7, '', $7)`,
    values,
  );
};
type Settled = Readonly<Record<string, string>>;

/** Runs a command of the document in a shell with its variables set; ends when the command does or `isEnough`. */
const shell = async (
  api: Api,
  command: string,
  isEnough: (output: string) => boolean = () => false,
): Promise<string> => {
  const { PATH = '' } = process.env;
  const settings = command.includes('DAY') ? `${INSTANTS}\n${ARCHIVED_DAY}` : INSTANTS;
  const child = spawn('sh', ['-c', `${settings}\nexec ${command}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH, BASE: api.baseUrl, KEY: api.keys.pro, RECEIPT: String(receipt.example.input['receipt_id']) },
  });
  const limit = setTimeout(() => child.kill(), STREAM_MS);
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk;
    if (isEnough(output)) child.kill();
  }
  clearTimeout(limit);
  return output;
};

const withStatus = (command: string): string => command.replace(/^curl /, "curl -w '\\n%{http_code}' ");

type Reply = { readonly status: string; readonly answer: Record<string, unknown> };

const ask = async (api: Api, operation: Operation): Promise<Reply> => {
  const lines = (await shell(api, withStatus(formatExampleCommand(operation)))).split('\n');
  const status = lines.pop() ?? '';
  return { status, answer: JSON.parse(lines.join('\n')) as Record<string, unknown> };
};

/** Whether an answer has all that the example shows: every member, something like each row, the same statuses. */
const covers = (shown: unknown, answer: unknown, name = ''): boolean => {
  if (Array.isArray(shown)) {
    return Array.isArray(answer) && shown.every((one) => answer.some((other) => covers(one, other)));
  }
  if (typeof shown !== 'object' || shown === null) return name !== 'status' || shown === answer;
  if (typeof answer !== 'object' || answer === null) return false;
  const members = new Map<string, unknown>(Object.entries(answer));
  return Object.entries(shown).every(([n, member]) => members.has(n) && covers(member, members.get(n), n));
};

const mcpPort = String(await findFreePort());
const mcpUrl = `http://localhost:${mcpPort}/mcp`;
const service = await startPaidService(t, { MCP_URL: mcpUrl, MCP_PORT: mcpPort });
const { api, pool, world } = service;
await addSettled(pool);

/** A 302 where the operation redirects. */
const isGood = ({ redirects }: Operation, { status }: Reply): boolean => status === (redirects ? '302' : '200');

t.test('every example answers 200, in the shape its operation declares and with all that is shown of it', async (t) => {
  for (const operation of OPERATIONS) {
    const what = `${operation.name} answers all that its example shows`;
    const { status, answer } = await until(what, PATIENCE_MS, async () => {
      const reply = await ask(api, operation);
      // A service that cannot answer yet returns 503.
      if (reply.status === '503') return null;
      return !isGood(operation, reply) || covers(operation.example.output, reply.answer) ? reply : null;
    });
    t.ok(isGood(operation, { status, answer }), `${operation.name}: ${JSON.stringify(answer).slice(0, 300)}`);
    t.same(findSchemaFaults(operation, answer), [], `${operation.name} answers in its declared shape`);
  }
});

t.test('the example of the stream shows the picture, then what changes', async (t) => {
  const shown = parseFrames(STREAM.example.output);
  type Frames = typeof shown;
  const isShown = (events: Frames, { event, data }: Frames[number]): boolean =>
    events.some((other) => other.event === event && covers(data, other.data));
  // The first update may be one of a status: on a busy machine a mark can be stale for a moment.
  const isComplete = (output: string): boolean =>
    output.endsWith('\n\n') && shown.every((one) => isShown(parseFrames(output), one));
  const events = parseFrames(await shell(api, formatExampleCommand(STREAM), isComplete));
  t.same(
    [...new Set(events.map(({ event }) => event))],
    shown.map(({ event }) => event),
  );
  for (const one of shown) t.ok(isShown(events, one), `${one.event} has all that is shown of it`);
});

const buyerKey = generatePrivateKey();
await world.mint(privateKeyToAddress(buyerKey), 1_000_000n);

const place: Place = {
  ...{ base: api.baseUrl, mcp: mcpUrl, key: api.keys.pro_plus },
  ...{ brokers: service.endpoints.kafka, namespace: service.namespace },
  ...{ buyer: buyerKey, receipt: String(receipt.example.input['receipt_id']) },
};
const blocks = docsBlocks();
/** Those of one language, by their number; examples of endpoints have run above, each with the answer that its page shows. */
const ranAbove = new Set([...OPERATIONS, STREAM].map((endpoint) => `${formatExampleCommand(endpoint as Endpoint)}\n`));
const toRun = (language: Language): readonly Block[] =>
  blocks.filter((block) => block.language === language && !ranAbove.has(block.text));
const firstLine = ({ page, text }: Block): string => `${page}: ${text.trim().split('\n')[0]}`;

/** Null while it answers less than its page shows, or knows nothing of a minute ago, as a service that has just begun. */
const answered = ({ shown }: Block, ran: Ran): Ran | null => {
  if (ran.output.includes('"DQL_AS_OF_RANGE"')) return null;
  return shown === null || covers(shown, JSON.parse(ran.output.trim().split('\n').at(-1) ?? '')) ? ran : null;
};

t.test('every shell block of the documentation runs as it is pasted', async (t) => {
  for (const block of toRun('sh')) {
    const ran = await until(`${firstLine(block)} answers all that is shown`, PATIENCE_MS, async () =>
      answered(block, await runShell(block, settingsBefore(block, blocks), place)),
    );
    t.equal(ran.code, 0, `${firstLine(block)} ${ran.errors}`);
    t.notMatch(ran.output, '{"errors"', firstLine(block));
    if (/^curl|\bperp\b/m.test(block.text) && block.shown === null) t.not(ran.output, '', firstLine(block));
  }
});

t.test('every program in JavaScript and TypeScript runs and prints something', async (t) => {
  for (const block of [...toRun('js'), ...toRun('ts')]) {
    const { code, output, errors } = await runScript(block, place);
    t.equal(code, 0, `${firstLine(block)} ${errors}`);
    t.not(output, '', firstLine(block));
  }
});

t.test('every query is answered', async (t) => {
  for (const block of toRun('dql')) {
    // This service has one base.
    const query = block.text
      .trim()
      .replaceAll('(BTC, ETH)', '(BTC)')
      .replaceAll(/\bETH\b/g, 'BTC');
    const { instruments } = await api.post<{ instruments: unknown }>('/v2/screen', { query });
    t.ok(Array.isArray(instruments), firstLine(block));
  }
});

t.test('every statement in SQL is answered to the analysts’ user', async (t) => {
  const { questdb_pg: address, questdb_readonly_user: user, questdb_readonly_password: password } = service.endpoints;
  const client = new pg.Client({
    connectionString: Object.assign(new URL(address), { username: user, password }).href,
  });
  await client.connect();
  t.teardown(() => client.end());
  for (const block of toRun('sql')) {
    const { fields } = await client.query(placedSql(block, place));
    t.ok(fields.length > 0, firstLine(block));
  }
});

t.test('every block has a language that decides whether it runs, and all those that do have run', async (t) => {
  const python = toRun('python');
  if (process.env['DOCS_PYTHON'] === '1') {
    const home = await pythonWithClient('docs', [
      'httpx2',
      'pandas',
      'pyarrow',
      'polars',
      'matplotlib',
      'confluent-kafka[avro,schemaregistry]',
    ]);
    for (const [page, own] of Map.groupBy(python, (block) => block.page)) {
      const { code, errors } = await runPython(own, home, place);
      t.equal(code, 0, `${page} in Python: ${errors}`);
    }
  }
  for (const [language, all] of Map.groupBy(blocks, (block) => block.language)) {
    const above = all.length - toRun(language).length;
    t.comment(`${language}: ${all.length} blocks${above === 0 ? '' : `, ${above} of them as examples of endpoints`}`);
  }
  for (const language of RUN)
    t.ok(
      blocks.some((block) => block.language === language),
      `the documentation has ${language}`,
    );
  t.equal(
    ranAbove.size,
    new Set(blocks.map(({ text }) => text).filter((text) => ranAbove.has(text))).size,
    'each endpoint has its example on its page',
  );
});

t.test(
  'the stock client buys the example of every payable endpoint and each plan; chain, ledger and answers agree',
  async (t) => {
    const buyer = await world.newBuyer();
    const before = await world.balanceOf(buyer.address);
    // A program of the documentation has paid, too.
    await awaitSettled(pool, privateKeyToAddress(buyerKey));
    const held = await world.balanceOf(world.payTo);
    /** In the order of their calls: the receipt of the answer, what was bought and its price. */
    const answered: object[] = [];
    const priced = OPERATIONS.filter(({ price }) => price !== null);
    const calls = priced.map((operation) => ({ ...operation, ...exampleCall(operation) }));
    const file = calls.find(({ redirects }) => redirects === true);
    if (file !== undefined) calls.push({ ...file, ...TOP100_FILE });
    for (const { name, method, path, body, redirects, price, class: bought } of calls) {
      const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(buyer)));
      const headers = { 'content-type': 'application/json' };
      const answer = await pay(`${api.baseUrl}${path}`, {
        method,
        redirect: 'manual',
        ...(body === null ? {} : { headers, body }),
      });
      t.equal(answer.status, redirects ? 302 : 200, `${name} with default settings`);
      t.equal(answer.headers.get('payment-response'), null);
      const receipt_id = answer.headers.get('x-service-receipt');
      answered.push({ receipt_id, state: 'settled', amount: String(price), bought });
      // Three may be unsettled.
      await awaitSettled(pool, buyer.address);
    }
    for (const { code, price_usd } of Object.values(PLANS).filter((plan) => plan.price_usd > 0)) {
      const amount = String(price_usd * 1_000_000);
      const pay = wrapFetchWithPayment(fetch, stockClient(buyer, amount));
      const answer = await pay(`${api.baseUrl}/v2/snapshots`, { method: 'POST' });
      t.equal(answer.status, 200, code);
      const { purchase, receipt_id } = (await answer.json()) as { purchase: { key: string }; receipt_id: string };
      const { success, payer } = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '');
      t.match({ success, payer }, { success: true, payer: buyer.address.toLowerCase() });
      const headers = { authorization: `Bearer ${purchase.key}` };
      const { plan } = (await (await fetch(`${api.baseUrl}/v2/account`, { headers })).json()) as {
        plan: { code: string };
      };
      t.equal(plan.code, code, 'the key is of the plan');
      answered.push({ receipt_id, state: 'settled', amount, bought: code });
    }
    const entries = await awaitSettled(pool, buyer.address);
    t.same(entries, answered, 'the ledger has the answers given');
    const spent = entries.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    t.equal(before - (await world.balanceOf(buyer.address)), spent, 'the buyer has paid the ledger');
    t.equal((await world.balanceOf(world.payTo)) - held, spent, 'and the receiver has it');
    for (const { receipt_id, amount, bought } of entries) {
      const receipt = await (await fetch(`${api.baseUrl}/v2/receipts/${receipt_id}`)).json();
      t.match(receipt, { receipt_id, state: 'settled', amount, class: bought, transaction: /^0x[0-9a-f]{64}$/ });
    }
  },
);

t.test('HEAD answers wherever GET does', async (t) => {
  for (const { path, method, key, redirects, example, input } of [...OPERATIONS, STREAM] as readonly Endpoint[]) {
    if (method !== 'GET') continue;
    const headers = key === 'open' ? {} : { authorization: `Bearer ${api.keys.pro_plus}` };
    const filled = fillPath(path, example.input);
    const { required = [] } = input as { readonly required?: readonly string[] };
    const needed = required.filter((name) => !path.includes(`{${name}}`));
    const query = new URLSearchParams(needed.map((name): [string, string] => [name, String(example.input[name])]));
    const answer = await fetch(`${api.baseUrl}${filled}?${query}`, { method: 'HEAD', headers, redirect: 'manual' });
    t.equal(answer.status, redirects ? 302 : 200, `HEAD ${path}`);
    t.equal(await answer.text(), '', `HEAD ${path} has no body`);
  }
});
