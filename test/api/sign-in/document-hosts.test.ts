// Documents of clients are fetched from public hosts alone: nothing of our network is connected to, whatever address a stranger names (D-515).
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createListener } from 'node:net';
import t from 'tap';
import type { Resolve } from '../../../api/rules/public-address.ts';
import { AddressMeter } from '../../../api/sign-in/address-meter.ts';
import { openConnections } from '../../../api/sign-in/connections.ts';
import { isPublicHost } from '../../../api/sign-in/document-hosts.ts';
import { createExchanges } from '../../../api/sign-in/exchanges.ts';
import { createProvider } from '../../../api/sign-in/provider.ts';
import { openRenewals } from '../../../api/sign-in/renewals.ts';
import type { Query, Units } from '../../../api/sign-in/units.ts';

const RESOLVED: Readonly<Record<string, readonly string[]>> = {
  'open.example': ['93.184.215.14'],
  'inside.example': ['10.0.0.5'],
  'half.example': ['93.184.215.14', '169.254.169.254'],
  'none.example': [],
};
const resolve: Resolve = async (host) => (RESOLVED[host] ?? [host]).map((address) => ({ address, family: 4 }));

t.test('a host is public when all of its addresses are', async (t) => {
  t.equal(await isPublicHost('https://open.example/client.json', resolve), true);
  for (const host of ['inside.example', 'half.example', 'none.example'])
    t.equal(await isPublicHost(`https://${host}/client.json`, resolve), false, host);
  for (const host of ['localhost', '127.0.0.1:8443', '2130706433', '0x7f.1', '10.1.2.3', '169.254.169.254', '0.0.0.0'])
    t.equal(await isPublicHost(`https://${host}/`), false, host);
  for (const host of ['[::1]', '[::ffff:127.0.0.1]', '[fd00::1]', '[64:ff9b::7f00:1]'])
    t.equal(await isPublicHost(`https://${host}/`), false, host);
});

/** A database without a row. */
const query: Query = async () => ({ rows: [], rowCount: 0, command: '', oid: 0, fields: [] });
const units: Units = { query, alone: query, run: (work) => work() };

t.test('the provider connects to no address of ours', async (t) => {
  const nowMs = Date.now;
  const [issuer, mcpUrl, secret] = ['http://localhost:1', 'http://localhost:2/mcp', Buffer.alloc(32)];
  const connections = openConnections({ units, keyOf: (id) => id, nowMs });
  const renewals = openRenewals(units, { connections, nowMs });
  const exchanges = createExchanges({ units, renewals, mcpUrl, fetches: new AddressMeter(60, 3_600_000), nowMs });
  const provider = createProvider({ units, connections, exchanges, issuer, mcpUrl, secret, nowMs });
  const site = createServer(provider.callback());
  let connected = 0;
  const inside = createListener((socket) => {
    connected += 1;
    socket.destroy();
  });
  for (const server of [site, inside]) {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    t.teardown(() => server.close());
  }
  const { port } = site.address() as AddressInfo;
  const { port: closed } = inside.address() as AddressInfo;
  const asked = new URLSearchParams({
    ...{ client_id: `https://127.0.0.1:${closed}/client.json`, redirect_uri: 'https://agent.example/back' },
    ...{ response_type: 'code', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', scope: 'market:read' },
  });
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/authorize?${asked}`, { redirect: 'manual' });
  t.equal(answer.status, 400);
  t.equal(connected, 0);
});
