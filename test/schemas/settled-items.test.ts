// The items of an answer as they stand in its text, and their hash without what retention moves (OP-03, D-466).
import t from 'tap';
import { findItems, hashSettledItems } from '../../schemas/settled-items.ts';

t.test('items are found whole, whatever strings and raw members they hold', (t) => {
  for (const items of [
    '[]',
    '[{"venue_symbol":"A]\\"[","rows":[[1],[2]]}]',
    '[{"rows":[{"raw":{"items":[{"p":"1"}]}}]},{"rows":[]}]',
  ])
    t.equal(findItems(`{"settled":true,"items_sha256":"00","items":${items},"page":{"limit":1}}`), items);
  t.equal(findItems('{"errors":[]}'), null);
  t.equal(findItems('{"items":[{"rows":['), null, 'an answer that ends within them');
  t.end();
});

t.test('the hash of another day is the same, that of other rows is not', (t) => {
  const print = (from: string, price: string): string => `[{"rows":[{"price":${price}}],"retention_from":"${from}"}]`;
  const hash = hashSettledItems(print('2026-01-01T00:00:00.000Z', '1.5'));
  t.equal(hashSettledItems(print('2026-01-02T00:00:00.000Z', '1.5')), hash);
  t.not(hashSettledItems(print('2026-01-01T00:00:00.000Z', '1.50')), hash);
  t.end();
});
