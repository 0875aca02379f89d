// Settings of payments: receiver, token, facilitator and chain.
import { type Config, ConfigError, type ConfigSpec, refuseSetting } from '../../infra/runtime/process/config.ts';
import { isJsonObject } from '../../schemas/json-object.ts';
import type { PaymentSettings } from './payments.ts';

export const PAYMENT_CONFIG = {
  PAYMENT_PAY_TO: {
    type: 'string',
    default: null,
    description: 'Address that receives payments; unset: nothing is sold per call.',
  },
  PAYMENT_NETWORK: { type: 'string', default: 'eip155:8453', description: 'CAIP-2 name of the payment network.' },
  PAYMENT_ASSET: {
    type: 'string',
    default: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    description: 'Token contract of payments (USDC).',
  },
  PAYMENT_TOKEN_NAME: { type: 'string', default: 'USD Coin', description: "Name in the token's EIP-712 domain." },
  PAYMENT_TOKEN_VERSION: { type: 'string', default: '2', description: "Version in the token's EIP-712 domain." },
  FACILITATOR_URL: {
    type: 'url',
    default: null,
    description: 'x402 facilitator that verifies and settles payments; unset: payments are answered with 503.',
  },
  FACILITATOR_HEADERS: {
    type: 'json',
    default: null,
    secret: true,
    description: 'Headers of every request to the facilitator, a JSON object of texts.',
  },
  PAYMENT_RPC_URL: {
    type: 'url',
    default: null,
    secret: true,
    description:
      'Node of the payment network, queried for the outcome of payments; unset: payments are answered with 503.',
  },
} as const satisfies ConfigSpec;

type PaymentConfig = Config<typeof PAYMENT_CONFIG>;

/** Shapes of the settings for the receiver and the token: a wrong one makes every signature wrong. */
const SHAPES = {
  PAYMENT_PAY_TO: /^0x[0-9a-fA-F]{40}$/,
  PAYMENT_ASSET: /^0x[0-9a-fA-F]{40}$/,
  PAYMENT_NETWORK: /^eip155:[1-9]\d{0,15}$/,
} as const;

const checkShapes = (config: PaymentConfig): void => {
  const faults = Object.entries(SHAPES).flatMap(([name, shape]) => {
    const given = config[name as keyof typeof SHAPES];
    return given === null || shape.test(given) ? [] : [`${name} must match ${shape.source}, found ${given}`];
  });
  if (faults.length > 0) throw new ConfigError(faults);
};

const isTexts = (given: unknown): given is Readonly<Record<string, string>> =>
  isJsonObject(given) && Object.values(given).every((value) => typeof value === 'string');

const readHeaders = (given: unknown): Readonly<Record<string, string>> => {
  if (given === null) return {};
  return isTexts(given) ? given : refuseSetting('FACILITATOR_HEADERS must be a JSON object of texts');
};

/** Throws ConfigError. */
export const readPaymentSettings = (config: PaymentConfig): Omit<PaymentSettings, 'baseUrl'> => {
  checkShapes(config);
  const { FACILITATOR_URL: url, FACILITATOR_HEADERS: headers, PAYMENT_RPC_URL: rpcUrl } = config;
  return {
    terms: {
      network: config.PAYMENT_NETWORK,
      asset: config.PAYMENT_ASSET,
      payTo: config.PAYMENT_PAY_TO,
      token: { name: config.PAYMENT_TOKEN_NAME, version: config.PAYMENT_TOKEN_VERSION },
    },
    facilitator: url === null ? null : { url, headers: readHeaders(headers) },
    rpcUrl,
  };
};
