// Printed levels of a book that changes its scales between two prints: what was printed before is of other figures.
import t from 'tap';
import { applySnapshot, applyUpdate, createBook } from '../../../processors/task/book.ts';
import { findBestLevels, listTopLevels } from '../../../processors/task/book-levels.ts';
import type { Level } from '../../../schemas/records.ts';

const change = (bids: readonly Level[], asks: readonly Level[]) => ({ bids, asks, sequence: null });

t.test('a level is printed with its own figures after a price with more decimals has come', (t) => {
  const book = createBook();
  applySnapshot(book, change([['100', '5']], [['200', '5']]));
  listTopLevels(book, 25);
  // At one decimal 10 has the key that 100 had at none.
  applyUpdate(book, change([['10.5', '1']], []));
  applyUpdate(book, change([['10', '5']], [['20', '5']]));
  const bids = [
    ['100', '5'],
    ['10.5', '1'],
    ['10', '5'],
  ];
  t.same(listTopLevels(book, 25).bids, bids);
  applyUpdate(
    book,
    change(
      [
        ['100', '0'],
        ['10.5', '0'],
      ],
      [],
    ),
  );
  t.same(findBestLevels(book), { bid: ['10', '5'], ask: ['20', '5'] });
  t.end();
});

t.test('the same for a size with more decimals', (t) => {
  const book = createBook();
  applySnapshot(book, change([['100', '50']], []));
  listTopLevels(book, 25);
  applyUpdate(
    book,
    change(
      [
        ['99', '0.1'],
        ['100', '5'],
      ],
      [],
    ),
  );
  t.same(findBestLevels(book).bid, ['100', '5']);
  t.same(listTopLevels(book, 25).bids, [
    ['100', '5'],
    ['99', '0.1'],
  ]);
  t.end();
});
