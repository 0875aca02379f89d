// Text of `.env.example`: every setting of every process with its description and default, generated from the processes' own tables.
import { API_CONFIG, PERP_MCP_CONFIG } from '../../../api/config.ts';
import { WEB_CONFIG } from '../../../api/web-config.ts';
import { INGEST_CONFIG } from '../../../ingest/config.ts';
import { PROCESSORS_CONFIG } from '../../../processors/config.ts';
import { NIGHTLY_CONFIG } from '../../../processors/nightly/config.ts';
import { describeConfig } from '../../runtime/config.ts';
import { STANDARD_PORTS } from '../engines/ports.ts';
import { SIMULATOR_CONFIG } from '../simulator/config.ts';

const printSection = (title: string, text: string): string => `# ---- ${title} ----\n\n${text}`;

const ports = Object.entries(STANDARD_PORTS)
  .map(([name, port]) => `# ${name}=${port}\n`)
  .join('');

const LOCAL = `# Folder of the embedded engines\u2019 data; .local/demo and .local/live without it.
# DATA_DIR=

# Where the addresses of a running service are written.
# ENDPOINTS_FILE=.local/endpoints.json

# Engines from outside instead of embedded ones.
# KAFKA_BROKERS=
# QUESTDB_HTTP=
# QUESTDB_PG=
# DATABASE_URL=
# RPC_URL=

# Folder with the programs of PostgreSQL, when they are not found by themselves.
# POSTGRES_BIN=

# Ports on loopback.
${ports}`;

const EVERY = `# Least level of the lines on standard error: trace, debug, info, warn, error, fatal, silent.
# LOG_LEVEL=info
`;

/** Settings of each process, in the order of the file. */
export const PROCESS_CONFIGS = {
  ingest: INGEST_CONFIG,
  processors: PROCESSORS_CONFIG,
  nightly: NIGHTLY_CONFIG,
  api: API_CONFIG,
  'web (account site and sign-in)': WEB_CONFIG,
  'perp-mcp (tool server over standard input)': PERP_MCP_CONFIG,
  'simulator (demo only)': SIMULATOR_CONFIG,
} as const;

/** The whole file. */
export const printEnvExample = (): string =>
  [
    '# Made by infra/dev/documents/env-example.ts. `npm run demo` and `npm start` set what a local run needs; a process alone reads these.\n',
    printSection('every process', EVERY),
    printSection('local runs', LOCAL),
    ...Object.entries(PROCESS_CONFIGS).map(([title, spec]) => printSection(title, describeConfig(spec))),
  ].join('\n');

if (import.meta.main) process.stdout.write(printEnvExample());
