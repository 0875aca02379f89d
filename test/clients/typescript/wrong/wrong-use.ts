// Wrong uses of the client, each a type error: a line whose error were gone fails the check of types.
import { type ApiError, type Client, type ClientOptions, createClient, type Digits } from 'perp-market-data-client';
import { downloadArchive } from 'perp-market-data-client/node';

const numbers = createClient();
const texts = createClient({ numberFormat: 'string' });

/** Options that were made elsewhere are taken; their figures are of either kind. */
export const asGiven = async (options: ClientOptions): Promise<void> => {
  const either: Client<Digits> = createClient(options);
  await downloadArchive(either, {}, { folder: 'archive' });
  const { items } = await either.snapshots();
  // @ts-expect-error perhaps texts
  console.log(2 * (items[0]?.layers['mark']?.values['mark'] ?? 0));
};

/** Never called: only its types are looked at. */
export const wrong = async (error: ApiError): Promise<void> => {
  // @ts-expect-error a period is needed
  await numbers.candles({ timeframe: '1h' });
  // @ts-expect-error a request is needed
  await numbers.candles();
  // @ts-expect-error a misspelt member
  await numbers.snapshots({ wher: 'base = BTC' });
  // @ts-expect-error layers of a call are a list
  await numbers.snapshots({ layers: 'mark' });
  // @ts-expect-error layers of a stream are names
  numbers.live({ layers: [1] });
  // @ts-expect-error names of rules are a list
  await numbers.agentState({ rule_id: 'rule_1' });
  // @ts-expect-error units are of a closed set
  await numbers.snapshots({ units: 'usd' });
  // @ts-expect-error the format of figures is chosen for the whole client
  await numbers.snapshots({ number_format: 'string' });
  // @ts-expect-error there is no such format
  createClient({ numberFormat: 'decimal' });
  // @ts-expect-error a client of texts gives no numbers
  const mixed: Client<number> = texts;
  const { items } = await texts.snapshots();
  // @ts-expect-error texts are not multiplied
  const doubled = 2 * (items[0]?.layers['mark']?.values['mark'] ?? 0);
  // @ts-expect-error answers are read only
  items.push();
  // @ts-expect-error there is no cursor to page by
  numbers.pages('books', {});
  // @ts-expect-error an event is known by its name before its data is read
  for await (const event of numbers.live()) console.log(event.data.state);
  // @ts-expect-error an instant, not a number
  numbers.follow({ layers: ['mark'], since: 1_700_000_000 });
  // @ts-expect-error a folder is needed
  await downloadArchive(numbers, {}, {});
  // @ts-expect-error not a code of the API
  if (error.code === 'RATE_LIMIT') return;
  // @ts-expect-error a path parameter is needed
  await numbers.anchorDay({});
  console.log(mixed, doubled);
};
