// A process that ends while calls are in flight: they are answered before their connections are closed.
import t from 'tap';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { startToolService } from '../../support/apps/tool-fixture.ts';
import { beginCall, openSocket } from '../../support/services/slow-call.ts';
import { waitFor } from '../../support/wait.ts';

t.test('a call in flight when the process ends is answered', async (t) => {
  const { app, as } = await testApp(market());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const body = JSON.stringify({ where: 'base = BTC', layers: ['mark'] });
  const finish = await beginCall(app, { path: '/v2/snapshots', headers: as('pro'), body });
  const closed = app.close();
  t.equal(await finish(), 200);
  await closed;
});

t.test('a call of the tool server in flight is answered too', async (t) => {
  const { toolApp, as } = await startToolService(t, market());
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  const accept = 'application/json, text/event-stream';
  const finish = await beginCall(toolApp, { path: '/mcp', headers: { ...as('pro'), accept }, body });
  const closed = toolApp.close();
  t.equal(await finish(), 200);
  await closed;
});

t.test(
  'a call that does not come to its end delays the end by five seconds, in which others are answered',
  async (t) => {
    const { app, as } = await testApp(market());
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const finish = await beginCall(app, { path: '/v2/snapshots', headers: as('pro'), body: '{}' });
    const began = performance.now();
    const closed = app.close();
    t.equal((await fetch(`${url}/v2/venues`)).status, 200);
    await closed;
    const tookMs = performance.now() - began;
    t.ok(tookMs > 4_000 && tookMs < 9_000, `${Math.round(tookMs)} ms`);
    t.equal(await finish(), null);
  },
);

t.test('calls that come while others are finished are answered too, then no new connection is taken', async (t) => {
  const { app, as } = await testApp(market());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const call = { path: '/v2/snapshots', headers: as('pro'), body: JSON.stringify({ where: 'base = BTC' }) };
  const silent = await openSocket(app);
  const finishFirst = await beginCall(app, call);
  const closed = app.close();
  const finishSecond = await beginCall(app, call);
  t.equal(await finishFirst(), 200);
  await waitFor('no new connection is taken', () => !app.server.listening);
  const finishLast = await beginCall(app, { ...call, socket: silent });
  t.equal(await finishSecond(), 200, 'of a connection that came meanwhile');
  t.equal(await finishLast(), 200, 'of a connection that was open and silent');
  await closed;
});
