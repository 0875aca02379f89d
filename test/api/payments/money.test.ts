// Random payments to two processes that die, stall and lose answers, with a facilitator and a chain that do too: what was received is what was
// answered, nobody pays twice, and nothing is answered without a payment but by a process that died or stalled (P-04, P-05, P-06).
import type { Pool } from 'pg';
import t from 'tap';
import type { AnswerEnd, CallPayment, PlanAnswer } from '../../../api/access/call.ts';
import { isRefused } from '../../../api/access/call.ts';
import { hashKey } from '../../../api/access/keys.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import {
  type Authorization,
  authorize,
  Money,
  Node,
  openWallet,
  SETTLE_ENDS,
  SETTLE_MODES,
  statements,
  VERIFY_MODES,
} from './money-world.ts';

t.setTimeout(0);
// More by hand: MONEY_STEPS=20000 MONEY_SEED=3 npm test -- payments/money; the seed is in the title.
const STEPS = Number(process.env.MONEY_STEPS ?? 180);
const SEED = Number(process.env.MONEY_SEED ?? 1);
const WALLETS = 3;
const FUNDS = 30_000_000;
const UNSETTLED = `select payer, count(*)::int as count from payments p where is_unsettled(p) group by payer having count(*) > 3`;
/** Sixteen seconds later: leases end, and outcomes that were looked up may be again. */
const LATER = `update payments set lease_until = lease_until - interval '16 seconds', checked_at = checked_at - interval '16 seconds'`;
const CLAIMS_LATER = `update plan_purchases set claimed_until = claimed_until - interval '61 seconds'`;

type Given = { readonly receiptId: string; readonly key: string | null };
/** What became of an authorisation, as its buyer knows it. */
type Course = Authorization & { readonly whole: Given[]; isExcused: boolean };
type Open = {
  readonly node: Node;
  readonly course: Course;
  readonly receiptId: string;
  readonly end: (left: AnswerEnd) => Promise<void>;
  readonly key: string | null;
};

class World {
  readonly money = new Money();
  readonly courses: Course[] = [];
  readonly #pool: Pool;
  readonly #random: () => number;
  readonly #wallets = Array.from({ length: WALLETS }, () => openWallet(this.money, FUNDS));
  #nodes: Node[] = [];
  #open: Open[] = [];
  /** Requests, answers and sweeps that wait for the facilitator. */
  readonly #underWay = new Set<Promise<void>>();
  /** Requests whose answers are not open yet. */
  readonly #presented = new Set<Pick<Open, 'node' | 'course'>>();
  #receipts = 0;

  constructor(pool: Pool, random: () => number) {
    this.#pool = pool;
    this.#random = random;
  }

  #choose<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)] as T;
  }

  async begin(): Promise<void> {
    this.#nodes = [await Node.open(this.#pool, this.money), await Node.open(this.#pool, this.money)];
  }

  readonly #steps: readonly (readonly [weight: number, step: () => Promise<void> | void])[] = [
    [10, () => this.#sign()],
    [14, () => this.#present(this.#choose(this.courses), this.#choose(this.#nodes))],
    [2, () => this.#presentTwice(this.#choose(this.courses))],
    [12, () => this.#finish()],
    [6, () => this.#start(this.#choose(this.#nodes).sweep())],
    [4, () => this.#release(this.#choose(SETTLE_ENDS))],
    [5, () => this.#pass()],
    [2, () => this.#kill()],
    [2, () => this.#stall(this.#choose(this.#nodes))],
    [2, () => void Object.assign(this.#choose(this.#nodes), { loses: 1 })],
    [5, () => void Object.assign(this.money, { settleMode: this.#choose(SETTLE_MODES) })],
    [2, () => void Object.assign(this.money, { verifyMode: this.#choose(VERIFY_MODES) })],
    [2, () => void Object.assign(this.money, { isChainAway: this.#random() < 0.4 })],
    [4, () => this.money.mine()],
    [2, () => void this.money.expired.add(this.#choose(this.courses).nonce)],
    [1, () => this.#cancel(this.#choose(this.courses))],
    [1, () => this.#fund()],
  ];

  async step(): Promise<void> {
    if (this.courses.length === 0) return this.#sign();
    const sum = this.#steps.reduce((total, [weight]) => total + weight, 0);
    let at = this.#random() * sum;
    for (const [weight, step] of this.#steps) {
      at -= weight;
      if (at < 0) return step();
    }
  }

  /** Done, or under way until the facilitator answers. */
  async #start(work: Promise<void>): Promise<void> {
    this.#underWay.add(work);
    const done = work.finally(() => this.#underWay.delete(work));
    await Promise.race([done, this.money.nextHeld.then(() => statements.quiet())]);
  }

  async #release(how: (typeof SETTLE_ENDS)[number]): Promise<void> {
    this.money.release(this.#random(), how);
    await statements.quiet();
  }

  async #sign(): Promise<void> {
    const signed = await authorize(this.#choose(this.#wallets), this.#random() < 0.3);
    this.courses.push({ ...signed, whole: [], isExcused: false });
    // The newest ones are presented again and again.
    if (this.courses.length > 8 && this.#random() < 0.5) return;
    await this.#present(this.courses.at(-1) as Course, this.#choose(this.#nodes));
  }

  #present(course: Course, node: Node): Promise<void> {
    const presented = { node, course };
    this.#presented.add(presented);
    return this.#start(this.#bring(course, node).finally(() => this.#presented.delete(presented)));
  }

  async #bring(course: Course, node: Node): Promise<void> {
    this.#receipts += 1;
    const receiptId = `rcp_${this.#receipts}`;
    const payment = await node.present(course, receiptId);
    if (isRefused(payment)) return;
    if (payment.buys === 'call') return this.#takeCall(payment, { node, course, receiptId });
    const answer: PlanAnswer = await payment.buy();
    if (answer.status !== 200 || node.isDead) return;
    const { key } = (answer.body as { purchase: { key: string } }).purchase;
    this.#open.push({ node, course, receiptId, end: answer.end ?? (async () => undefined), key });
  }

  async #takeCall(payment: CallPayment, { node, course, receiptId }: Pick<Open, 'node' | 'course' | 'receiptId'>) {
    if ((await payment.take()) === null)
      this.#open.push({ node, course, receiptId, end: (left) => payment.end(left), key: null });
  }

  async #presentTwice(course: Course): Promise<void> {
    await Promise.all(this.#nodes.map((node) => this.#present(course, node)));
  }

  /** The answer goes out, or breaks off. */
  async #finish(): Promise<void> {
    const at = Math.floor(this.#random() * this.#open.length);
    const [open] = this.#open.splice(at, 1);
    if (open === undefined) return;
    const left = this.#random() < 0.8 ? 'whole' : 'cut';
    if (left === 'whole') open.course.whole.push({ receiptId: open.receiptId, key: open.key });
    await this.#start(open.end(left));
  }

  /** Processes that live renew what they hold, once a second: before another one looks. */
  async #pass(): Promise<void> {
    await this.#pool.query(LATER);
    await this.#pool.query(CLAIMS_LATER);
    for (const node of this.#nodes) {
      if (node.isStalled) this.#excuse(node);
      await node.renew().catch(() => this.#excuse(node));
    }
  }

  /** What it was answering may have been given away meanwhile. */
  #excuse(node: Node): void {
    for (const open of [...this.#open, ...this.#presented]) if (open.node === node) open.course.isExcused = true;
  }

  #stall(node: Node): void {
    node.isStalled = !node.isStalled;
  }

  /** The answer of one under way may be out before it dies. */
  async #kill(): Promise<void> {
    const at = Math.floor(this.#random() * this.#nodes.length);
    const dying = this.#nodes[at] as Node;
    dying.isDead = true;
    for (const { node, course, receiptId, key } of this.#open) {
      if (node !== dying) continue;
      course.isExcused = true;
      if (this.#random() < 0.3) course.whole.push({ receiptId, key });
    }
    this.#open = this.#open.filter(({ node }) => node !== dying);
    this.#nodes[at] = await Node.open(this.#pool, this.money);
  }

  #cancel({ nonce }: Course): void {
    if (!this.money.used.has(nonce)) this.money.used.set(nonce, null);
  }

  #fund(): void {
    const wallet = this.#choose(this.#wallets);
    this.money.balances.set(wallet.address.toLowerCase(), this.#random() < 0.5 ? 0 : FUNDS);
  }

  /** Everything works again, and every outcome becomes known. */
  async settle(): Promise<void> {
    Object.assign(this.money, { settleMode: 'good', verifyMode: 'good', isChainAway: false });
    this.money.mine();
    for (const node of this.#nodes) Object.assign(node, { isStalled: false, loses: 0 });
    while (this.#underWay.size > 0 || this.#open.length > 0) {
      while (this.money.held > 0) await this.#release('good');
      await Promise.all(this.#underWay);
      while (this.#open.length > 0) await this.#finish();
    }
    for (;;) {
      await this.#pool.query(LATER);
      await this.#pool.query(CLAIMS_LATER);
      for (const node of this.#nodes) await node.sweep();
      const { rows } = await this.#pool.query("select state from payments where state not in ('settled', 'failed')");
      if (rows.length === 0) return;
      this.money.mine();
    }
  }

  /** Who has paid for a plan and has no key asks for it again. */
  async claim(course: Course): Promise<void> {
    await this.#present(course, this.#nodes[0] as Node);
    while (this.#open.length > 0) await this.#finish();
  }

  async findTooMany(): Promise<readonly unknown[]> {
    return (await this.#pool.query(UNSETTLED)).rows;
  }
}

/** What is wrong with an authorisation in the end. */
const findFaults = async (pool: Pool, { money }: World, course: Course): Promise<readonly string[]> => {
  const { nonce, isPlan, whole, isExcused } = course;
  const transaction = money.used.get(nonce) ?? null;
  const { rows } = await pool.query<{ receipt_id: string; transaction: string }>(
    'select receipt_id, transaction from payment_ledger where nonce = $1',
    [nonce],
  );
  const faults: string[] = [];
  if ((transaction === null ? 0 : 1) !== rows.length)
    faults.push(`paid by ${transaction}, in the ledger ${JSON.stringify(rows)}`);
  const receiptId = rows[0]?.receipt_id;
  if (isPlan) {
    if (receiptId === undefined && whole.length > 0) faults.push('a key without a payment');
    if (receiptId !== undefined && whole.length === 0) faults.push('a plan was paid for and no key was given');
    const { rows: keys } = await pool.query<{ hash: Buffer }>(
      `select k.hash from plan_purchases q join api_keys k on k.key_id = q.key_id where q.nonce = $1 and k.revoked_at is null`,
      [nonce],
    );
    const newest = whole.at(-1)?.key ?? null;
    if (newest !== null && !keys.some(({ hash }) => hash.equals(hashKey(newest))))
      faults.push('the key that was given does not live');
    if (keys.length !== rows.length) faults.push(`${keys.length} keys live`);
    return faults;
  }
  if (receiptId !== undefined && !whole.some((given) => given.receiptId === receiptId))
    faults.push('paid and not answered');
  const { rows: failed } = await pool.query("select 1 from payments where nonce = $1 and state = 'failed'", [nonce]);
  if (whole.length > rows.length + failed.length && !isExcused)
    faults.push(`${whole.length} answers, ${rows.length} paid, ${failed.length} failed`);
  return faults;
};

t.test(`what was received is what was answered, MONEY_STEPS=${STEPS} MONEY_SEED=${SEED}`, async (t) => {
  const pool = await freshPool(t);
  const random = createRandom(SEED).next;
  // One after the other, each with a market of its own: what is wrong is soon found.
  for (let done = 0; done < STEPS; done += 60) {
    const world = new World(pool, random);
    await world.begin();
    for (let i = 0; i < Math.min(60, STEPS - done); i++) {
      await world.step();
      t.same(await world.findTooMany(), [], 'no payer has more than three unsettled');
    }
    await world.settle();
    for (const course of world.courses) {
      const { rows } = await pool.query('select 1 from plan_purchases where nonce = $1 and delivered_at is null', [
        course.nonce,
      ]);
      for (let i = 0; rows.length > 0 && course.whole.length === 0 && i < 20; i++) {
        await pool.query(CLAIMS_LATER);
        await world.claim(course);
      }
      t.same(
        await findFaults(pool, world, course),
        [],
        `${course.isPlan ? 'plan' : 'call'} ${course.nonce} of step ${done}`,
      );
    }
  }
});
