// The stock Python client of x402 buys the example of every payable endpoint and each plan from the whole service, and our Python client pays with
// it. On request: pip fetches 90 MB.
import t from 'tap';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { PLANS } from '../../api/contract/plans.ts';
import { OPERATIONS } from '../../api/operations/index.ts';
import { buyWithOurPython, buyWithPython } from '../support/python/python-x402.ts';
import { awaitSettled, exampleCall, startPaidService, TOP100_FILE } from '../support/services/paid-service.ts';
import { DOLLAR } from '../support/services/payment-world.ts';
import { until } from '../support/services/pipeline.ts';

const { api, pool, world } = await startPaidService(t);

t.test('chain, ledger and answers of the Python client agree', async (t) => {
  const key = generatePrivateKey();
  const payer = privateKeyToAccount(key).address;
  await world.mint(payer, 1_000n * DOLLAR);
  const priced = OPERATIONS.filter(({ price }) => price !== null);
  const calls = priced.map((operation) => ({ ...operation, ...exampleCall(operation) }));
  const file = calls.find(({ redirects }) => redirects === true);
  if (file !== undefined) calls.push({ ...file, ...TOP100_FILE });
  // A service without a sealed minute yet cannot answer about the past.
  await until('the past is answered', 150_000, async () => {
    const body = { where: 'base = BTC', timeframe: '1m', from: new Date(Date.now() - 3_600_000).toISOString() };
    return api.post('/v2/candles', { ...body, to: new Date().toISOString() }).catch(() => null);
  });
  const answered: object[] = [];
  for (const { name, redirects, method, path, body, price, class: bought } of calls) {
    const answer = await buyWithPython(api.baseUrl, key, { method, path, body });
    t.equal(answer.status, redirects ? 302 : 200, `${name} with default settings: ${answer.text.slice(0, 300)}`);
    answered.push({ receipt_id: answer.receipt, state: 'settled', amount: String(price), bought });
    await awaitSettled(pool, payer);
  }
  const ours = await buyWithOurPython(api.baseUrl, key);
  answered.push({ receipt_id: ours.receipt, state: 'settled', amount: '5000', bought: 'snapshots' });
  await awaitSettled(pool, payer);
  const plans = Object.values(PLANS).filter(({ price_usd }) => price_usd > 0);
  for (const { code, price_usd } of plans) {
    const amount = String(price_usd * 1_000_000);
    const plan = { method: 'POST', path: '/v2/snapshots', body: null, amount };
    const answer = await buyWithPython(api.baseUrl, key, plan);
    t.equal(answer.status, 200, code);
    const { purchase, receipt_id } = JSON.parse(answer.text) as { purchase: object; receipt_id: string };
    t.match(purchase, { plan: code, key: /^sk_/ });
    answered.push({ receipt_id, state: 'settled', amount, bought: code });
  }
  const entries = await awaitSettled(pool, payer);
  t.same(entries, answered, 'the ledger has the answers given');
  const spent = entries.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  t.equal(1_000n * DOLLAR - (await world.balanceOf(payer)), spent, 'the buyer has paid the ledger');
  t.equal(await world.balanceOf(world.payTo), spent, 'and the receiver has it');
});
