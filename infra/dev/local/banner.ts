// Printed once the service runs: a call to paste, and all addresses.
import { join } from 'node:path';
import { makeAnalystUrl } from './endpoints.ts';
import type { ServiceOptions } from './options.ts';
import type { ArchivedPast } from './past.ts';
import { listPayingExample } from './payments.ts';
import type { Service } from './service.ts';

type Shown = Pick<ServiceOptions, 'venues' | 'source'> & { readonly endpointsFile: string };

export function formatBanner({ endpoints, engines }: Service, { venues, source, endpointsFile }: Shown): string {
  const what =
    source === 'simulated'
      ? `Simulated venues (${venues.join(', ')}): infra/dev/simulator invents all figures; they are not market data.`
      : `Live venues: ${venues.join(', ')}.`;
  const body = JSON.stringify({ where: 'base = BTC', layers: ['mark', 'funding', 'book'] });
  const lines = [
    '',
    what,
    '',
    'Try it:',
    '',
    `  ${formatExampleCall(endpoints.base_url, endpoints.keys.pro, body)}`,
    '',
    ...listPayingLines(endpoints),
    `API          ${endpoints.base_url}   (/openapi.json, /readyz)`,
    `Tools        ${endpoints.mcp_url}   (MCP; header Authorization: Bearer KEY)`,
    `Account      ${endpoints.account_url}   sign in: ${formatSignIn(endpoints)}`,
    ...(source === 'simulated' ? [`Explorer     ${endpoints.account_url}/explore   (open, no sign-in)`] : []),
    `Kafka        ${endpoints.kafka}`,
    `QuestDB      ${endpoints.questdb_http}   SQL, read only: psql '${makeAnalystUrl(endpoints)}'`,
    `PostgreSQL   ${endpoints.database_url}`,
    `EVM chain    ${endpoints.rpc_url}   day roots: ${endpoints.anchor_contract}`,
    ...(endpoints.control_url === null ? [] : [`Simulator    ${endpoints.control_url}   (faults, truth)`]),
    `Metrics      ${Object.values(endpoints.metrics_urls).join(' ')}`,
    `Keys         ${Object.entries(endpoints.keys)
      .map(([plan, key]) => `${plan} ${key}`)
      .join('\n             ')}`,
    `Logs         ${join(engines.dataDir.path, 'log')}`,
    `Addresses    ${endpointsFile}`,
    '',
    'Ctrl-C stops everything.',
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function listPayingLines({ base_url, buyer_private_key: buyer }: Service['endpoints']): readonly string[] {
  return buyer === null
    ? []
    : ['Or without a key, paid with USDC of the local chain:', '', ...listPayingExample(base_url, buyer), ''];
}

function formatSignIn({ accounts: { pro } }: Service['endpoints']): string {
  return `${pro.email}  ${pro.password}`;
}

function formatExampleCall(baseUrl: string, key: string, body: string): string {
  const headers = `-H 'authorization: Bearer ${key}' -H 'content-type: application/json'`;
  return `curl -s ${baseUrl}/v2/snapshots ${headers} -d '${body}'`;
}

/** Lines to paste once the past is archived: a list, a file for this folder, the root of a day, a proof, an indicator. */
export function listPastLines(
  { endpoints }: Service,
  { oldDay, yesterday, listing }: ArchivedPast & { readonly listing: string },
): string {
  const { base_url: base, rpc_url: rpc, keys } = endpoints;
  const free = `-H 'authorization: Bearer ${keys.free}'`;
  const pro = `-H 'authorization: Bearer ${keys.pro}'`;
  const proof = `venue=binance&symbol=BTCUSDT&layer=mark&at=${oldDay}T12:10:00Z`;
  const screen = JSON.stringify({ query: 'any(venues where ema(close, 20, 1h) > 0) where base = BTC' });
  const lines = [
    '',
    `The past is ready: the last days of binance:BTCUSDT, and ${oldDay}, which is closed under its root.`,
    '',
    '  # files of yesterday, one of them, and its rows (pip install duckdb pandas pyarrow)',
    `  curl -s '${base}/v2/archive?from=${yesterday}&to=${yesterday}' ${free}`,
    `  curl -sL ${base}/v2/archive/${listing}/mark/${yesterday} ${free} -o mark.parquet`,
    `  python3 -c "import duckdb; print(duckdb.read_parquet('mark.parquet').limit(5))"`,
    `  python3 -c "import pandas; print(pandas.read_parquet('mark.parquet').tail())"`,
    '  # the root of the old day, the proof of one of its rows, and both verifiers',
    `  curl -s ${base}/v2/anchors/${oldDay}`,
    `  curl -s '${base}/v2/anchors/proof?${proof}' ${pro} -o proof.json`,
    `  npm run verify -- proof.json --rpc ${rpc}`,
    `  python3 infra/verify/verify.py proof.json --rpc ${rpc}`,
    '  # an indicator over 80 hours',
    `  curl -s ${base}/v2/screen ${pro} -H 'content-type: application/json' -d '${screen}'`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}
