// Waits for the books: one without its snapshot is neither applied nor told, so a service without books does half its work.
import type { ApiClient } from './api-client.ts';
import { until } from './until.ts';

const PATIENCE = { everyMs: 500, forMs: 120_000 };

type Item = { readonly layers: { readonly book?: { readonly status: string } } };

/** Books of listings that the API has nothing of. */
const countMissing = async ({ post }: ApiClient): Promise<number> => {
  const { text } = await post('/v2/snapshots', { layers: ['book'] });
  const { items } = JSON.parse(text) as { items: readonly Item[] };
  return items.filter(({ layers }) => layers.book?.status === 'missing').length;
};

/** Answers how many have not come in time. */
export const waitForBooks = async (client: ApiClient): Promise<number> => {
  let missing = 0;
  await until(async () => {
    missing = await countMissing(client);
    return missing === 0;
  }, PATIENCE);
  return missing;
};
