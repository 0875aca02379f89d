// Waits for the books: a book without its snapshot is neither applied nor published, so a service without books does half its work.
import type { ApiClient } from './api-client.ts';
import { waitUntil } from './until.ts';

const PATIENCE = { everyMs: 500, forMs: 120_000 };

type Item = { readonly layers: { readonly book?: { readonly status: string } } };

/** Number of listings without a book in the API. */
const countMissing = async ({ post }: ApiClient): Promise<number> => {
  const { text } = await post('/v2/snapshots', { layers: ['book'] });
  const { items } = JSON.parse(text) as { items: readonly Item[] };
  return items.filter(({ layers }) => layers.book?.status === 'missing').length;
};

/** Returns how many books are missing at the deadline. */
export const waitForBooks = async (client: ApiClient): Promise<number> => {
  let missing = 0;
  await waitUntil(async () => {
    missing = await countMissing(client);
    return missing === 0;
  }, PATIENCE);
  return missing;
};
