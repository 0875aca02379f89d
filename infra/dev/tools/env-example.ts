// Text of `.env.example`: every setting of every process with its description and default, made from the processes' own tables.
import { API_CONFIG } from '../../../api/config.ts';
import { INGEST_CONFIG } from '../../../ingest/config.ts';
import { PROCESSORS_CONFIG } from '../../../processors/config.ts';
import { NIGHTLY_CONFIG } from '../../../processors/nightly/config.ts';
import { describeConfig } from '../../runtime/config.ts';
import { STANDARD_PORTS } from '../engines/ports.ts';
import { SIMULATOR_CONFIG } from '../simulator/config.ts';

const section = (title: string, text: string): string => `# ---- ${title} ----\n\n${text}`;

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

/** The whole file. */
export const envExample = (): string =>
  [
    '# Made by infra/dev/tools/env-example.ts. `npm run demo` and `npm start` set what a local run needs; a process alone reads these.\n',
    section('local runs', LOCAL),
    section('ingest', describeConfig(INGEST_CONFIG)),
    section('processors', describeConfig(PROCESSORS_CONFIG)),
    section('nightly', describeConfig(NIGHTLY_CONFIG)),
    section('api', describeConfig(API_CONFIG)),
    section('simulator (demo only)', describeConfig(SIMULATOR_CONFIG)),
  ].join('\n');

if (import.meta.main) process.stdout.write(envExample());
