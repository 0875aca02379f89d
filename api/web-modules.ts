// The modules of the account site, in the order of their entries in the navigation. A module joins by a line here.
import { connectionsPage } from './account-app/connections-page.ts';
import { homePage } from './account-app/home-page.ts';
import { keysPage } from './account-app/keys-page.ts';
import { linkPage } from './account-app/link-page.ts';
import { planPage } from './account-app/plan-page.ts';
import { provePage } from './account-app/prove-page.ts';
import { recoverPage } from './account-app/recover-page.ts';
import { rulesPage } from './account-app/rules-page.ts';
import { securityPage } from './account-app/security-page.ts';
import { signInPage } from './account-app/sign-in-page.ts';
import { signUpPage } from './account-app/sign-up-page.ts';
import type { SiteModule } from './account-app/site.ts';
import { boardPage } from './explorer/board-page.ts';
import { explorer } from './explorer/explorer.ts';
import { instrumentPage } from './explorer/instrument-page.ts';
import { proofPage } from './explorer/proof-page.ts';
import { queryPage } from './explorer/query-page.ts';
import { changelogPage } from './open-pages/changelog-page.ts';
import { docsPages } from './open-pages/docs-pages.ts';
import { statusPage } from './open-pages/status-page.ts';
import { signInModule } from './sign-in/sign-in-module.ts';

export const WEB_MODULES: readonly SiteModule[] = [
  homePage,
  signUpPage,
  signInPage,
  recoverPage,
  keysPage,
  rulesPage,
  planPage,
  linkPage,
  connectionsPage,
  provePage,
  securityPage,
  signInModule,
  explorer,
  boardPage,
  instrumentPage,
  queryPage,
  proofPage,
  docsPages,
  statusPage,
  changelogPage,
];
