// The 402 challenge of every payable endpoint, read by the libraries that clients and catalogues read it with (P-01, N-13).
import { readFileSync } from 'node:fs';
import {
  extractDiscoveryInfo,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import type { Call } from '../../../api/access/call.ts';
import type { ArchiveManifest } from '../../../api/contract/archive.ts';
import { PLANS } from '../../../api/contract/plans.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { makeChallengeAnswer } from '../../../api/payments/challenge.ts';
import { ChallengeMeter } from '../../../api/payments/challenge-meter.ts';
import { REASONS, toReason } from '../../../api/payments/reasons.ts';
import { market, TERMS, testApp } from '../../support/apps/live-fixture.ts';
import { fillPath } from '../../support/documents/example-path.ts';

const PAYABLE = OPERATIONS.filter(({ price }) => price !== null);
const MOST_CHARACTERS = 4_096;
/** The buffer for the headers of an answer that docs/deployment.md asks of a proxy. */
const MANUAL = readFileSync(new URL('../../../docs/deployment.md', import.meta.url), 'utf8');
const PROXY_BUFFER = Number(/`proxy_buffer_size (\d+)k`/.exec(MANUAL)?.[1]) * 1_024;
/** As long as addresses of services get. */
const BASE_URL = 'https://market-data.staging.europe-west.example.com';

/** Every requested file exists, at the price of the core tier. */
const ONE_FILE = {
  list: async () => [],
  find: async () => ({ tier: 'core' }),
} as unknown as ArchiveManifest;

type Bazaar = {
  readonly info: { readonly input: Readonly<Record<string, unknown>>; readonly output: object };
  readonly schema: {
    readonly $schema: string;
    readonly properties: { readonly input: { readonly properties: Readonly<Record<string, unknown>> } };
  };
};
type Challenge = {
  readonly accepts: readonly { readonly amount: string; readonly payTo: string }[];
  readonly extensions: { readonly bazaar: Bazaar };
};

/** Members of an input by their position in a request. */
const listPlaces = (method: string, path: string, names: readonly string[]): Readonly<Record<string, string[]>> => {
  if (method === 'POST') return { body: [...names] };
  const isInPath = (name: string): boolean => path.includes(`{${name}}`);
  const [pathParams, queryParams] = [names.filter(isInPath), names.filter((name) => !isInPath(name))];
  return pathParams.length === 0 ? { queryParams } : { pathParams, queryParams };
};

t.test('the challenge of every payable endpoint fits a header and describes the call', async (t) => {
  const { app } = await testApp(market(), { baseUrl: BASE_URL, manifest: ONE_FILE });
  t.teardown(() => app.close());
  t.ok(PAYABLE.length >= 4);
  for (const { method, path, input, example, price } of PAYABLE) {
    const answer = await app.inject({ method, url: fillPath(path, example.input) });
    t.equal(answer.statusCode, 402, path);
    const header = String(answer.headers['payment-required']);
    t.ok(header.length <= MOST_CHARACTERS, `${path}: ${header.length} characters`);
    const bytes = Object.entries(answer.headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('').length;
    t.ok(bytes > header.length && bytes <= PROXY_BUFFER, `${path}: ${bytes} bytes of headers`);
    t.match(header, /^[A-Za-z0-9+/]+={0,2}$/, 'base64 of the standard alphabet');
    t.equal(Buffer.from(header, 'base64').toString(), answer.body, 'header and body are the same bytes');
    const { accepts, extensions } = answer.json<Challenge>();
    const plans = Object.values(PLANS).filter((plan) => plan.price_usd > 0);
    t.same(
      accepts.map(({ amount }) => Number(amount)),
      [price, ...plans.map((plan) => plan.price_usd * 1_000_000)],
    );
    const { bazaar } = extensions;
    t.same(validateDiscoveryExtension(bazaar as never), { valid: true }, path);
    t.same(validateDiscoveryExtensionSpec(bazaar as never), { valid: true }, path);
    const names = Object.keys((input as { readonly properties?: object }).properties ?? {});
    const places = listPlaces(method, path, names);
    t.match(bazaar.info.input, { type: 'http', method });
    const given = Object.entries(places).map(([place]) => bazaar.info.input[place] ?? {});
    t.same(Object.assign({}, ...given), example.input, 'each member of the example in its place');
    t.equal(bazaar.schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
    const isDescribed = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(bazaar.schema);
    t.ok(isDescribed(bazaar.info), JSON.stringify(isDescribed.errors));
    const described = bazaar.schema.properties.input.properties as Record<string, { properties?: object }>;
    for (const [place, members] of Object.entries(places)) {
      t.same(Object.keys(described[place]?.properties ?? {}), members, `${place}: every member, no other`);
      const misspelt = { ...bazaar.info.input, [place]: { colour: 'red' } };
      t.equal(isDescribed({ ...bazaar.info, input: misspelt }), false, `${place}: the members are pinned`);
    }
    const other = { ...bazaar.info.input, method: method === 'POST' ? 'PUT' : 'POST' };
    t.notOk(isDescribed({ ...bazaar.info, input: other }), 'the method is pinned');
  }
});

t.test('a catalogue lists all paths of an endpoint as one entry', async (t) => {
  const { app } = await testApp(market(), { baseUrl: BASE_URL, manifest: ONE_FILE });
  t.teardown(() => app.close());
  for (const { method, path, example } of PAYABLE) {
    const { resource, extensions } = (await app.inject({ method, url: fillPath(path, example.input) })).json();
    const listed = extractDiscoveryInfo({ x402Version: 2, resource, extensions } as never, {} as never);
    t.match(listed, { resourceUrl: `${BASE_URL}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, method }, path);
  }
});

t.test('the longest reason of a refusal fits a header too', async (t) => {
  const longest = toReason('x'.repeat(64));
  t.match(longest, /^facilitator_refused: x{64}$/);
  t.equal(toReason('x'.repeat(65)), 'facilitator_refused: unspecified', 'free text is none');
  const deps = { terms: TERMS, baseUrl: BASE_URL, challenges: new ChallengeMeter() };
  for (const operation of PAYABLE) {
    const { price, class: of, path } = operation;
    const call = { operation, address: '192.0.2.1', nowMs: 0 } as unknown as Call;
    const asked = { amount: price ?? 0, class: of, path };
    const { headers } = makeChallengeAnswer(call, asked, { error: longest, deps });
    const { length = 0 } = headers['payment-required'] ?? '';
    t.ok(length > 0 && length <= MOST_CHARACTERS, `${path}: ${length} characters`);
  }
});

t.test('a payment that is used, and a payer that is refused again, are not told to sign again', (t) => {
  const [operation] = PAYABLE;
  if (operation === undefined) throw new Error('no endpoint is payable');
  const deps = { terms: TERMS, baseUrl: BASE_URL, challenges: new ChallengeMeter() };
  const asked = { amount: 5_000, class: operation.class, path: operation.path };
  const call = { operation, address: '192.0.2.1', nowMs: 0 } as unknown as Call;
  const hints = new Map(
    [null, ...REASONS].map((error) => {
      const [fault] = makeChallengeAnswer(call, asked, { error, deps }).body.errors;
      return [error, fault?.hint ?? ''] as const;
    }),
  );
  t.match(hints.get(null), /^Send a key, or sign accepts\[0\]/);
  t.match(hints.get('already_presented'), /only for another call\.$/);
  t.match(hints.get('payer_blocked'), /^Send a key, or pay from another address/);
  t.match(hints.get('insufficient_funds'), /^Add USDC to the payer/);
  t.equal([...hints.values()].filter((hint) => hint === 'Sign a new payment and repeat the call.').length, 7);
  t.end();
});

t.test('the stock payment client reads the challenge and signs its first entry', async (t) => {
  const { app } = await testApp(market(), { baseUrl: BASE_URL, manifest: ONE_FILE });
  t.teardown(() => app.close());
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  for (const { method, path, price, example } of PAYABLE) {
    const answer = await fetch(`${address}${fillPath(path, example.input)}`, { method });
    const http = new x402HTTPClient(new x402Client());
    const required = http.getPaymentRequiredResponse((name) => answer.headers.get(name), await answer.json());
    t.equal(required.x402Version, 2);
    t.match(required.accepts[0], {
      scheme: 'exact',
      network: TERMS.network,
      amount: String(price),
      payTo: TERMS.payTo,
    });
    const signed: string[] = [];
    const client = new x402Client().register('eip155:8453', {
      scheme: 'exact',
      createPaymentPayload: async (x402Version, { amount }) => {
        signed.push(amount);
        return { x402Version, payload: { signature: '0x00', authorization: {} } };
      },
    });
    client.setSpendControls(false);
    // No payment is taken yet (503); what matters is what was signed and sent.
    const paid = await wrapFetchWithPayment(fetch, client)(`${address}${fillPath(path, example.input)}`, { method });
    t.same(signed, [String(price)], path);
    t.equal(paid.status, 503);
  }
});

t.test('a browser may send every header that clients send, and read every one that they read (N-13)', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const sent = ['Authorization', 'PAYMENT-SIGNATURE', 'Content-Type', 'Last-Event-ID', 'If-None-Match', 'X-PAYMENT'];
  const read = ['Retry-After', 'ETag', 'PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'X-Service-Receipt', 'X-Service-Limit'];
  const parseList = (header: unknown): string[] => String(header).toLowerCase().split(/, */);
  for (const { method, path } of OPERATIONS) {
    const wanted = [...sent, 'X-Service-Max-Bytes', 'Access-Control-Expose-Headers'];
    const origin = 'https://a.test';
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: path,
      headers: {
        ...{ origin, 'access-control-request-method': method },
        'access-control-request-headers': wanted.join(', '),
      },
    });
    t.match(preflight, { statusCode: 204, headers: { 'access-control-allow-origin': '*' } }, path);
    t.equal(preflight.headers['access-control-allow-credentials'], undefined);
    const allowed = parseList(preflight.headers['access-control-allow-headers']);
    t.same(
      wanted.filter((name) => !allowed.includes(name.toLowerCase())),
      [],
      path,
    );
    const answer = await app.inject({ method, url: path, headers: { origin } });
    const exposed = parseList(answer.headers['access-control-expose-headers']);
    t.same(
      read.filter((name) => !exposed.includes(name.toLowerCase())),
      [],
      path,
    );
    t.equal(answer.headers['access-control-allow-origin'], '*');
  }
});
