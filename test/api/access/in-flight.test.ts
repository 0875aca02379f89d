// A request whose client has left is in flight until its work has ended: leaving early makes no room for more work (AC-02, P-04, D-513).
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import t from 'tap';
import type { CallPayment, PaymentChecks } from '../../../api/access/call.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { Meter } from '../../../api/access/meter.ts';
import { Places } from '../../../api/access/places.ts';
import type { AgentRules } from '../../../api/rules/desk.ts';
import { KeyTable, market, type TestApp, testApp } from '../../support/apps/live-fixture.ts';
import { waitFor } from '../../support/wait.ts';

const RULE = `rule_${'0'.repeat(26)}`;

class CountedPlaces extends Places {
  taken = 0;

  override async take(...words: Parameters<Places['take']>): Promise<boolean> {
    const isTaken = await super.take(...words);
    if (isTaken) this.taken += 1;
    return isTaken;
  }
}

/** Rules whose reading begins, and ends when the test lets it. */
const holdRules = () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const rules: AgentRules = {
    find: async () => [RULE],
    read: async () => {
      begun.resolve();
      await ended.promise;
      return [];
    },
    evaluate: async () => undefined,
  };
  return { rules, begun: begun.promise, end: () => ended.resolve() };
};

/** Sends a request and leaves once `begun`; resolves when the service has seen that. */
const askAndLeave = async ({ app }: TestApp, headers: readonly string[], begun: Promise<void>): Promise<void> => {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  const head = [`GET /v2/agent/state?rule_id=${RULE} HTTP/1.1`, 'Host: localhost', ...headers];
  const client = connect(port, '127.0.0.1', () => client.write(`${head.join('\r\n')}\r\n\r\n`));
  const [socket] = await accepted;
  const closed = once(socket, 'close');
  await begun;
  client.destroy();
  await closed;
};

t.test('a place of the key is taken as long as the work', async (t) => {
  const meter = new Meter();
  const { rules, begun, end } = holdRules();
  const service = await testApp(market(), { meter, rules });
  t.teardown(() => service.app.close());
  const { free } = service.keys;
  await askAndLeave(service, [`Authorization: Bearer ${free}`], begun);
  const keyId = service.table.row(free)?.key_id ?? '';
  t.equal(meter.inFlight(keyId), 1);
  end();
  await waitFor('its place', () => meter.inFlight(keyId) === 0);
});

t.test('a client that leaves while its key is checked keeps no place', async (t) => {
  const places = new CountedPlaces();
  const meter = new Meter(undefined, places);
  const table = new KeyTable();
  const free = table.add('free');
  const store = openKeyStore(table as unknown as Parameters<typeof openKeyStore>[0]);
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const find: typeof store.find = async (...words) => {
    asked.resolve();
    await left.promise;
    return store.find(...words);
  };
  const { rules, end } = holdRules();
  end();
  const keys = new Proxy(store, { get: (of, name) => (name === 'find' ? find : Reflect.get(of, name, of)) });
  const service = await testApp(market(), { meter, rules, keys });
  t.teardown(() => service.app.close());
  await askAndLeave(service, [`Authorization: Bearer ${free}`], asked.promise);
  left.resolve();
  await waitFor('its place', () => places.taken === 1 && meter.inFlight(table.row(free)?.key_id ?? '') === 0);
});

t.test('a payment is in flight as long as the work', async (t) => {
  const { rules, begun, end } = holdRules();
  const ends: string[] = [];
  const payment: CallPayment = {
    buys: 'call',
    payer: `0x${'0'.repeat(40)}`,
    take: async () => null,
    end: async (left) => void ends.push(left),
  };
  const payments = {
    present: async () => payment,
    challenge: () => t.fail('no challenge'),
  } as unknown as PaymentChecks;
  const service = await testApp(market(), { rules, payments });
  t.teardown(() => service.app.close());
  await askAndLeave(service, ['PAYMENT-SIGNATURE: x'], begun);
  t.same(ends, []);
  end();
  await waitFor('its end', () => ends.length > 0);
  t.equal(ends[0], 'cut');
});
