// The web process: the account site, the OAuth sign-in and the private listener, over the same PostgreSQL as the API.
import { migrate } from '../infra/postgres/migrate.ts';
import { listenOn } from '../infra/runtime/network/listen.ts';
import { POSTGRES_AWAY, watchReachable } from '../infra/runtime/network/reachable.ts';
import { ANSWER_MS, canWrite, openPostgres } from '../infra/runtime/postgres/postgres.ts';
import { ConfigError, readConfig } from '../infra/runtime/process/config.ts';
import { runProcess, type Stop } from '../infra/runtime/process/lifecycle.ts';
import { createLog } from '../infra/runtime/process/log.ts';
import { createMetrics, serveMetrics } from '../infra/runtime/process/metrics.ts';
import { isKey } from './access/keys.ts';
import { buildAccountApp, buildInternalApp } from './account-app/build-account-app.ts';
import type { SiteUrls } from './account-app/site.ts';
import { createWebMetrics } from './account-app/web-metrics.ts';
import { type MailServer, sendLetters } from './accounts/mail.ts';
import { readSiteKey } from './accounts/site-keys.ts';
import { keepTidy } from './accounts/tidy.ts';
import type { MessageChain } from './payments/recover-key.ts';
import { WEB_CONFIG } from './web-config.ts';
import { WEB_MODULES } from './web-modules.ts';

type Settings = ReturnType<typeof readConfig<typeof WEB_CONFIG>>;

const trimSlash = (url: string): string => url.replace(/\/$/, '');

const readUrls = (config: Settings): SiteUrls => {
  const account = trimSlash(config.ACCOUNT_URL ?? `http://localhost:${config.ACCOUNT_PORT}`);
  return {
    account,
    auth: trimSlash(config.AUTH_URL ?? account),
    base: trimSlash(config.BASE_URL),
    api: trimSlash(config.DATA_API_URL ?? config.BASE_URL),
    mcp: config.MCP_URL,
  };
};

const readMailServer = ({ SMTP_URL: url, MAIL_FROM: from }: Settings): MailServer | null => {
  if (url === null) return null;
  if (from === null) throw new ConfigError(['MAIL_FROM is required with SMTP_URL: the sender of letters']);
  return { url, from };
};

const readExplorerKey = ({ EXPLORER_KEY: key }: Settings): string | null => {
  if (key !== null && !isKey(key)) throw new ConfigError(['EXPLORER_KEY is not of the shape of a key']);
  return key;
};

/** Contract wallets link keys where a chain is named; its library is loaded there alone. */
const openWallets = async (rpcUrl: string | null): Promise<{ readonly wallets?: MessageChain }> => {
  if (rpcUrl === null) return {};
  const { openPaymentChain } = await import('./payments/chain.ts');
  return { wallets: openPaymentChain(rpcUrl) };
};

const start = async (): Promise<Stop> => {
  const config = readConfig(WEB_CONFIG, process.env);
  const log = createLog('web');
  const pool = openPostgres(config.DATABASE_URL, { answerMs: ANSWER_MS });
  await migrate(pool, log);
  const urls = readUrls(config);
  const mailServer = readMailServer(config);
  const registry = createMetrics();
  const count = createWebMetrics(registry, pool);
  const { app, site } = await buildAccountApp({
    ...{ pool, urls, log, modules: WEB_MODULES, simulated: config.SIMULATED, trustedProxies: config.TRUSTED_PROXIES },
    sendsMail: mailServer !== null,
    explorerKey: readExplorerKey(config),
    chainUrl: config.RPC_URL,
    formSecret: await readSiteKey(pool, 'forms', config.COOKIE_SECRET),
    connectionSecret: await readSiteKey(pool, 'connections', config.CONNECTION_SECRET),
    ...(await openWallets(config.PAYMENT_RPC_URL)),
    nowMs: Date.now,
    watch: count.watch,
  });
  const secret = await readSiteKey(pool, 'internal', config.INTERNAL_SECRET);
  const internal = await buildInternalApp({ modules: WEB_MODULES, log }, { site, secret });
  await listenOn(internal, {
    host: ['INTERNAL_HOST', config.INTERNAL_HOST],
    port: ['INTERNAL_PORT', config.INTERNAL_PORT],
  });
  await listenOn(app, { host: ['HOST', config.HOST], port: ['ACCOUNT_PORT', config.ACCOUNT_PORT] });
  const isReachable = watchReachable(() => canWrite(pool));
  const metrics = await serveMetrics(registry, config.METRICS_PORT, {
    host: config.METRICS_HOST,
    unready: async () => ((await isReachable()) ? [] : [POSTGRES_AWAY]),
  });
  log.info({ account_url: urls.account, auth_url: urls.auth }, 'listening');
  const mail = mailServer === null ? null : sendLetters(mailServer, { pool, log, count: count.letter });
  const tidying = keepTidy(pool, { count: count.tidied, log });
  return async () => {
    await app.close();
    await internal.close();
    mail?.stop();
    await tidying.stop();
    await metrics.close();
    await pool.end();
  };
};

runProcess('web', start);
