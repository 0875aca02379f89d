// `DATABASE_URL=… node infra/dev/bench/token-check.ts [--checks N]`: checks of access tokens a second on one core. A measurement, never a test.
import { randomBytes, randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { hashKey, shortenKey } from '../../../api/access/keys.ts';
import { hashToken } from '../../../api/accounts/token-hash.ts';
import { openConnectionKeys } from '../../../api/sign-in/connection-key.ts';
import { createTokenCheck } from '../../../api/sign-in/token-check.ts';
import { createUnits } from '../../../api/sign-in/units.ts';
import { migrate } from '../../postgres/migrate.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { createLog } from '../../runtime/process/log.ts';

const AT_ONCE = 8;
const MCP_URL = 'https://tools.example/mcp';
const TOKENS = 200;

const { checks } = parseArgs({ options: { checks: { type: 'string', default: '20000' } } }).values;
const url = process.env['DATABASE_URL'];
if (url === undefined) throw new Error('set DATABASE_URL to an empty database');
const pool = openPostgres(url);
await migrate(pool);
const makeKey = openConnectionKeys(randomBytes(32));
const accountId = `acc_${randomUUID()}`;
await pool.query('insert into accounts (account_id) values ($1)', [accountId]);

const makeToken = async (): Promise<string> => {
  const [token, keyId, connectionId] = [randomBytes(32).toString('base64url'), `key_${randomUUID()}`, randomUUID()];
  const key = makeKey(connectionId);
  await pool.query(
    "insert into api_keys (key_id, account_id, hash, display, name, plan, kind) values ($1, $2, $3, $4, 'bench', 'free', 'connection')",
    [keyId, accountId, hashKey(key), shortenKey(key)],
  );
  await pool.query(
    `insert into connections (connection_id, account_id, client_id, redirect_uri, key_id, expires_at)
      values ($1, $2, $1, 'https://agent.example/', $3, now() + interval '1 day')`,
    [connectionId, accountId, keyId],
  );
  await pool.query("insert into oidc_items values ('AccessToken', $1, $2, $3, null, now() + interval '1 hour')", [
    hashToken(token),
    { aud: MCP_URL },
    connectionId,
  ]);
  return token;
};

const tokens: string[] = [];
while (tokens.length < TOKENS) tokens.push(await makeToken());
const log = createLog('bench', 'silent');
const check = createTokenCheck({ units: createUnits(pool), keyOf: makeKey, mcpUrl: MCP_URL, nowMs: Date.now, log });
const count = Number(checks);
let done = 0;
const ask = async (): Promise<void> => {
  while (done < count) {
    done += 1;
    const answer = await check(tokens[done % TOKENS] ?? '');
    if (!answer.active) throw new Error('a good token was refused');
  }
};
const [begun, cpu] = [performance.now(), process.cpuUsage()];
await Promise.all(Array.from({ length: AT_ONCE }, ask));
const { user, system } = process.cpuUsage(cpu);
const perSecond = (count / (performance.now() - begun)) * 1_000;
const perCore = count / ((user + system) / 1_000_000);
process.stdout.write(
  `${count} checks: ${perSecond.toFixed(0)} a second, ${perCore.toFixed(0)} a second of this process's CPU\n`,
);
await pool.end();
