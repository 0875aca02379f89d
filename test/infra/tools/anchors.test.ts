// `npm run anchors`: its output equals the chain, the kept trees and PostgreSQL, and it names what does not agree.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { runAnchors } from '../../../infra/tools/anchors.ts';
import { addDays, toDayAt } from '../../../processors/nightly/day.ts';
import { openTreeFile } from '../../../processors/nightly/steps/merkle/tree-file.ts';
import { toTreeKey } from '../../../schemas/anchor-chain.ts';
import { formatPartitionLeaf } from '../../../schemas/anchored.ts';
import { hashLeaf } from '../../../schemas/merkle/hash.ts';
import { createTree } from '../../../schemas/merkle/tree.ts';
import { openNode } from '../../support/days/anchor-chain.ts';
import { ownEngines, useEngines } from '../../support/engines/engines.ts';

t.setTimeout(900_000);
const DAYS = ['2026-01-10', '2026-01-11'];
const engines = await useEngines(t, ['postgres']);
const chains = await ownEngines(t, ['anvil']);
const databaseUrl = await engines.database();
const pool = openPostgres(databaseUrl, { max: 2 });
await migrate(pool);
const folder = mkdtempSync(join(tmpdir(), 'anchors-'));
const store = openFolderStore(folder);
t.teardown(async () => {
  await pool.end();
  rmSync(folder, { recursive: true, force: true });
});
const node = openNode(chains.endpoints.rpc_url);
const owner = await node.newOwner();
const keyFile = join(folder, 'owner.key');
writeFileSync(keyFile, `${owner.key}\n`);
const env = {
  DATABASE_URL: databaseUrl,
  RPC_URL: chains.endpoints.rpc_url,
  ARCHIVE_DIR: folder,
  ANCHOR_OWNER_KEY_FILE: keyFile,
};

/** A closed day of two tables, with the trees that the closing keeps. */
const closeDay = async (day: string): Promise<void> => {
  await pool.query("insert into archive_days (day, tiers, closed_at) values ($1, '{}', $1::date + interval '7 days')", [
    day,
  ]);
  const dayTree = createTree();
  for (const [at, table] of ['mark', 'ticker'].entries()) {
    const tree = await openTreeFile(await store.workFolder(`${day}-${table}`));
    for (let row = 0; row < 100 + at; row++) await tree.append(hashLeaf(Buffer.from(`${day} ${table} ${row}`)));
    const finished = await tree.finish();
    if (finished === null) throw new Error('no leaves');
    const partition = { day, table, rows: finished.size, root: finished.root.toString('hex') };
    const leaf = hashLeaf(Buffer.from(formatPartitionLeaf(partition)));
    dayTree.append(leaf);
    const key = toTreeKey(day, table, partition.root);
    await store.put(key, finished.path);
    await pool.query(
      'insert into anchor_partitions (day, table_name, rows, root, leaf, tree_key) values ($1, $2, $3, $4, $5, $6)',
      [...[day, table, partition.rows, partition.root, leaf.toString('hex'), key]],
    );
  }
  await pool.query('insert into anchor_days (day, schema_version, day_root) values ($1, 1, $2)', [
    day,
    dayTree.root()?.toString('hex'),
  ]);
};
const run = (words: string, over: Record<string, string> = {}) => runAnchors(words.split(' '), { ...env, ...over });

let contract = '';
let settings: Record<string, string> = {};

t.test('deploy prints the address once and for all', async (t) => {
  const { text } = await run('deploy');
  t.match(
    text,
    /^deployed in block 1\nnetwork {3}eip155:8453, first block 0x[0-9a-f]{64}: not Base, nothing binds\nowner {5}0x[0-9a-f]{40}\nANCHOR_CONTRACT=0x[0-9a-f]{40}$/,
  );
  t.equal((await run('deploy')).text, text.replace('deployed in', 'deployed before in'));
  t.notMatch(text, owner.key.slice(2));
  contract = /ANCHOR_CONTRACT=(\S+)/.exec(text)?.[1] ?? '';
  settings = { ANCHOR_CONTRACT: contract };
});

t.test('post takes every closed day that is due, list shows them, check finds nothing wrong', async (t) => {
  t.equal((await run('list')).text, 'no day is closed yet');
  t.same(await run('post', settings), { text: 'nothing is due', failed: false });
  for (const day of DAYS) await closeDay(day);
  t.match(
    (await run('check', settings)).text,
    /ok {5} 2026-01-10: pending, the contract has no root yet|pending, not posted/,
  );
  const posted = await run('post', settings);
  t.equal(posted.failed, false);
  t.match(
    posted.text,
    /^2026-01-10 {2}[0-9a-f]{64} in block \d+ of eip155:8453, not binding: 0x[0-9a-f]{64}\n2026-01-11 {2}/,
  );
  t.match((await run('post 2026-01-10', settings)).text, /^2026-01-10 {2}confirmed before in block/);
  const [head, first] = (await run('list')).text.split('\n');
  t.match(head, /^day +root +tables +rows +status +network +block +anchored at \(UTC\) +transaction$/);
  t.match(first, /^2026-01-10 {2}[0-9a-f]{12}… {2}2 +201 +confirmed {2}eip155:8453 \(not binding\) +\d+ +\d{4}-/);
  const { text, failed } = await run('check', settings);
  t.equal(failed, false, text);
  for (const line of [
    `${contract} has the committed code`,
    `${contract} belongs to ${owner.account.address.toLowerCase()}`,
    '2026-01-11 ticker: 101 kept leaves give the recorded root',
    '2026-01-11: 2 tables give the day root',
    '2026-01-11: the contract holds the day root',
    'is at a depth of',
  ])
    t.match(text, line);
});

t.test('a day that is not due is refused', async (t) => {
  const yesterday = addDays(toDayAt(Date.now()), -1);
  await t.rejects(
    run(`post ${yesterday}`, settings),
    new RegExp(`${yesterday} is due at ${addDays(yesterday, 7)}T02:00`),
  );
  await t.rejects(run(`post ${yesterday} --early`, settings), /is not closed, or has no rows/);
});

t.test('check names what does not agree', async (t) => {
  const wrong = async (
    name: string,
    change: string,
    found: RegExp,
    over: Record<string, string> = {},
  ): Promise<void> => {
    const {
      rows: [day],
    } = await pool.query("select * from anchor_days where day = '2026-01-10'");
    const {
      rows: [partition],
    } = await pool.query("select * from anchor_partitions where day = '2026-01-10' and table_name = 'mark'");
    if (change !== '') await pool.query(change);
    const { text, failed } = await run('check 2026-01-10', { ...settings, ...over });
    t.ok(failed, name);
    t.match(text, found, name);
    await pool.query('update anchor_days set day_root = $1, status = $2, tx_hash = $3, block = $4 where day = $5', [
      day.day_root,
      day.status,
      day.tx_hash,
      day.block,
      '2026-01-10',
    ]);
    await pool.query(
      "update anchor_partitions set root = $1, leaf = $2, tree_key = $3 where day = '2026-01-10' and table_name = 'mark'",
      [partition.root, partition.leaf, partition.tree_key],
    );
  };
  const day = "where day = '2026-01-10'";
  await wrong(
    'another day root',
    `update anchor_days set day_root = repeat('a', 64) ${day}`,
    /FAULT {2}2026-01-10: the contract holds [0-9a-f]{64}, the day root is a{64}/,
  );
  await wrong(
    'another root of a table',
    `update anchor_partitions set root = repeat('a', 64) ${day} and table_name = 'mark'`,
    /FAULT {2}2026-01-10 mark: the 100 kept leaves have the root/,
  );
  await wrong(
    'another leaf of a table',
    `update anchor_partitions set leaf = repeat('a', 64) ${day} and table_name = 'mark'`,
    /FAULT {2}2026-01-10 mark: the leaf of the table is not that of[\s\S]*FAULT {2}2026-01-10: the tables give the day root/,
  );
  await wrong(
    'a lost tree',
    `update anchor_partitions set tree_key = 'anchors/lost' ${day} and table_name = 'mark'`,
    /FAULT {2}2026-01-10 mark: the kept tree cannot be read/,
  );
  await wrong(
    'another transaction',
    `update anchor_days set tx_hash = '0x${'a'.repeat(64)}' ${day}`,
    /FAULT {2}2026-01-10: confirmed, but no block holds/,
  );
  await wrong(
    'another block',
    `update anchor_days set block = block + 1 ${day}`,
    /FAULT {2}2026-01-10: transaction 0x\w+ is in block/,
  );
  await wrong('another owner', '', /FAULT {2}0x\w+ belongs to 0x\w+, ANCHOR_OWNER_KEY is of 0x/, {
    ANCHOR_OWNER_KEY: (await node.newOwner()).key,
    ANCHOR_OWNER_KEY_FILE: '',
  });
  const code = await node.request('eth_getCode', contract, 'latest');
  await node.request('anvil_setCode', contract, '0x6000');
  const other =
    /FAULT {2}0x\w+ has other code than infra\/contract\/AnchorRoots.json[\s\S]*FAULT {2}2026-01-10: root of the day: /;
  await wrong('other code', '', other);
  await node.request('anvil_setCode', contract, code);
  const { text, failed } = await run('check', settings);
  t.notOk(failed, text);
});

t.test('what cannot be understood is refused with the usage', async (t) => {
  await t.rejects(run('post yesterday'), /"yesterday" is not a day such as 2026-01-15\nusage: npm run anchors/);
  await t.rejects(run('undo'), /"undo" is not a command\nusage/);
  const away = await run('check', { RPC_URL: 'http://127.0.0.1:1/secret-path' }).catch((error: Error) => error.message);
  t.match(away, /^identity of the chain: /);
  t.notMatch(away, 'secret-path');
});
