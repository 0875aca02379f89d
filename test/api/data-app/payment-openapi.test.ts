// What the OpenAPI document states of payments and of codes by status, compared with the rules and with real answers (E-06, P-01, P-06).
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { makeNamedOpenApi } from '../../../api/data-app/named-openapi.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { listOffers } from '../../../api/payments/offers.ts';
import { STREAM } from '../../../api/stream/request.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';

type Item = {
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly headers?: object }>>;
};
const ENDPOINTS = [...OPERATIONS, STREAM] as readonly Endpoint[];
const DOCUMENT = JSON.parse(
  JSON.stringify(makeNamedOpenApi({ operations: ENDPOINTS, baseUrl: 'http://api.test', simulated: false })),
);
const itemOf = ({ path, method }: Endpoint): Item => DOCUMENT.paths[path][method.toLowerCase()];
const codesOf = (endpoint: Endpoint, status: number): string[] =>
  itemOf(endpoint).responses[status]?.description.split(', ') ?? [];

const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
ajv.addSchema(DOCUMENT, 'document');
const faults = (name: string, value: unknown): string => {
  const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` });
  return validate(value) ? '' : ajv.errorsText(validate.errors);
};

t.test('what is payable has the header that pays, its codes, and the headers of its answers', (t) => {
  for (const endpoint of ENDPOINTS) {
    const { security, responses } = itemOf(endpoint);
    const isPayable = endpoint.key === 'required' && endpoint.price !== null;
    const good = responses[endpoint.redirects ? 302 : 200];
    t.equal(
      security.some((one) => 'payment' in one),
      isPayable,
      endpoint.name,
    );
    t.equal(codesOf(endpoint, 400).includes('PAYMENT_MALFORMED'), isPayable, endpoint.name);
    t.equal(Object.keys(good?.headers ?? {}).includes('PAYMENT-RESPONSE'), isPayable, endpoint.name);
    t.same(
      Object.keys(responses[402]?.headers ?? {}),
      isPayable ? ['X-Service-Receipt', 'PAYMENT-REQUIRED', 'PAYMENT-RESPONSE'] : [],
      endpoint.name,
    );
    t.equal('x-plan-purchase' in itemOf(endpoint), isPayable, endpoint.name);
  }
  t.match(DOCUMENT.components.securitySchemes.payment, { type: 'apiKey', in: 'header', name: 'PAYMENT-SIGNATURE' });
  t.end();
});

t.test('every member of an offer is described', (t) => {
  const token = { name: 'USD Coin', version: '2' };
  const terms = { network: 'eip155:8453', asset: '0x8335', payTo: '0x7099', token };
  const { properties } = DOCUMENT.components.schemas.PaymentOffer;
  for (const offer of listOffers(terms, { amount: 5_000, class: 'snapshots' })) {
    t.equal(faults('PaymentOffer', offer), '');
    t.same(Object.keys(offer), Object.keys(properties));
    for (const name of Object.keys(offer.extra)) t.ok(name in properties.extra.properties, name);
  }
  t.end();
});

t.test('a list of faults of plan and limits may have codes of both statuses (E-01 step 8)', (t) => {
  const mixed = ENDPOINTS.filter(
    (endpoint) => codesOf(endpoint, 403).length > 0 && codesOf(endpoint, 400).includes('DQL_COMPLEXITY'),
  );
  t.ok(mixed.some(({ name }) => name === 'candles'));
  for (const endpoint of mixed) {
    t.ok(codesOf(endpoint, 403).includes('DQL_LIMIT'), endpoint.name);
    t.match(codesOf(endpoint, 403)[0], /^PLAN_/, `${endpoint.name}: what gives the status is first`);
    t.ok(codesOf(endpoint, 400).includes('PLAN_LIMIT'), endpoint.name);
  }
  t.end();
});

t.test('a real 402 is as the document describes it, and the code of an answer is listed with its status', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  for (const endpoint of ENDPOINTS.filter(({ key, price }) => key === 'required' && price !== null)) {
    if (endpoint.path.includes('{')) continue;
    const ask = (headers: Record<string, string>) =>
      app.inject({ method: endpoint.method, url: endpoint.path, headers });
    const challenge = await ask({});
    t.equal(challenge.statusCode, 402, endpoint.name);
    t.equal(faults('PaymentRequired', challenge.json()), '', endpoint.name);
    // Without a facilitator a payment is not looked at.
    const unread = await ask({ 'payment-signature': '!!' });
    t.equal(unread.statusCode, 503, endpoint.name);
    t.ok(codesOf(endpoint, 503).includes(unread.json().errors[0].code), endpoint.name);
  }
});

t.test('the answer to a bought plan has its members (P-06)', (t) => {
  const answer = {
    purchase: { plan: 'mini', key: 'sk_x', key_id: 'key_x', expires_at: '2026-02-14T12:00:00.000Z' },
    settlement: { success: true, transaction: '0x', network: 'eip155:8453', payer: '0x' },
    receipt_id: 'rcp_x',
  };
  t.equal(faults('PlanPurchase', answer), '');
  t.not(faults('PlanPurchase', { ...answer, receipt_id: undefined }), '');
  const failed = { success: false, errorReason: 'insufficient_funds', transaction: '', network: 'x', payer: 'y' };
  t.equal(faults('PaymentSettlement', failed), '');
  t.end();
});
