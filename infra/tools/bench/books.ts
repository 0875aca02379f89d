// Waits for the books: one without its snapshot is neither applied nor told, so a service without books does half its work.
import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient } from './api-client.ts';

const DEADLINE_MS = 120_000;
const POLL_MS = 500;

type Item = { readonly layers: { readonly book?: { readonly status: string } } };

/** Books of listings that the API has nothing of. */
const countMissing = async ({ post }: ApiClient): Promise<number> => {
  const { text } = await post('/v2/snapshots', { layers: ['book'] });
  const { items } = JSON.parse(text) as { items: readonly Item[] };
  return items.filter(({ layers }) => layers.book?.status === 'missing').length;
};

/** Answers how many have not come in time. */
export const waitForBooks = async (client: ApiClient): Promise<number> => {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const missing = await countMissing(client);
    if (missing === 0 || performance.now() > deadline) return missing;
    await pause(POLL_MS);
  }
};
