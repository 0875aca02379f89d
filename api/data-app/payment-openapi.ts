// The part of the OpenAPI document about payments: the header that replaces a key, the 402 and its headers, the answer to the purchase of a plan (P-01, P-06).
import type { Endpoint } from '../contract/endpoint.ts';

const makeText = (description: string) => ({ type: 'string', description });
const makeObject = (properties: Readonly<Record<string, unknown>>, required = Object.keys(properties)) => ({
  type: 'object',
  required,
  properties,
});

const OFFER = makeObject({
  scheme: { const: 'exact' },
  network: makeText('Chain of the token, such as `eip155:8453`.'),
  amount: makeText('Atomic units of the token: `5000` is 0.005 USDC.'),
  asset: makeText('Contract of the token.'),
  payTo: makeText('Address that is paid.'),
  maxTimeoutSeconds: {
    type: 'integer',
    description: 'Seconds for which the payment is to be valid. The service accepts one that expires in 20 to 360 s.',
  },
  extra: {
    ...makeObject(
      {
        name: makeText('Name in the EIP-712 domain of the token.'),
        version: makeText('Version in that domain.'),
        kind: { type: 'string', enum: ['call', 'plan'] },
        class: makeText('Price class; only of the kind `call`.'),
        plan: makeText('Code of the plan; only of the kind `plan`.'),
      },
      ['name', 'version', 'kind'],
    ),
    description: 'The kind `call` pays for this call; the kind `plan` buys a plan.',
  },
});

export const PAYMENT_SCHEMAS = {
  PaymentOffer: OFFER,
  PaymentRequired: {
    ...makeObject({
      x402Version: { const: 2 },
      error: makeText('Why the payment is refused, or that none was sent.'),
      resource: makeObject({ url: { type: 'string' }, description: { type: 'string' }, mimeType: { type: 'string' } }),
      accepts: {
        type: 'array',
        items: { $ref: '#/components/schemas/PaymentOffer' },
        description: 'First the price of this call, then each plan by price. Sign one of them.',
      },
      errors: { type: 'array', minItems: 1, items: { $ref: '#/components/schemas/ErrorItem' } },
      extensions: { type: 'object', description: 'How the call is made, for directories of paid services (`bazaar`).' },
    }),
    description: 'What the call costs and how it is paid (x402 version 2).',
  },
  PaymentSettlement: makeObject(
    {
      success: { type: 'boolean' },
      errorReason: makeText('Why the settlement failed; absent when it succeeded.'),
      transaction: makeText('Hash of the transaction; empty when the settlement failed.'),
      network: { type: 'string' },
      payer: { type: 'string' },
    },
    ['success', 'transaction', 'network', 'payer'],
  ),
  PlanPurchase: {
    ...makeObject({
      purchase: makeObject({
        plan: { type: 'string' },
        key: makeText('The key. It is shown only once.'),
        key_id: { type: 'string' },
        expires_at: { type: 'string', format: 'date-time' },
      }),
      settlement: { $ref: '#/components/schemas/PaymentSettlement' },
      receipt_id: makeText('Receipt of the payment.'),
    }),
    description: 'Answer to a payment for a plan, in place of the answer of the endpoint.',
  },
};

export const PAYMENT_SECURITY = {
  payment: {
    type: 'apiKey',
    in: 'header',
    name: 'PAYMENT-SIGNATURE',
    description:
      'A signed entry of `accepts` of the 402, as JSON in base64 (x402 version 2), at most 8,192 characters.',
  },
};

/** A header of an answer. */
export const makeHeader = (description: string) => ({ description, schema: { type: 'string' } });
const RESPONSE = 'PaymentSettlement as JSON in base64';

const isPayable = ({ key, price }: Endpoint): boolean => key === 'required' && price !== null;

/** The credentials of an endpoint: alternatives. */
export const listSecurity = (endpoint: Endpoint): Record<string, never[]>[] =>
  endpoint.key === 'open' ? [{}, { key: [] }] : [{ key: [] }, ...(isPayable(endpoint) ? [{ payment: [] }] : [])];

/** Additional parts of a payable operation. */
export const planAnswer = (endpoint: Endpoint) =>
  isPayable(endpoint) ? { 'x-plan-purchase': { $ref: '#/components/schemas/PlanPurchase' } } : {};

/** Headers of a good answer that pay for something. */
export const makePaidHeaders = (endpoint: Endpoint) =>
  isPayable(endpoint)
    ? { 'PAYMENT-RESPONSE': makeHeader(`${RESPONSE}: of a payment for a plan, whose answer is PlanPurchase.`) }
    : {};

/** The 402; `common` are headers of every answer. */
export const makeChallengeResponse = (codes: string, common: Readonly<Record<string, object>>) => ({
  description: codes,
  headers: {
    ...common,
    'PAYMENT-REQUIRED': makeHeader('The body as JSON in base64.'),
    'PAYMENT-RESPONSE': makeHeader(`${RESPONSE}: of a payment for a plan that could not be settled.`),
  },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/PaymentRequired' } } },
});
