// Linking a bought key while the chain, which decides about wallets that are contracts, does not answer (P-06, D-191).
import t from 'tap';
import { signUp, startSite } from '../../support/apps/site-fixture.ts';

const wallets = {
  isMessageOf: async (): Promise<boolean> => {
    throw new Error('the node is away');
  },
};
const { browser } = await startSite(t, { wallets });

t.test('the page says that it cannot be decided now, and no word of a wrong signature', async (t) => {
  const one = browser();
  await signUp(one);
  const named = { transaction: `0x${'1'.repeat(64)}`, payer: `0x${'bb'.repeat(20)}` };
  const page = await one.submit('/plan/link', named, '/plan/link/sign');
  t.match(page, { statusCode: 200, body: /Sign this message/ });
  const answer = await one.submitFrom(page.body, { signature: `0x${'11'.repeat(97)}` }, '/plan/link');
  t.match(answer, { statusCode: 503, headers: { 'retry-after': '5' }, body: /chain does not respond/ });
  t.notMatch(answer.body, /no live purchase/);
});
