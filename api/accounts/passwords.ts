// Passwords: argon2id, a few at a time, so that many who sign in at once take neither the memory nor the threads of the others.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { Turns } from '../../infra/runtime/process/turns.ts';
import { isCommonPassword } from './common-passwords.ts';

export const SHORTEST_PASSWORD = 12;
/** Longer texts are refused: hashing them costs more than typing them proves. */
const LONGEST_PASSWORD = 256;

/** OWASP's figures for argon2id with 19 MiB. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Checks at once. Node has four threads for such work: the others stay free for files and names, and of two cores one for everything else. */
const AT_ONCE = Math.min(2, Math.max(1, availableParallelism() - 1));
/** `refuse`: a caller that arrives when so many wait gets the answer to retry. At 25 ms each that is half a second. */
const MOST_WAITING = 20 * AT_ONCE;

/** Too many password checks are waiting at this moment. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy';
}

/** Work that is refused while so many are under way. */
class Room {
  readonly #most: number;
  inside = 0;
  refused = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.inside >= this.#most) {
      this.refused++;
      throw new PasswordsBusy('too many passwords are being checked');
    }
    this.inside++;
    try {
      return await work();
    } finally {
      this.inside--;
    }
  }
}

const turns = new Turns(AT_ONCE);
const checks = new Room(MOST_WAITING);
const attempts = new Room(MOST_WAITING);

/**
 * Runs a request that checks a password among other things. Throws PasswordsBusy at once when too many are under way, so that they take no
 * connection to the database from the pages of others.
 */
export const runAttempt = <T>(attempt: () => Promise<T>): Promise<T> => attempts.run(attempt);

/** Passwords that are checked or wait for it, and how many were turned away since the start of the process. */
export const readPasswordLoad = () => ({ waiting: checks.inside, refused: checks.refused + attempts.refused });

const runInTurn = <T>(work: () => Promise<T>): Promise<T> => checks.run(() => turns.run(work));

/** Typed on different keyboards the same password may come in different code points. */
const normalisePassword = (password: string): string => password.normalize('NFKC');

/** Throws PasswordsBusy when too many wait. */
export const hashPassword = (password: string): Promise<string> =>
  runInTurn(() => hash(normalisePassword(password), COST));

/** Checked where there is no account or no password, so that the answer takes as long. The hash of an unknown text. */
const DUMMY = '$argon2id$v=19$m=19456,t=2,p=1$+1uuOsOQ/LNGBccl9gmbDw$hKl6CKOPshhUINU48oFG1sdHNPncu3VCCbd1XHowpJc';

/** Takes as long for null (no such account, or one without a password). Throws PasswordsBusy when too many wait. */
export const isPasswordOf = async (passwordHash: string | null, password: string): Promise<boolean> => {
  const matches = await runInTurn(() => verify(passwordHash ?? DUMMY, normalisePassword(password)));
  return matches && passwordHash !== null;
};

const SERVICE_NAMES = ['perp market data', 'perp-market-data', 'perpmarketdata'];
const SHORTEST_WORD = 4;
/** Characters besides the words of its context without which a password is those words. */
const LEAST_ELSE = 6;
const IN_CONTEXT =
  'This password is your mail address or the name of this service with little else. Three or four unrelated words make a good one.';

/** What whoever guesses at this account tries first, besides common passwords (NIST SP 800-63B section 5.1.1.2), longest first. */
const listContextWords = (email: string): readonly string[] => {
  const address = normalisePassword(email).toLowerCase();
  const [name = '', domain = ''] = address.split('@');
  return [address, name, domain, domain.replaceAll('.', ''), ...domain.split('.'), ...SERVICE_NAMES]
    .filter((word) => word.length >= SHORTEST_WORD)
    .sort((a, b) => b.length - a.length);
};

const hasLittleElse = (text: string, words: readonly string[]): boolean => {
  const rest = words.reduce((left, word) => left.replaceAll(word, ''), text);
  return rest !== text && [...rest].length < LEAST_ELSE;
};

/** Why a new password is not taken, for its owner; null: it is. */
export const findPasswordFault = (password: string, email: string): string | null => {
  const text = normalisePassword(password);
  if ([...text].length < SHORTEST_PASSWORD) return `Use at least ${SHORTEST_PASSWORD} characters.`;
  if (password.length > LONGEST_PASSWORD) return `Use at most ${LONGEST_PASSWORD} characters.`;
  if (isCommonPassword(text)) return 'This password is easily guessed. Three or four unrelated words make a good one.';
  return hasLittleElse(text.toLowerCase(), listContextWords(email)) ? IN_CONTEXT : null;
};
