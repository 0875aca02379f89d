// Settings of the tool server, beside the data API and over standard input, and its start in the process of the data API.
import { listenOn } from '../../infra/runtime/network/listen.ts';
import type { Config, ConfigSpec } from '../../infra/runtime/process/config.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { KeyStore } from '../access/key-store.ts';
import type { Tools } from './start-tools.ts';

export const TOOL_CONFIG = {
  MCP_URL: {
    type: 'url',
    default: null,
    description: 'Public URL of the tool server with its path; unset: no tool server.',
  },
  MCP_PORT: { type: 'integer', default: 8081, description: 'Port of the tool server, on HOST.' },
  MCP_HOSTS: {
    type: 'list',
    default: [],
    description: 'Additional values of the Host header (host:port) that the tool server accepts.',
  },
  MCP_ORIGINS: { type: 'list', default: [], description: 'Additional origins whose pages may call the tool server.' },
} as const satisfies ConfigSpec;

/** Of the tool server over standard input (`api/perp-mcp.ts`). */
export const PERP_MCP_CONFIG = {
  BASE_URL: { type: 'url', default: 'http://127.0.0.1:8080', description: 'URL of the data API.' },
  API_KEY: { type: 'string', secret: true, description: 'API key with which all calls are made.' },
} as const satisfies ConfigSpec;

/** Its own settings and those of the process that runs it. */
type ToolConfig = Config<typeof TOOL_CONFIG> & {
  readonly HOST: string;
  readonly TRUSTED_PROXIES: readonly string[];
  readonly BASE_URL: string | null;
  readonly ACCOUNT_URL: string | null;
  readonly AUTH_URL: string | null;
  readonly INTERNAL_URL: string;
};

/** It calls the data API at `apiUrl` as any client would; null where it has no address of its own. */
export const startTools = async (
  config: ToolConfig,
  apiUrl: string,
  { keys, secret, log }: { readonly keys: KeyStore; readonly secret: () => Promise<Buffer>; readonly log: Logger },
): Promise<Tools | null> => {
  const { MCP_URL: mcpUrl, AUTH_URL: authUrl, INTERNAL_URL: url } = config;
  if (mcpUrl === null) return null;
  // Loaded behind the start of the data API: its libraries are a sixth of what the process loads.
  const { createTools } = await import('./start-tools.ts');
  const tools = await createTools({
    mcpUrl,
    authUrl: authUrl?.replace(/\/$/, '') ?? null,
    signIn: authUrl === null ? null : { url, secret },
    apiUrl,
    keys,
    hosts: config.MCP_HOSTS,
    trustedProxies: config.TRUSTED_PROXIES,
    origins: [config.BASE_URL, config.ACCOUNT_URL, ...config.MCP_ORIGINS],
    log,
  });
  await listenOn(tools.app, { host: ['HOST', config.HOST], port: ['MCP_PORT', config.MCP_PORT] });
  return tools;
};
