// The sign-in of agents' clients as a module of the account site: its addresses, the consent page, the check of tokens for the tool server.
import { sendProblem } from '../account-app/shell.ts';
import type { Site, SiteModule } from '../account-app/site.ts';
import { addConnectPage } from './connect-page.ts';
import { openConnectionKeys } from './connection-key.ts';
import { openSignIn, type SignIn } from './sign-in.ts';
import { addTokenCheckRoute, createTokenCheck } from './token-check.ts';
import { createUnits } from './units.ts';

type Over = { readonly fetch?: typeof fetch };

/** Null where there is no tool server to sign in to. */
const openSiteSignIn = (site: Site, over: Over): SignIn | null => {
  const { pool, urls, connectionSecret, nowMs, log } = site;
  if (urls.mcp === null) return null;
  return openSignIn({
    ...{ pool, authUrl: urls.auth, mcpUrl: urls.mcp, secret: connectionSecret, nowMs, log },
    sendProblem: (request, reply, problem) => sendProblem(site, { request, reply }, problem),
    ...over,
  });
};

export const createSignInModule = (over: Over = {}): SiteModule => ({
  name: 'sign-in',
  register: async (app, site) => {
    const signIn = openSiteSignIn(site, over);
    if (signIn === null) return;
    await app.register(signIn.routes);
    addConnectPage(app, site, signIn.consents);
  },
  registerInternal: (app, { pool, urls, connectionSecret, nowMs, log }) => {
    if (urls.mcp === null) return;
    const [units, keyOf] = [createUnits(pool), openConnectionKeys(connectionSecret)];
    addTokenCheckRoute(app, { check: createTokenCheck({ units, keyOf, mcpUrl: urls.mcp, nowMs, log }), log });
  },
});

export const signInModule: SiteModule = createSignInModule();
