// GET /v2/receipts/{receipt_id}: what became of the payment of one call (P-10).
import Type, { type Static } from 'typebox';
import { makeServiceError, makeUnavailable } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { CROCKFORD } from '../contract/crockford.ts';
import { NullableInstant, NullableText } from '../contract/parameters.ts';
import { clip } from '../contract/sent-text.ts';
import answer from './examples/receipt.json' with { type: 'json' };
import { type Answer, type Context, defineOperation } from './operation.ts';

/** The database is not queried for a text that no receipt matches. */
const RECEIPT = new RegExp(`^rcp_${CROCKFORD}$`);
const STATES = ['presented', 'verified', 'served', 'settling', 'settled', 'failed', 'unknown'] as const;

const Input = Type.Object(
  {
    receipt_id: Type.String({
      description: 'Header `X-Service-Receipt` of the paid answer.',
      examples: ['rcp_01KEZ8G3M4T5V6W7X8Y9Z0A1B2'],
    }),
  },
  { additionalProperties: false },
);

const Output = Type.Object({
  receipt_id: Type.String(),
  state: Type.Enum([...STATES]),
  network: Type.String(),
  payer: Type.String(),
  amount: Type.String(),
  class: Type.String(),
  transaction: NullableText,
  settled_at: NullableInstant,
});

const refuseForNow = (): never => {
  throw makeUnavailable('Receipts cannot be read now.');
};

const run = async ({ receipt_id: receiptId }: Static<typeof Input>, { receipts }: Context): Promise<Answer> => {
  const found = RECEIPT.test(receiptId) ? await receipts.find(receiptId).catch(refuseForNow) : null;
  if (found === null) {
    throw makeServiceError('NOT_FOUND', `No payment has the receipt "${clip(receiptId)}".`, {
      hint: 'Send X-Service-Receipt of a paid answer.',
    });
  }
  const { settledAt, ...receipt } = found;
  return {
    body: {
      receipt_id: receiptId,
      ...receipt,
      settled_at: settledAt === null ? null : formatInstant(settledAt.getTime() * 1_000),
    },
    numberFormat: 'json',
  };
};

export const receipt = defineOperation({
  name: 'receipt',
  method: 'GET',
  path: '/v2/receipts/{receipt_id}',
  key: 'open',
  class: 'receipt',
  price: null,
  cacheS: null,
  summary: 'Outcome of the payment of one call.',
  input: Input,
  output: Output,
  codes: ['NOT_FOUND'],
  example: {
    question: 'Was the payment of this call settled, and by which transaction?',
    input: { receipt_id: 'rcp_01KEZ8G3M4T5V6W7X8Y9Z0A1B2' },
    output: answer,
  },
  run,
});
