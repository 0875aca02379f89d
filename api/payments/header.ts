// The payment header both ways: base64 of JSON in, a payment of valid shape out; and settlements as headers (P-01, P-08).
import type { IncomingHttpHeaders } from 'node:http';
import Type, { type Static } from 'typebox';
import { isJsonObject } from '../../schemas/json-object.ts';
import { compileShape } from '../contract/shapes.ts';

/** Characters of a header that is decoded at all. */
const MOST_CHARACTERS = 8_192;
const STANDARD = /^[A-Za-z0-9+/]+={0,2}$/;
const URL_SAFE = /^[A-Za-z0-9_-]+={0,2}$/;

const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' });
/** BigInt('') is 0 and BigInt('0x10') is 16, so digits are required. */
const Digits = Type.String({ pattern: '^[0-9]{1,78}$' });
const Accepted = Type.Object({
  scheme: Type.String(),
  network: Type.String(),
  amount: Type.String(),
  asset: Type.String(),
  payTo: Type.String(),
  extra: Type.Optional(Type.Object({ kind: Type.Optional(Type.String()), plan: Type.Optional(Type.String()) })),
});
const Authorization = Type.Object({
  from: Address,
  to: Address,
  value: Digits,
  validAfter: Digits,
  validBefore: Digits,
  nonce: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }),
});
const Payment = Type.Object({
  x402Version: Type.Literal(2),
  accepted: Accepted,
  payload: Type.Object({
    signature: Type.String({ pattern: '^0x([0-9a-fA-F]{2})+$' }),
    authorization: Authorization,
  }),
});
const isPayment = compileShape(Payment);

export type Accepted = Static<typeof Accepted>;
/** Hex in lower case: the same authorisation has one spelling. */
export type SignedPayment = {
  /** What the caller copied from the challenge. It is not signed: it only identifies the entry. */
  readonly accepted: Accepted;
  readonly payload: { readonly signature: string; readonly authorization: Static<typeof Authorization> };
};
/** Why a header is no payment; a whole sentence. */
type Malformed = { readonly malformed: string };

const NOT_BASE64 = 'The payment header is not base64.';
const NOT_JSON = 'The payment header is not a JSON object in base64.';
const OTHER_SHAPE = 'The payment header does not have the shape of a version 2 exact payment.';

const decode = (text: string): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64')));
  } catch {
    return undefined;
  }
};

/** Faults that have a text of their own. */
const findFault = (sent: Readonly<Record<string, unknown>>): string | null => {
  if (sent.x402Version !== 2) return 'Use x402 version 2.';
  const { accepted, payload } = sent;
  if (isJsonObject(accepted) && accepted.scheme !== 'exact') return 'The scheme of the payment is not exact.';
  if (isJsonObject(payload) && 'permit2Authorization' in payload)
    return 'Permit2 is not accepted: sign an EIP-3009 transfer.';
  return isPayment(sent) ? null : OTHER_SHAPE;
};

const toPayment = ({ accepted, payload: { signature, authorization } }: Static<typeof Payment>): SignedPayment => {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return {
    accepted,
    payload: {
      signature: signature.toLowerCase(),
      authorization: {
        from: from.toLowerCase(),
        to: to.toLowerCase(),
        ...{ value, validAfter, validBefore },
        nonce: nonce.toLowerCase(),
      },
    },
  };
};

/** The payment of one header's text. */
export const decodePayment = (text: string): SignedPayment | Malformed => {
  if (text.length > MOST_CHARACTERS)
    return { malformed: `The payment header has more than ${MOST_CHARACTERS} characters.` };
  if (!STANDARD.test(text) && !URL_SAFE.test(text)) return { malformed: NOT_BASE64 };
  const sent = decode(text);
  if (!isJsonObject(sent)) return { malformed: NOT_JSON };
  const fault = findFault(sent);
  return fault === null ? toPayment(sent as Static<typeof Payment>) : { malformed: fault };
};

/** PAYMENT-SIGNATURE is read, else X-PAYMENT (P-08). Two headers of one name arrive joined, which is no base64. */
export const readPayment = (headers: IncomingHttpHeaders): SignedPayment | Malformed =>
  decodePayment(String(headers['payment-signature'] ?? headers['x-payment'] ?? ''));

type Settlement = {
  readonly success: boolean;
  readonly errorReason?: string;
  readonly transaction: string;
  readonly network: string;
  readonly payer: string;
};

/** `PAYMENT-RESPONSE`. */
export const encodeSettlement = (settlement: Settlement): string =>
  Buffer.from(JSON.stringify(settlement)).toString('base64');
