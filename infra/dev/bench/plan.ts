// The plan of a bench: the options of its command line, read once and refused when they conflict.
import { parseArgs } from 'node:util';

type Shared = {
  readonly listings: number;
  /** Raw partitions, hence tasks. */
  readonly shards: number;
  /** File for the figures as JSON. */
  readonly json: string | null;
};

export type FigurePlan = Shared & {
  readonly kind: 'full' | 'quick' | 'profile';
  readonly rates: readonly number[];
  /** How long each rate is held. */
  readonly seconds: number;
  readonly faults: boolean;
};

export type SoakPlan = Shared & {
  readonly kind: 'soak';
  readonly minutes: number;
  readonly rate: number;
  /** Seconds from one kill to the next; 0 for none. */
  readonly killEvery: number;
  readonly replay: boolean;
};

export type Plan = FigurePlan | SoakPlan;

export class PlanError extends Error {
  override readonly name = 'PlanError';
}

const OPTIONS = {
  rates: { type: 'string' },
  seconds: { type: 'string' },
  listings: { type: 'string' },
  shards: { type: 'string', default: '1' },
  faults: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  profile: { type: 'boolean', default: false },
  minutes: { type: 'string' },
  rate: { type: 'string' },
  'kill-every': { type: 'string' },
  'no-replay': { type: 'boolean', default: false },
  json: { type: 'string' },
} as const;

/** Printed with a fault of the command line. */
export const USAGE = `npm run bench -- [--quick | --profile] [--rates 1000,3000,5000] [--seconds 20] [--faults]
npm run bench -- --minutes 60 [--rate 2000] [--kill-every 120] [--no-replay]
both take [--listings 500] [--shards 1] [--json FILE]`;

const parseNumber = (option: string, text: string, least = Number.MIN_VALUE): number => {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= least) return value;
  throw new PlanError(`--${option} is a number ${least > 0 ? 'above 0' : 'of 0 or more'}, not "${text}"`);
};

type Words = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

const SOAK_ONLY = ['rate', 'kill-every', 'no-replay'] as const;
const FIGURES_ONLY = ['rates', 'seconds', 'faults', 'quick', 'profile'] as const;

/** An option of the other mode would be ignored without notice. */
const refuseWords = (words: Words, refused: readonly (keyof Words)[], because: string): void => {
  for (const word of refused) {
    if (words[word] !== undefined && words[word] !== false) throw new PlanError(`--${word} ${because}`);
  }
};

const toSoakPlan = (words: Words, minutes: string, shared: Shared): SoakPlan => {
  refuseWords(words, FIGURES_ONLY, 'is not for a soak (--minutes)');
  return {
    ...shared,
    kind: 'soak',
    minutes: parseNumber('minutes', minutes),
    rate: parseNumber('rate', words.rate ?? '2000'),
    killEvery: parseNumber('kill-every', words['kill-every'] ?? '120', 0),
    replay: !words['no-replay'],
  };
};

const RATES = { full: '1000,3000,5000', quick: '1000', profile: '3000' } as const;

export const readPlan = (args: readonly string[]): Plan => {
  const { values: words } = parseArgs({ args: [...args], options: OPTIONS });
  const shared = {
    listings: parseNumber('listings', words.listings ?? (words.quick ? '50' : '500')),
    shards: parseNumber('shards', words.shards),
    json: words.json ?? null,
  };
  if (words.minutes !== undefined) return toSoakPlan(words, words.minutes, shared);
  refuseWords(words, SOAK_ONLY, 'is for a soak: say --minutes too');
  const kind = words.profile ? 'profile' : words.quick ? 'quick' : 'full';
  return {
    ...shared,
    kind,
    rates: (words.rates ?? RATES[kind]).split(',').map((rate) => parseNumber('rates', rate)),
    seconds: parseNumber('seconds', words.seconds ?? (kind === 'quick' ? '6' : '20')),
    faults: words.faults,
  };
};
