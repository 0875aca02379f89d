// Money without a chain: who has paid whom, a facilitator that may lose answers or be late, and API processes that may die, over a real PostgreSQL.
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { Call, Payment, PaymentChecks, Refused } from '../../../api/access/call.ts';
import { snapshots } from '../../../api/operations/snapshots.ts';
import type { PaymentChain } from '../../../api/payments/chain.ts';
import { ChallengeMeter } from '../../../api/payments/challenge-meter.ts';
import { openPaymentChecks } from '../../../api/payments/checks.ts';
import { openDesk } from '../../../api/payments/desk.ts';
import type { Facilitator, Settleable, Settled } from '../../../api/payments/facilitator.ts';
import { listOffers } from '../../../api/payments/offers.ts';
import { openPurchases } from '../../../api/payments/purchases.ts';
import { type SettlementDeps, startSettlement } from '../../../api/payments/settlement.ts';
import { openPaymentStore } from '../../../api/payments/store.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { TERMS } from '../../support/apps/live-fixture.ts';
import { inSeconds, toHeader } from '../../support/apps/paid-api.ts';
import { signPayment } from '../../support/services/payment-world.ts';

const log = createLog('test', 'silent');
const PRICE = { amount: 5_000, class: 'snapshots', path: '/v2/snapshots' };
const OFFERS = listOffers(TERMS, PRICE);

export type Authorization = {
  readonly buyer: PrivateKeyAccount;
  readonly nonce: string;
  readonly isPlan: boolean;
  readonly header: string;
};

/** How a settle call ends: `lost` is done and not answered, `late` is done when blocks come again, `nothing` neither. */
export const SETTLE_ENDS = ['good', 'lost', 'late', 'nothing', 'refused'] as const;
/** `held`: the call is under way until the facilitator is told how it ends. */
export const SETTLE_MODES = ['good', 'good', 'lost', 'late', 'nothing', 'refused', 'held', 'held'] as const;
export const VERIFY_MODES = ['good', 'good', 'good', 'good', 'away', 'refused'] as const;

const nonceOf = ({ payload }: Settleable): string => payload.authorization.nonce;
const payerOf = ({ payload }: Settleable): string => payload.authorization.from.toLowerCase();

/** The token and the facilitator in front of it. */
export class Money {
  readonly balances = new Map<string, number>();
  /** The transaction of a nonce; null: it was cancelled. */
  readonly used = new Map<string, string | null>();
  readonly expired = new Set<string>();
  #late: Settleable[] = [];
  #held: { readonly payment: Settleable; readonly answer: (settled: Settled) => void }[] = [];
  #noticed = Promise.withResolvers<void>();
  isChainAway = false;
  settleMode: (typeof SETTLE_MODES)[number] = 'good';
  verifyMode: (typeof VERIFY_MODES)[number] = 'good';

  #findFault(payment: Settleable): string | null {
    if (this.expired.has(nonceOf(payment))) return 'invalid_exact_evm_payload_authorization_valid_before';
    if (this.used.has(nonceOf(payment))) return 'already_presented';
    return this.#canPay(payment) ? null : 'insufficient_funds';
  }

  #canPay(payment: Settleable): boolean {
    return (this.balances.get(payerOf(payment)) ?? 0) >= Number(payment.offer.amount);
  }

  #transfer(payment: Settleable): string {
    const nonce = nonceOf(payment);
    const transaction = `0x${createHash('sha256').update(nonce).digest('hex')}`;
    this.used.set(nonce, transaction);
    this.balances.set(payerOf(payment), (this.balances.get(payerOf(payment)) ?? 0) - Number(payment.offer.amount));
    return transaction;
  }

  #send(payment: Settleable): Settled {
    const reason = this.#findFault(payment);
    return reason === null ? { is: 'settled', transaction: this.#transfer(payment) } : { is: 'refused', reason };
  }

  /** Blocks come, with what was waiting for them. */
  mine(): void {
    const late = this.#late;
    this.#late = [];
    for (const payment of late) if (this.#findFault(payment) === null) this.#transfer(payment);
  }

  readonly facilitator: Facilitator = {
    verify: async (payment) => {
      if (this.verifyMode === 'away') return 'away';
      if (this.verifyMode === 'refused') return { refused: 'facilitator_refused: test' };
      const refused = this.#findFault(payment);
      return refused === null ? null : { refused };
    },
    settle: async (payment) => (this.settleMode === 'held' ? this.#hold(payment) : this.#end(payment, this.settleMode)),
  };

  #end(payment: Settleable, how: (typeof SETTLE_ENDS)[number]): Settled {
    switch (how) {
      case 'good':
        return this.#send(payment);
      case 'lost':
        this.#send(payment);
        return { is: 'unknown', why: 'lost' };
      case 'late':
        this.#late.push(payment);
        return { is: 'unknown', why: 'late' };
      case 'nothing':
        return { is: 'unknown', why: 'nothing' };
      case 'refused':
        return { is: 'refused', reason: 'facilitator_refused: test' };
    }
  }

  #hold(payment: Settleable): Promise<Settled> {
    const { promise, resolve } = Promise.withResolvers<Settled>();
    this.#held.push({ payment, answer: resolve });
    this.#noticed.resolve();
    this.#noticed = Promise.withResolvers();
    return promise;
  }

  /** Resolves when the next settle call is held. */
  get nextHeld(): Promise<void> {
    return this.#noticed.promise;
  }

  get held(): number {
    return this.#held.length;
  }

  /** One of the held calls ends; `at`: which one, from 0 to 1. */
  release(at: number, how: (typeof SETTLE_ENDS)[number]): void {
    const [call] = this.#held.splice(Math.floor(at * this.#held.length), 1);
    call?.answer(this.#end(call.payment, how));
  }

  readonly chain: PaymentChain = {
    look: async (payment) => {
      if (this.isChainAway) throw new Error('the chain is away');
      const transaction = this.used.get(nonceOf(payment));
      if (transaction === undefined) return { is: 'unused', isExpired: this.expired.has(nonceOf(payment)) };
      return transaction === null ? { is: 'spent' } : { is: 'paid', transaction };
    },
    canPay: async (payment) => {
      if (this.isChainAway) throw new Error('the chain is away');
      return this.#canPay(payment);
    },
    isContract: async () => false,
    isMessageOf: async () => false,
  };
}

let signers = 0;
/** Statements under way of all processes. */
class Statements {
  readonly #underWay = new Set<Promise<unknown>>();

  note<T>(statement: Promise<T>): Promise<T> {
    this.#underWay.add(statement);
    const forget = () => this.#underWay.delete(statement);
    statement.then(forget, forget);
    return statement;
  }

  /** Resolves when no process has anything left to do but to wait for others. */
  async quiet(): Promise<void> {
    do {
      await Promise.allSettled(this.#underWay);
      for (let turn = 0; turn < 5; turn++) await nextTurn();
    } while (this.#underWay.size > 0);
  }
}
export const statements = new Statements();

/** A wallet with funds. */
export const openWallet = (money: Money, balance: number): PrivateKeyAccount => {
  signers += 1;
  const account = privateKeyToAccount(`0x${signers.toString(16).padStart(64, '0')}`);
  money.balances.set(account.address.toLowerCase(), balance);
  return account;
};

export const authorize = async (buyer: PrivateKeyAccount, isPlan: boolean): Promise<Authorization> => {
  const payment = await signPayment(buyer, OFFERS[isPlan ? 1 : 0] as never, { validBefore: inSeconds(350) });
  const { nonce } = (payment.payload as { authorization: { nonce: string } }).authorization;
  return { buyer, nonce, isPlan, header: toHeader(payment) };
};

const makeCall = (header: string, receiptId: string): Call => ({
  ...{ operation: snapshots, method: 'POST', headers: { 'payment-signature': header }, query: new URLSearchParams() },
  // An address of its own: how many challenges one may have is another test's.
  ...{ params: {}, path: PRICE.path, address: receiptId, receiptId, nowMs: Date.now() },
  ...{ account: null, price: null, payment: null, leases: { request: null, stream: null, quota: null } },
});

/** One API process: dead, its statements fail; stalled, it renews nothing for a while. */
export class Node {
  readonly checks: PaymentChecks;
  isDead = false;
  isStalled = false;
  /** So many answers of the database are lost. */
  loses = 0;
  readonly #store: ReturnType<typeof openPaymentStore>;
  readonly #deps: SettlementDeps;
  readonly #held: Set<string>;

  private constructor(parts: { deps: SettlementDeps; held: Set<string>; checks: PaymentChecks }) {
    this.#deps = parts.deps;
    this.#store = parts.deps.store;
    this.#held = parts.held;
    this.checks = parts.checks;
  }

  static async open(pool: Pool, money: Money): Promise<Node> {
    const state: { node: Node | null } = { node: null };
    const query = async (...args: Parameters<Pool['query']>): Promise<unknown> => {
      if (state.node?.isDead === true) throw new Error('the process is dead');
      const answer: unknown = await statements.note(pool.query(...args) as unknown as Promise<unknown>);
      if (state.node === null || state.node.loses === 0) return answer;
      state.node.loses -= 1;
      throw new Error('connection reset by peer');
    };
    const own = { query, connect: () => pool.connect() } as unknown as Pool;
    const { facilitator, chain } = money;
    const [store, purchases] = [openPaymentStore(own), openPurchases(own)];
    const deps: SettlementDeps = { store, purchases, facilitator, chain, count: () => undefined, log };
    const settlement = startSettlement(deps);
    // Its sweeps are the test's: it settles what it is given all the same.
    await settlement.stop();
    const desk = openDesk({ ...deps, settlement });
    const checks = openPaymentChecks({
      terms: TERMS,
      baseUrl: 'http://api.test',
      challenges: new ChallengeMeter(),
      desk,
    });
    state.node = new Node({ deps, held: settlement.held, checks });
    return state.node;
  }

  /** What it does each second for what it answers or settles. */
  async renew(): Promise<void> {
    if (!this.isDead && !this.isStalled && this.#held.size > 0) await this.#store.renew([...this.#held]);
  }

  /** One round of what it does each second for what others left. */
  async sweep(): Promise<void> {
    if (this.isDead || this.isStalled) return;
    await this.renew().catch(() => undefined);
    // A process that has just started leaves this to later sweeps.
    await this.#store.tidy().catch(() => undefined);
    await startSettlement(this.#deps).stop();
  }

  present({ header }: Authorization, receiptId: string): Promise<Payment | Refused> {
    return this.checks.present(makeCall(header, receiptId), PRICE);
  }
}
