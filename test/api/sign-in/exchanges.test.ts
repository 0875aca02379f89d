// A request of the provider on its way through: what was done is answered, whatever becomes of a note beside it.
import type { KoaContextWithOIDC } from 'oidc-provider';
import t from 'tap';
import { AddressMeter } from '../../../api/sign-in/address-meter.ts';
import { createExchanges, type Exchange } from '../../../api/sign-in/exchanges.ts';
import type { Renewals } from '../../../api/sign-in/renewals.ts';
import type { Units } from '../../../api/sign-in/units.ts';

const makeExchange = (kind: Exchange['kind'], form: URLSearchParams | null): Exchange => ({
  ...{ kind, form, address: '192.0.2.1', problem: null, failure: null },
});

t.test('tokens are given out although the use of their client could not be noted', async (t) => {
  const errors: unknown[] = [];
  const exchanges = createExchanges({
    // The database goes between the end of the transaction and the note.
    units: {
      run: (work: () => Promise<unknown>) => work(),
      alone: async () => {
        throw new Error('connection lost');
      },
    } as unknown as Units,
    renewals: {} as Renewals,
    mcpUrl: 'http://localhost/mcp',
    fetches: new AddressMeter(1, 1_000),
    nowMs: () => 0,
  });
  const app = { emit: (_name: string, error: unknown) => void errors.push(error) };
  for (const [kind, status, form] of [
    ['token', 200, new URLSearchParams({ grant_type: 'authorization_code', client_id: 'c' })],
    ['authorize', 303, null],
  ] as const) {
    const ctx = { status: 404, body: null as unknown, query: { client_id: 'c' }, set: () => undefined, app };
    await exchanges.run(makeExchange(kind, form), () =>
      exchanges.middleware(ctx as unknown as KoaContextWithOIDC, async () => {
        Object.assign(ctx, { status, body: { access_token: 'a' } });
      }),
    );
    t.match(ctx, { status, body: { access_token: 'a' } }, kind);
  }
  t.equal(errors.length, 2, 'both are logged');
});
