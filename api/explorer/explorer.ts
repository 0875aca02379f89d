// The explorer as a module of the account site: its entry in the navigation, the style of its pages, its relay to the data API.
import type { SiteModule } from '../account-app/site.ts';
import { EXPLORE } from './frame.ts';
import { addRelay } from './relay.ts';

type Over = {
  /** How long a stream may go on after its session has ended. */
  readonly checkSessionMs?: number;
};

/** The site module of the explorer. Its pages are modules of their own (`query-page.ts`) that use this one. */
export const createExplorer = ({ checkSessionMs = 30_000 }: Over = {}): SiteModule => ({
  name: 'explorer',
  nav: { open: [{ path: EXPLORE.board, label: 'Explore' }] },
  styles: { explorer: new URL('./styles/explorer.css', import.meta.url) },
  register: (app, site) => addRelay(app, { site, checkSessionMs }),
});

export const explorer: SiteModule = createExplorer();
