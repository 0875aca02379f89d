// /plan/link: the wallet that bought a key signs a message, and the key's replacement joins the account; works with a pasted signature too.
import { html } from 'htm/preact';
import { linkKey } from '../accounts/link-key.ts';
import { PLANS } from '../contract/plans.ts';
import { type Recovery, WalletUndecided, writeRecoveryMessage } from '../payments/recover-key.ts';
import { renderAgentSetup } from './agent-setup.ts';
import { renderCopyable, renderFault, renderField, renderInstant, renderMessage } from './components.ts';
import { readField } from './fields.ts';
import { formatExampleCurl } from './first-call.ts';
import { readSession, requireSession } from './guards.ts';
import { type Content, type Exchange, renderFormField, sendPage, sendProblem } from './shell.ts';
import type { Site, SiteModule } from './site.ts';

const PATH = '/plan/link';
const SIGN_PATH = '/plan/link/sign';
const TRANSACTION = /^0x[0-9a-f]{64}$/;
const WALLET = /^0x[0-9a-fA-F]{40}$/;

type LinkRequest = Pick<Recovery, 'transaction' | 'payer' | 'issuedAt'>;

const showStart = (site: Site, exchange: Exchange, problem: Content = null) =>
  sendPage(site, exchange, {
    title: 'Link a bought key',
    status: problem === null ? 200 : 400,
    body: html`<h1>Link a bought key</h1>
      <p class="lead">The wallet that paid proves that the key is yours. You get a replacement with the same end; the lost key is revoked.</p>
      ${problem}
      <form method="post" action=${SIGN_PATH} class="panel">
        ${renderFormField(site, exchange, SIGN_PATH)}
        ${renderField({ name: 'transaction', label: 'Transaction of the purchase', hint: 'The transaction hash, as in the response to the purchase and in your wallet.', attributes: { placeholder: '0x…', maxlength: 66, spellcheck: 'false' } })}
        ${renderField({ name: 'payer', label: 'Address of the wallet that paid', attributes: { placeholder: '0x…', maxlength: 42, spellcheck: 'false' } })}
        <button type="submit">Continue</button>
      </form>`,
  });

type Step = { readonly asked: LinkRequest; readonly problem: Content };

/** The account is that of the session, never of the form. */
const withAccount = <T extends LinkRequest>(asked: T, { request }: Exchange): T & Pick<Recovery, 'account'> => ({
  ...asked,
  account: readSession(request).email,
});

const showMessage = (site: Site, exchange: Exchange, { asked, problem }: Step) =>
  sendPage(site, exchange, {
    title: 'Sign with the wallet',
    status: problem === null ? 200 : 400,
    islands: ['wallet'],
    body: html`<h1>Sign this message</h1>
      <p class="lead">Sign it within ten minutes with ${asked.payer}. It moves no funds.</p>
      ${problem} ${renderCopyable('wallet-message', writeRecoveryMessage(site.urls.base, withAccount(asked, exchange)), { wraps: true })}
      <form method="post" action=${PATH} class="panel" data-wallet=${asked.payer}>
        ${renderFormField(site, exchange, PATH)}
        ${Object.entries(asked).map(([name, value]) => html`<input type="hidden" name=${name} value=${value} />`)}
        ${renderField({ name: 'signature', label: 'Signature', hint: 'From any tool that signs personal messages (EIP-191).', attributes: { placeholder: '0x…', maxlength: 8_196, spellcheck: 'false' } })}
        <p class="actions">
          <button type="button" class="quiet" data-sign hidden>Sign with the wallet of this browser</button>
          <button type="submit">Link the key</button>
        </p>
        <p class="small-text muted" data-sign-fault role="status"></p>
      </form>`,
  });

const parseRequest = (body: unknown, issuedAt: string): LinkRequest | null => {
  const transaction = readField(body, 'transaction', 66).trim().toLowerCase();
  const payer = readField(body, 'payer', 42).trim();
  return TRANSACTION.test(transaction) && WALLET.test(payer) ? { transaction, payer, issuedAt } : null;
};

const NO_PURCHASE =
  'This wallet has no live purchase with this transaction, or the signature is of another message, older than ten minutes, or used already.';

const AWAY = {
  ...{ status: 503, code: 'UNAVAILABLE' },
  text: 'The chain does not respond, so the signature of your wallet, which is a contract, cannot be checked. Go back and link the key again in a few seconds: the signature is valid for ten minutes.',
};

/** Shown to the user when the chain could not be queried about a wallet; only the log has the cause. */
const refuseForNow = (site: Site, exchange: Exchange, err: WalletUndecided) => {
  site.log.warn({ err }, 'the chain that decides about a wallet does not answer');
  exchange.reply.header('retry-after', '5');
  return sendProblem(site, exchange, AWAY);
};

const linkPurchase = async (site: Site, exchange: Exchange) => {
  const { body } = exchange.request;
  const asked = parseRequest(body, readField(body, 'issuedAt', 40));
  if (asked === null) return showStart(site, exchange, renderFault('Enter the transaction and the wallet again.'));
  const signature = readField(body, 'signature', 8_196).trim();
  const recovery = withAccount({ ...asked, signature }, exchange);
  const deps = { pool: site.pool, chain: site.wallets, baseUrl: site.urls.base, nowMs: site.nowMs() };
  const linked = await linkKey(recovery, readSession(exchange.request).accountId, deps);
  if (linked === null)
    return showMessage(site, exchange, {
      asked: { ...asked, issuedAt: new Date(site.nowMs()).toISOString() },
      problem: renderFault(NO_PURCHASE),
    });
  return sendPage(site, exchange, {
    title: 'Your linked key',
    body: html`<h1>Your linked key</h1>
      ${renderMessage('warn', html`<p><strong>Copy your key now.</strong> It is shown only here; we keep no more than its hash.</p>`)}
      ${renderCopyable('key', linked.key, { isSecret: true, wraps: true })}
      <p>Plan ${PLANS[linked.plan].name} until ${renderInstant(linked.expiresAt)}. The key that it replaces is revoked.</p>
      ${renderCopyable('curl', formatExampleCurl(site.urls, linked.key))} ${renderAgentSetup(site.urls, linked.key)}
      <p class="end"><a href="/keys">All keys</a></p>`,
  });
};

/** Signatures that one address may try a minute: each may query the chain. */
const SIGNATURES = { max: 20, timeWindow: '1 minute' };

export const linkPage: SiteModule = {
  name: 'link',
  islands: { wallet: new URL('./islands/wallet.ts', import.meta.url) },
  register: (app, site) => {
    app.addHook('preHandler', requireSession);
    app.get(PATH, (request, reply) => showStart(site, { request, reply }));
    app.post(SIGN_PATH, (request, reply) => {
      const exchange = { request, reply };
      const asked = parseRequest(request.body, new Date(site.nowMs()).toISOString());
      if (asked === null)
        return showStart(
          site,
          exchange,
          renderFault('A transaction is 0x and 64 hexadecimal digits, a wallet 0x and 40.'),
        );
      return showMessage(site, exchange, { asked, problem: null });
    });
    app.post(PATH, { config: { rateLimit: SIGNATURES } }, async (request, reply) => {
      const exchange = { request, reply };
      try {
        return await linkPurchase(site, exchange);
      } catch (error) {
        if (error instanceof WalletUndecided) return refuseForNow(site, exchange, error);
        throw error;
      }
    });
  },
};
