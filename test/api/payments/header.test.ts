// The payment header: every invalid form is refused with an error text, in time and without a trace (P-01, P-08).
// PAYMENT_MUTATIONS=10000 by hand; the seed is in the title, PAYMENT_SEED repeats it.
import { randomInt } from 'node:crypto';
import t from 'tap';
import { type Accepted, decodePayment, encodeSettlement } from '../../../api/payments/header.ts';
import { findAuthorizationFault, isForPlan, matchOffer } from '../../../api/payments/match.ts';
import { computePriceOfRules, listOffers, toLedgerClass } from '../../../api/payments/offers.ts';
import { CATALOGUE } from '../../../schemas/errors.ts';
import { TERMS } from '../../support/apps/live-fixture.ts';
import {
  offersFor,
  readErrorCode,
  readLedger,
  send,
  sign,
  startPaidApi,
  toHeader,
} from '../../support/apps/paid-api.ts';
import { createRandom } from '../../support/mutations.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';

const MUTATIONS = Number(process.env['PAYMENT_MUTATIONS'] ?? 300);
const SEED = Number(process.env['PAYMENT_SEED'] ?? randomInt(2 ** 31));
const AT_ONCE = 20;
const OFFERS = listOffers(TERMS, { amount: 5_000, class: 'snapshots' });
const NOW_S = 1_800_000_000;

const payment = (over: object = {}, authorization: object = {}) => ({
  x402Version: 2,
  accepted: OFFERS[0],
  payload: {
    signature: `0x${'aB'.repeat(65)}`,
    authorization: {
      from: `0x${'Ab'.repeat(20)}`,
      to: TERMS.payTo,
      value: '5000',
      validAfter: '0',
      validBefore: String(NOW_S + 60),
      nonce: `0x${'Cd'.repeat(32)}`,
      ...authorization,
    },
  },
  ...over,
});

t.test('a payment is read in either alphabet, padded or not, its hex in lower case', async (t) => {
  const standard = toHeader(payment({ resource: { url: '>>>???' } }));
  const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
  t.match(urlSafe, /[-_]/);
  for (const text of [standard, urlSafe, standard.replace(/=+$/, ''), urlSafe.replace(/=+$/, '')]) {
    const read = decodePayment(text);
    t.match(read, { payload: { signature: /^0x[0-9a-f]+$/, authorization: { from: `0x${'ab'.repeat(20)}` } } });
    t.notMatch(read, { resource: {} });
  }
  const settled = { success: true, transaction: '0x1', network: 'eip155:8453', payer: '0x2' };
  t.same(JSON.parse(Buffer.from(encodeSettlement(settled), 'base64').toString()), settled);
});

t.test('every other shape is malformed, in one sentence', async (t) => {
  const [good] = [payment()];
  const { payload } = good;
  const bad: Readonly<Record<string, string>> = {
    empty: '',
    'no base64': '{"x402Version":2}',
    'two headers': `${toHeader(good)}, ${toHeader(good)}`,
    'mixed alphabets': 'ab-+',
    'no UTF-8': Buffer.from([0xff, 0xfe]).toString('base64'),
    'no JSON': Buffer.from('hello').toString('base64'),
    'too long': 'A'.repeat(8_193),
    'a list': toHeader([good]),
    'no object': toHeader(null),
    deep: Buffer.from(`${'['.repeat(3_000)}`).toString('base64'),
    'version 1': toHeader({ x402Version: 1, scheme: 'exact', network: 'base', payload }),
    'version as text': toHeader(payment({ x402Version: '2' })),
    'no accepted': toHeader(payment({ accepted: undefined })),
    'another scheme': toHeader(payment({ accepted: { ...OFFERS[0], scheme: 'upto' } })),
    permit2: toHeader(payment({ payload: { signature: '0xab', permit2Authorization: {} } })),
    'no authorization': toHeader(payment({ payload: { signature: '0xab' } })),
    'an amount as number': toHeader(payment({ accepted: { ...OFFERS[0], amount: 5000 } })),
    'extra as text': toHeader(payment({ accepted: { ...OFFERS[0], extra: 'call' } })),
    'a signature of odd length': toHeader(payment({ payload: { ...payload, signature: '0xabc' } })),
    ...Object.fromEntries(
      [
        ['value', ''],
        ['value', '0x10'],
        ['value', '-1'],
        ['value', '5e3'],
        ['value', '9'.repeat(79)],
        ['value', 5000],
        ['validBefore', 'now'],
        ['nonce', '0x12'],
        ['from', 'vitalik.eth'],
        ['to', null],
      ].map(([name, value]) => [`${name} ${value}`, toHeader(payment({}, { [String(name)]: value }))]),
    ),
  };
  for (const [name, text] of Object.entries(bad)) {
    t.match(decodePayment(text), { malformed: /^[A-Z].*\.$/ }, name);
  }
  t.same(decodePayment(bad['version 1'] ?? ''), { malformed: 'Use x402 version 2.' });
});

t.test('a payment is for the entry that it names, or the refusal names what differs', async (t) => {
  const read = (accepted: object, authorization: object = {}) => {
    const sent = decodePayment(toHeader(payment({ accepted: { ...OFFERS[0], ...accepted } }, authorization)));
    if ('malformed' in sent) throw new Error(sent.malformed);
    return sent;
  };
  const findAmount = (accepted: Partial<Record<keyof Accepted, unknown>>): unknown => {
    const offer = matchOffer(read(accepted), OFFERS);
    return typeof offer === 'string' ? offer : offer.amount;
  };
  t.equal(findAmount({}), '5000');
  t.equal(findAmount({ asset: TERMS.asset.toLowerCase(), payTo: TERMS.payTo?.toLowerCase() }), '5000');
  t.equal(findAmount({ extra: undefined }), '5000', 'without kind the amount decides');
  t.equal(findAmount({ extra: { kind: 'call', class: 'another' } }), '5000', 'the class is not compared');
  t.equal(findAmount({ amount: '9000000', extra: {} }), '9000000');
  for (const other of ['05000', '5000.0', '']) t.match(findAmount({ amount: other }), /value_mismatch$/);
  t.match(findAmount({ amount: '9000000', extra: { kind: 'plan', plan: 'pro' } }), /value_mismatch$/);
  t.match(
    findAmount({ extra: { kind: 'call', plan: 'mini' } }),
    /value_mismatch$/,
    'no entry has this kind and this plan',
  );
  t.equal(isForPlan(read({ amount: '9000000', extra: {} }), OFFERS), true);
  t.equal(isForPlan(read({ extra: { kind: 'plan' } }), OFFERS), true, 'whatever its amount');
  t.equal(isForPlan(read({}), OFFERS), false);
  t.equal(matchOffer(read({}), []), 'invalid_network', 'nothing is sold');
  const findFault = (authorization: object) =>
    findAuthorizationFault(read({}, authorization), OFFERS[0] as never, NOW_S * 1_000);
  for (const ahead of [20, 60, 360]) t.equal(findFault({ validBefore: String(NOW_S + ahead) }), null);
  for (const ahead of [19, 361]) t.match(findFault({ validBefore: String(NOW_S + ahead) }), /valid_before$/);
  t.match(findFault({ validBefore: '9'.repeat(78) }), /valid_before$/);
  t.equal(findFault({ validAfter: String(NOW_S) }), null);
  t.match(findFault({ validAfter: String(NOW_S + 1) }), /valid_after$/);
  t.match(findFault({ value: '9'.repeat(78) }), /value_mismatch$/);
  t.same([computePriceOfRules([]), computePriceOfRules(['a', 'b', 'a'])], [10_000, 20_000]);
  t.same(['archive', 'archive_top100', 'screen'].map(toLedgerClass), ['archive', 'archive', 'screen']);
});

const random = createRandom(SEED);
const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
const HOSTILE: readonly unknown[] = [
  ...['', '0', '-1', '1e9', 'NaN', '0x', `0x${'f'.repeat(64)}`, '9'.repeat(78), '\u0000', '😀', '__proto__', ' '],
  ...[null, true, 0, -1, 1e308, [], {}, [[]], { kind: 'plan', plan: '__proto__' }, 'eip155:1', 'a'.repeat(3_000)],
];

/** One member of a good payment replaced, removed or doubled; or the text of the header spoilt. */
const mutate = (good: object): string => {
  const copy = JSON.parse(JSON.stringify(good)) as Record<string, unknown>;
  let node = copy;
  for (;;) {
    const name = pick(Object.keys(node));
    const below = node[name];
    if (typeof below === 'object' && below !== null && Object.keys(below).length > 0 && random(4) > 0) {
      node = below as Record<string, unknown>;
      continue;
    }
    if (random(5) === 0) delete node[name];
    else node[name] = pick(HOSTILE);
    break;
  }
  const text = toHeader(copy);
  const at = random(text.length);
  return pick([
    text,
    text,
    text,
    text.slice(0, at),
    `${text.slice(0, at)}${pick(['%', ',', '-', 'A'])}${text.slice(at + 1)}`,
  ]);
};

t.test(
  `${MUTATIONS} hostile headers each get a code of the catalogue, and nothing stays locked, PAYMENT_SEED=${SEED}`,
  { timeout: 600_000 },
  async (t) => {
    const world = await startPaymentWorld(t);
    const { url, pool } = await startPaidApi(t, world);
    const [call] = await offersFor(url);
    const buyer = await world.newBuyer();
    const codes: Record<string, number> = {};
    const used = process.memoryUsage().heapUsed;
    for (let done = 0; done < MUTATIONS; done += AT_ONCE) {
      const good = await sign(buyer, call as never);
      await Promise.all(
        // All are chosen before the first is sent, in the order of the seed.
        Array.from({ length: AT_ONCE }, () => mutate(good)).map(async (header) => {
          const answer = await send(url, { body: {}, headers: { 'payment-signature': header } });
          // A mutation of what is not compared is a good payment.
          const code = answer.status === 200 ? 'paid' : (readErrorCode(answer) ?? 'none');
          codes[code] = (codes[code] ?? 0) + 1;
        }),
      );
    }
    t.same(
      Object.keys(codes).filter((code) => code !== 'paid' && !(code in CATALOGUE)),
      [],
      JSON.stringify(codes),
    );
    t.ok((codes['PAYMENT_MALFORMED'] ?? 0) > MUTATIONS / 10);
    t.notOk(codes['INTERNAL']);
    // The service records a served payment after the response was sent.
    await waitFor('no payment is held', async () =>
      (await readLedger(pool)).every(({ state }) => state !== 'presented' && state !== 'verified'),
    );
    t.ok(process.memoryUsage().heapUsed - used < 200e6);
    t.comment(JSON.stringify(codes));
  },
);
