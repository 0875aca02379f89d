// The parts of the account site: what every page gets, and how a module of pages joins.
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { OnClose } from '../accounts/close-account.ts';
import type { ExportPart } from '../accounts/export-account.ts';
import type { Session, Sessions } from '../accounts/sessions.ts';
import type { MessageChain } from '../payments/recover-key.ts';
import type { Assets } from './assets.ts';
import type { FormTokens } from './form-tokens.ts';

/** Addresses without a slash at their end. `api` is where this process reaches the data API, `base` where everyone does. */
export type SiteUrls = {
  readonly account: string;
  readonly auth: string;
  readonly base: string;
  readonly api: string;
  readonly mcp: string | null;
};

export type NavEntry = { readonly path: string; readonly label: string };

export type Site = {
  readonly pool: Pool;
  readonly sessions: Sessions;
  readonly forms: FormTokens;
  readonly assets: Assets;
  readonly urls: SiteUrls;
  /** Of all modules, in their order: `member` for signed-in users, `open` for everyone. */
  readonly nav: { readonly member: readonly NavEntry[]; readonly open: readonly NavEntry[] };
  /** Queries contract wallets about their signatures. */
  readonly wallets: MessageChain;
  /** Makes the keys of connections. */
  readonly connectionSecret: Buffer;
  /** The key that opens the explorer to users who are not signed in. Null: it is open only to signed-in users. */
  readonly explorerKey: string | null;
  /** A node of the chain on which days are anchored. */
  readonly chainUrl: string | null;
  /** Of all modules: what else ends with an account, and what else is kept about it. */
  readonly onClose: readonly OnClose[];
  readonly exportParts: readonly ExportPart[];
  /** The venues are simulated, and every page states that. */
  readonly simulated: boolean;
  /** Whether the service sends mail; otherwise messages wait for the operator. */
  readonly sendsMail: boolean;
  readonly nowMs: () => number;
  readonly log: Logger;
};

/** One line in `api/web-modules.ts` registers a module. Its routes, hooks and parsers are its own (a Fastify plugin). */
export type SiteModule = {
  readonly name: string;
  readonly nav?: { readonly member?: readonly NavEntry[]; readonly open?: readonly NavEntry[] };
  /** Browser modules and style sheets of its pages: name -> file. Pages name them in `islands` and `styles`. */
  readonly islands?: Readonly<Record<string, URL>>;
  readonly styles?: Readonly<Record<string, URL>>;
  /** What ends with an account, in the transaction that closes it; what the module keeps about one, for its export. */
  readonly onClose?: OnClose;
  readonly exportPart?: ExportPart;
  readonly register: (app: FastifyInstance, site: Site) => void | Promise<void>;
  /** Routes of the private listener, behind its secret. */
  readonly registerInternal?: (app: FastifyInstance, site: Site) => void | Promise<void>;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the signed-in user; null: none. */
    session: Session | null;
  }
  interface FastifyContextConfig {
    /** The route serves requests of other sites and of programs: no session is read, no origin and no form token is required. */
    isForeign?: boolean;
  }
}
