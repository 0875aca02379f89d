// API processes that take payments, over one database and one chain.
import type { Offer } from '../../../api/payments/offers.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { paymentSettings } from '../../support/apps/paid-api.ts';
import { type Teardown, useEngines } from '../../support/engines/engines.ts';
import { startNode, writeMarket } from '../../support/services/api-nodes.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';

export const startService = async (t: Teardown) => {
  const world = await startPaymentWorld(t);
  const engines = await useEngines(t, ['kafka', 'postgres']);
  const [namespace, databaseUrl] = [`${engines.namespace()}.`, await engines.database()];
  await writeMarket(engines, namespace);
  const pool = openPostgres(databaseUrl, { max: 4 });
  t.teardown(() => pool.end());
  await migrate(pool);
  const start = (name: string) =>
    startNode(t, { name, engines, namespace, databaseUrl, settings: paymentSettings(world) });
  return { world, pool, start };
};

/** The first offer of the kind. */
export const findOffer = (offers: readonly Offer[], kind: 'call' | 'plan'): Offer => {
  const found = offers.find(({ extra }) => extra.kind === kind);
  if (found === undefined) throw new Error(`no ${kind} is offered`);
  return found;
};
