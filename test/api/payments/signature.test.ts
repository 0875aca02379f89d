// Whose signature a payment has, by what is signed alone: the payer's, a stranger's, a contract's to judge, or nobody's (P-11, D-696).
import t from 'tap';
import { concatHex, encodeAbiParameters, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { decodePayment, type SignedPayment } from '../../../api/payments/header.ts';
import { listOffers } from '../../../api/payments/offers.ts';
import { checkSigner } from '../../../api/payments/signature.ts';
import { TERMS } from '../../support/apps/live-fixture.ts';
import { toHeader } from '../../support/apps/paid-api.ts';
import { signPayment } from '../../support/services/payment-world.ts';

const MARK: Hex = `0x${'6492'.repeat(16)}`;
const [OFFER] = listOffers(TERMS, { amount: 5_000, class: 'snapshots' });

t.test('a signature is the payer’s, another’s, a contract’s to judge, or nobody’s', async (t) => {
  if (OFFER === undefined) throw new Error('nothing is offered');
  const buyer = privateKeyToAccount(generatePrivateKey());
  const payment = await signPayment(buyer, OFFER as never);
  const { signature: plain } = payment.payload as { readonly signature: Hex };
  const check = (signature: Hex) => {
    const sent = { ...payment, payload: { ...payment.payload, signature } };
    return checkSigner(decodePayment(toHeader(sent)) as SignedPayment, OFFER);
  };
  const wrapped = encodeAbiParameters(
    [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
    [buyer.address, '0x1234', plain],
  );
  t.equal(await check(plain), 'payer');
  t.equal(await check(concatHex([plain, '0x00'])), 'contract');
  t.equal(await check(concatHex([wrapped, MARK])), 'contract', 'of a wallet that is not deployed yet');
  t.equal(await check(plain.slice(0, -2) as Hex), 'stranger');
  for (const empty of [
    MARK,
    concatHex(['0x00', MARK]),
    concatHex([plain, MARK]),
    concatHex([plain.slice(0, 68) as Hex, MARK]),
  ])
    t.equal(await check(empty), 'nobody', `${empty.length} characters`);
});
