// The reasons for which a payment is refused, as in a 402 (P-03). Facilitators spell the same reasons differently.

export const REASONS = [
  'insufficient_funds',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_network',
  'invalid_asset',
  'already_presented',
  'payer_blocked',
] as const;
export type Reason = (typeof REASONS)[number];

/** Spellings of the library 2.27 and of the specification that differ from ours. */
const SPELLINGS: Readonly<Record<string, Reason>> = {
  invalid_exact_evm_insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_payload_insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_authorization_valid_after: 'invalid_exact_evm_payload_authorization_valid_after',
  invalid_exact_evm_authorization_valid_before: 'invalid_exact_evm_payload_authorization_valid_before',
  invalid_exact_evm_authorization_value: 'invalid_exact_evm_payload_authorization_value_mismatch',
  invalid_exact_evm_payload_authorization_value: 'invalid_exact_evm_payload_authorization_value_mismatch',
  invalid_exact_evm_signature: 'invalid_exact_evm_payload_signature',
  invalid_exact_evm_failed_to_parse_signature: 'invalid_exact_evm_payload_signature',
  invalid_exact_evm_recipient_mismatch: 'invalid_exact_evm_payload_recipient_mismatch',
  invalid_exact_evm_network_mismatch: 'invalid_network',
  invalid_exact_evm_asset_mismatch: 'invalid_asset',
  invalid_exact_evm_nonce_already_used: 'already_presented',
};

/** Reasons that mean our own configuration is wrong: answered 503, with an alarm. */
const OUR_FAULTS: ReadonlySet<string> = new Set([
  'invalid_exact_evm_token_name_mismatch',
  'invalid_exact_evm_token_version_mismatch',
  'invalid_exact_evm_missing_eip712_domain',
  'missing_eip712_domain',
  'invalid_exact_evm_eip3009_not_supported',
  'eip3009_not_supported',
  'asset_not_deployed_contract',
  'invalid_exact_evm_asset_not_deployed_contract',
  'invalid_payment_requirements',
  'unsupported_scheme',
  'invalid_scheme',
]);
/** Reasons unrelated to the payment: the facilitator could not check it. */
const NOT_LOOKED: ReadonlySet<string> = new Set(['unexpected_verify_error']);

/** A reason as it may be shown: free text of a facilitator never reaches a caller, and the 402 stays a header (P-01). */
const TOKEN = /^[a-z0-9_]{1,64}$/;

export type Verdict = { readonly refused: string } | 'misconfigured' | 'away';

/** What a facilitator's reason means. */
export const readReason = (reason: string | undefined): Verdict => {
  const given = reason ?? '';
  if (OUR_FAULTS.has(given)) return 'misconfigured';
  if (NOT_LOOKED.has(given)) return 'away';
  return { refused: toReason(given) };
};

/** The reason in our spelling. */
export const toReason = (given: string): string => {
  const known =
    REASONS.find((one) => one === given) ?? (Object.hasOwn(SPELLINGS, given) ? SPELLINGS[given] : undefined);
  return known ?? `facilitator_refused: ${TOKEN.test(given) ? given : 'unspecified'}`;
};

/** Reasons with which a facilitator ends before it sends anything to the chain. */
const BEFORE_SENDING: ReadonlySet<string> = new Set<string>([
  ...REASONS.filter((one) => one !== 'already_presented'),
  'facilitator_refused: invalid_exact_evm_transaction_simulation_failed',
  'facilitator_refused: invalid_payload',
]);
export const isBeforeSending = (said: string): boolean => BEFORE_SENDING.has(said);
