// One call as the checks process it: what was sent, what it costs, what the checks grant, and the refusal that is sent.
import type { IncomingHttpHeaders } from 'node:http';
import type { ApiError } from '../../schemas/errors.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import type { Account } from './key-store.ts';

export type Lease = (status: number) => void;

export type Call = {
  readonly operation: Endpoint;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  /** Parameters of the path, and the path as it was sent. */
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  readonly address: string;
  readonly receiptId: string;
  readonly nowMs: number;
  /** Set by the credentials step: the key, or what the call costs without one. */
  account: Account | null;
  price: Price | null;
  /** Set by the payment step. */
  payment: Payment | null;
  /** The resources that the limits grant this call; each is ended once, with the status of the answer. */
  readonly leases: { request: Lease | null; stream: Lease | null; quota: Lease | null };
};

/** What one call costs, in atomic USDC. */
export type Price = { readonly amount: number; readonly class: string; readonly path: string };

/** A refusal as it is sent; the first step that refuses answers the call. */
export type Refused = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly errors: readonly ApiError[] };
};

/** The outcome of sending an answer: `cut` when not all of its bytes were sent, or when its status is not charged. */
export type AnswerEnd = 'whole' | 'cut';

/** A payment for this call that was presented (E-01 step 4). */
export type CallPayment = {
  readonly buys: 'call';
  /** Address that pays, lower case. */
  readonly payer: string;
  /** Step 9, once the request was found valid. A refusal locks nothing. */
  readonly take: () => Promise<Refused | null>;
  /**
   * Step 11: charges a complete answer; for any other end it releases the payment, which may be presented again. A call that was not admitted
   * has no end, and only the first end counts. Never rejects.
   */
  readonly end: (left: AnswerEnd) => Promise<void>;
};

/** The answer to the purchase of a plan; `end` is called once with how it left. */
export type PlanAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
  readonly end?: (left: AnswerEnd) => Promise<void>;
};

/** A payment for a plan: only the payment of the request is checked (P-06). */
export type PlanPayment = { readonly buys: 'plan'; readonly buy: () => Promise<PlanAnswer> };
export type Payment = CallPayment | PlanPayment;

/** What the checks know of payments. */
export type PaymentChecks = {
  /** Step 3: what to pay, or that the address has sent too many requests. */
  readonly challenge: (call: Call, price: Price) => Refused;
  /** Step 4: the header has the shape of a payment that may be presented now. */
  readonly present: (call: Call, price: Price) => Promise<Payment | Refused>;
};

export const isRefused = (outcome: Payment | Refused): outcome is Refused => 'status' in outcome;
