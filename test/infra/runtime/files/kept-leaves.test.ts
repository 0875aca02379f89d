// Stored rows compared with the kept hashes of their leaves: a changed, lost or added row is a difference, wherever it lies (AN-05).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { compareLeaves } from '../../../../infra/runtime/files/kept-leaves.ts';
import { openFolderStore } from '../../../../infra/runtime/files/object-store.ts';
import type { LeafRow } from '../../../../infra/runtime/questdb/leaf-rows.ts';
import { ANCHORED_TABLES, type AnchoredTable, createRowWriter } from '../../../../schemas/anchored.ts';
import { hashLeaf } from '../../../../schemas/merkle/hash.ts';

const folder = mkdtempSync(join(tmpdir(), 'leaves-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const store = openFolderStore(folder);
const table = ANCHORED_TABLES.find(({ table }) => table === 'ticker') as AnchoredTable;
const write = createRowWriter(table);

const makeRow = (last: string): LeafRow => ({
  cells: table.columns.map(({ name }) => (name === 'last' ? last : null)),
  recordedAt: null,
});
/** The listing's leaves are the sixth to the ninth of its partition. */
const range = { first: 5, rows: 4 };
const leaves = Array.from({ length: 12 }, (_, at) => hashLeaf(write(makeRow(String(at)).cells)));
const file = join(folder, 'tree');
writeFileSync(file, Buffer.concat(leaves));
await store.put('day/tree', file);

const compare = (batches: readonly (readonly string[])[], ...meant: readonly string[]) => {
  const rows = (async function* () {
    for (const batch of batches) yield batch.map(makeRow);
  })();
  const isMeant = ({ cells }: LeafRow): boolean => meant.some((last) => cells.includes(last));
  return compareLeaves({ table, rows, range, kept: { store, treeKey: 'day/tree' }, isMeant });
};

t.test('equal rows are found at their places, however they are read', async (t) => {
  for (const batches of [[['5', '6', '7', '8']], [['5', '6', '7'], ['8']], [['5'], [], ['6', '7', '8']]]) {
    const { difference, meant } = await compare(batches, '8');
    t.equal(difference, null);
    t.equal(meant?.index, 8);
    t.equal(meant?.canonical, write(makeRow('8').cells));
    t.ok(meant?.leaf.equals(leaves[8] as Buffer));
  }
  t.equal((await compare([['5', '6', '7', '8']], '9')).meant, null, 'no other row is meant');
  t.equal(
    (
      await compare(
        [
          ['5', '6'],
          ['7', '8'],
        ],
        '5',
        '7',
      )
    ).meant?.index,
    7,
    'of several the last',
  );
});

t.test('a row that is lost, added, changed or elsewhere is a difference', async (t) => {
  for (const [batches, difference] of [
    [[['5', '6', '7']], '3 stored rows for 4 leaves'],
    [[], '0 stored rows for 4 leaves'],
    [[['5', '6', '7', '8', '9']], '5 stored rows for 4 leaves'],
    [[['5', '6', '7', '8'], ['9']], '5 stored rows for 4 leaves'],
    [
      [
        ['5', '6'],
        ['7', '80'],
      ],
      'leaf 8 differs from its stored row',
    ],
    [[['6', '7', '8']], 'leaf 5 differs from its stored row'],
    [[['5'], ['7', '6', '8']], 'leaf 6 differs from its stored row'],
  ] as const)
    t.equal((await compare(batches)).difference, difference, JSON.stringify(batches));
});

t.test('kept hashes that are lost are a difference', async (t) => {
  const short = join(folder, 'short');
  writeFileSync(short, Buffer.concat(leaves.slice(0, 7)));
  await store.put('day/short', short);
  const rows = (async function* () {
    yield ['5', '6', '7', '8'].map(makeRow);
  })();
  const { difference } = await compareLeaves({ table, rows, range, kept: { store, treeKey: 'day/short' } });
  t.equal(difference, '2 of the kept hashes from leaf 5 on are lost');
});
