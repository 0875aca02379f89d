// `npm run --silent perp-mcp`: the tool server over standard input and output, for clients that only start programs.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { Agent } from 'undici';
import { readConfig } from '../infra/runtime/process/config.ts';
import { isHelpAsked } from '../infra/runtime/process/print-outcome.ts';
import { describeError } from '../schemas/thrown.ts';
import { OPERATIONS } from './operations/index.ts';
import { createCallApi } from './tool-app/call-api.ts';
import { createMcpServer } from './tool-app/mcp-server.ts';
import { PAGES } from './tool-app/pages.ts';
import { ExactStdio } from './tool-app/stdio.ts';
import { PERP_MCP_CONFIG } from './tool-app/tool-config.ts';
import { renderTools } from './tool-app/tools.ts';

const USAGE = `usage: npm run --silent perp-mcp
The tool server over standard input and output. Settings: ${Object.keys(PERP_MCP_CONFIG).join(', ')}.
`;

const serve = (): void => {
  const { BASE_URL: baseUrl, API_KEY: key } = readConfig(PERP_MCP_CONFIG, process.env);
  const deps = {
    tools: renderTools(OPERATIONS),
    pages: PAGES,
    callApi: createCallApi(baseUrl, new Agent()),
    nowMs: Date.now,
  };
  // Without a connection no user can sign in again: a refused key fails the call.
  const caller = { key, address: null, signal: new AbortController().signal, onUnauthorized: () => undefined };

  serveStdio(() => createMcpServer(deps, caller), { transport: new ExactStdio() });
};

try {
  if (isHelpAsked(process.argv)) process.stdout.write(USAGE);
  else serve();
} catch (error) {
  // The client shows what stands on standard error.
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}
