// The tool server of a process: its app over the connections to the data API, until it is stopped.
import { Agent } from 'undici';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { KeyStore } from '../access/key-store.ts';
import { OPERATIONS } from '../operations/index.ts';
import { buildToolApp } from './build-tool-app.ts';
import { createCallApi } from './call-api.ts';
import type { Addresses } from './metadata.ts';
import { PAGES } from './pages.ts';
import { openTokens, type SignInAddress } from './token-check.ts';
import { renderTools } from './tools.ts';

export type ToolsSpec = Addresses & {
  /** Where the data API is called. */
  readonly apiUrl: string;
  readonly keys: KeyStore;
  /** Where access tokens are checked; null: keys only. */
  readonly signIn: SignInAddress | null;
  /** Hosts besides that of `mcpUrl`. */
  readonly hosts: readonly string[];
  /** Addresses besides `mcpUrl` whose pages may call. */
  readonly origins: readonly (string | null)[];
  readonly trustedProxies?: readonly string[];
  readonly log: Logger;
};

export type Tools = { readonly app: Awaited<ReturnType<typeof buildToolApp>>; readonly close: () => Promise<void> };

/** Connections to the API are kept as long as the API keeps them. */
export const createTools = async ({ apiUrl, signIn, hosts, origins, log, ...spec }: ToolsSpec): Promise<Tools> => {
  const dispatcher = new Agent();
  const tokens = signIn === null ? null : openTokens(signIn);
  const app = await buildToolApp({
    ...spec,
    tokens,
    tools: renderTools(OPERATIONS),
    pages: PAGES,
    callApi: createCallApi(apiUrl, dispatcher),
    nowMs: Date.now,
    // A host has no letter case (RFC 3986 section 3.2.2).
    hosts: [new URL(spec.mcpUrl).host, ...hosts.map((host) => host.toLowerCase())],
    origins: [spec.mcpUrl, ...origins].flatMap((url) => (url === null ? [] : [new URL(url).origin])),
    onFault: (err) => log.warn({ err }, 'a key seen in a URL could not be marked'),
    log,
  });
  return {
    app,
    close: async () => {
      await app.close();
      await tokens?.close();
      await dispatcher.close();
    },
  };
};
