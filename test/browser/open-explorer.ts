// An open explorer in the test's process: pages of the account site at one address, a data API with an invented market at another, and a Chromium.
import type { Browser } from 'playwright-core';
import { openAccountStore } from '../../api/access/account-store.ts';
import { openKeyStore } from '../../api/access/key-store.ts';
import { hashKey, makeKey } from '../../api/access/keys.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { type Feed, market, reading, testApp } from '../support/apps/live-fixture.ts';
import { startSite } from '../support/apps/site-fixture.ts';
import type { Teardown } from '../support/engines/engines.ts';
import { openChromium } from '../support/services/browser.ts';

/** `explorerKey` is what the explorer lends to visitors, of plan `pro`. */
type OpenExplorer = { readonly origin: string; readonly explorerKey: string; readonly chromium: Browser };

/** `extend` adds to the market. */
export const openExplorer = async (
  t: Teardown,
  extend: (feed: Feed) => void = () => undefined,
): Promise<OpenExplorer> => {
  const port = await findFreePort();
  const origin = `http://localhost:${port}`;
  const apiPort = await findFreePort();
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const explorerKey = makeKey();
  const { app, pool } = await startSite(t, {
    urls: { account: origin, auth: origin, base: apiUrl, api: apiUrl, mcp: null },
    explorerKey,
  });
  await pool.query("insert into accounts (account_id, plan) values ('acc_open', 'pro')");
  await pool.query(
    "insert into api_keys (key_id, account_id, hash, display, name, plan) values ('key_open', 'acc_open', $1, 'sk_', 'open', 'pro')",
    [hashKey(explorerKey)],
  );
  const feed = market();
  feed.read(
    'binance',
    'BTCUSDT',
    reading({ layer: 'oi', values: { oi: '1920.5' }, instants: {}, quantity_unit: 'base' }),
  );
  extend(feed);
  const data = await testApp(feed, { keys: openKeyStore(pool), accounts: openAccountStore(pool), baseUrl: apiUrl });
  await data.app.listen({ host: '127.0.0.1', port: apiPort });
  await app.listen({ host: '127.0.0.1', port });
  t.teardown(() => data.app.close());
  return { origin, explorerKey, chromium: await openChromium(t) };
};
