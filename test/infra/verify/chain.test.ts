// Both verifiers of anchored data (AN-10) against a real chain: the posted root holds; another value, contract, chain or transaction is refused.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { verifyProofText } from '../../../infra/verify/verify.mjs';
import {
  type AnchorFacts,
  buildDay,
  DAY,
  listingFiles,
  makeDayAnswer,
  makeProof,
  writeTable,
} from '../../support/days/anchored-day.ts';
import { openAnchorChain } from '../../support/days/posted-roots.ts';
import { failedSteps, openVerifiers, runBoth } from '../../support/days/verifiers.ts';
import { useEngines } from '../../support/engines/engines.ts';

const OTHER_ROOT = `0x${createHash('sha256').update('another day').digest('hex')}` as const;
const STEPS = ['chain id', 'contract code', 'chain root', 'transaction'];
const FOLDER = mkdtempSync(join(tmpdir(), 'verify-chain-'));
t.teardown(() => rmSync(FOLDER, { recursive: true, force: true }));
t.setTimeout(900_000);

const day = buildDay();
const verifiers = openVerifiers(t, FOLDER);

/** The first block of Base itself. */
const BASE_GENESIS = '0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd';

/** Opens a node before the chain at `target` that gives its first block another hash; what is no block 0 passes unchanged. */
const openNode = async (t: Test, target: string, genesis: unknown): Promise<string> => {
  const server = createServer(async (request, response) => {
    const body = await readText(request);
    const answer = await fetch(target, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    const text = await answer.text();
    const { method, params } = JSON.parse(body) as { method: string; params: unknown[] };
    const isGenesis = method === 'eth_getBlockByNumber' && params[0] === '0x0';
    response.end(isGenesis ? JSON.stringify({ jsonrpc: '2.0', id: 1, result: genesis }) : text);
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

type Expected = { readonly code: number; readonly steps?: readonly string[]; readonly report: RegExp };
/** Holds that both print the same report, which fails at these steps and no other. */
const requireReport = async (
  t: Test,
  words: readonly string[],
  { code, steps = [], report }: Expected,
): Promise<string> => {
  const { python, node } = await verifiers.run(words);
  t.equal(node.out + node.err, python.out + python.err, 'both print the same');
  t.same([python.code, node.code], [code, code]);
  t.same(failedSteps(python.out), steps, python.out.replaceAll('\n', ' | '));
  t.match(python.out, report);
  return python.out;
};
const proofFile = async (facts: AnchorFacts, name = 'proof.json'): Promise<string> => {
  writeFileSync(join(FOLDER, name), JSON.stringify(await makeProof(day, { table: 'trades', index: 40 }, facts)));
  return name;
};

t.test('a posted root holds, anything else on the chain is refused by its step', async (t) => {
  const { endpoints } = await useEngines(t, ['anvil']);
  const rpc = ['--rpc', await openNode(t, endpoints.rpc_url, { hash: BASE_GENESIS })];
  const chain = await openAnchorChain(endpoints.rpc_url);
  const contract = await chain.deploy();
  const posted = await chain.post(contract, DAY, `0x${day.root}`);
  const root = `the root that ${contract.toLowerCase()} on eip155:8453 holds for ${DAY}`;

  await t.test('a proof, and files with their day', async (t) => {
    const words = [await proofFile(posted), ...rpc];
    const report = await requireReport(t, words, {
      code: 0,
      report: new RegExp(`^VERIFIED: row 40 of 114 of trades leads to ${root}\\.$`, 'm'),
    });
    for (const step of STEPS) t.match(report, new RegExp(`^ok {3}${step}: `, 'm'));
    t.notMatch(report, /^(skip|note)/m);
    const { python, node } = await runBoth(words, FOLDER);
    t.same(
      [python, node],
      [
        { code: 0, out: report, err: '' },
        { code: 0, out: report, err: '' },
      ],
      'the commands',
    );
    writeFileSync(join(FOLDER, 'day.json'), JSON.stringify(makeDayAnswer(day, posted)));
    const files = await writeTable(FOLDER, listingFiles(day.partitions[3] as never), 'parquet');
    await requireReport(t, ['day.json', ...files, ...rpc], {
      code: 0,
      report: new RegExp(`^VERIFIED: all of liquidations leads to ${root}\\.$`, 'm'),
    });
  });

  await t.test('a rehearsal is named as one', async (t) => {
    const words = [await proofFile({ ...posted, binding: false }), ...rpc];
    const report = await requireReport(t, words, { code: 0, report: /^VERIFIED in a rehearsal: /m });
    t.match(report, /^note rehearsal: the chain has the id of Base \(eip155:8453\) and is another one, so/m);
    const offline = [await proofFile({ ...posted, network: 'eip155:31337', binding: false })];
    await requireReport(t, offline, { code: 0, report: /^note rehearsal: the chain \(eip155:31337\) is not Base/m });
    const unnamed = [await proofFile({ ...posted, network: '', binding: false })];
    await requireReport(t, unnamed, { code: 0, report: /^note rehearsal: the chain \(\) is not Base/m });
    const unknown = [await proofFile({ ...posted, network: null, binding: false })];
    await requireReport(t, unknown, { code: 0, report: /^note rehearsal: the chain \(not known yet\) is not Base/m });
  });

  await t.test('an answer that hides a rehearsal: the first block tells that the chain is not Base', async (t) => {
    const proof = await proofFile(posted);
    const hidden = await requireReport(t, [proof, '--rpc', endpoints.rpc_url], {
      code: 0,
      report: /^VERIFIED in a rehearsal: /m,
    });
    t.match(hidden, /^note rehearsal: the chain has the id of Base \(eip155:8453\) and is another one, so/m);
    const content = readFileSync(join(FOLDER, proof), 'utf8');
    const checkBy = (node: string) => verifyProofText(content, { rpc: node });
    t.match(await checkBy(endpoints.rpc_url), { onChain: true, rehearsal: true }, 'for programs too');
    t.match(await checkBy(rpc[1] as string), { onChain: true, rehearsal: false });
    for (const genesis of [
      null,
      {},
      { hash: null },
      { hash: '0x12' },
      { hash: BASE_GENESIS.toUpperCase().replace('X', 'x') },
    ]) {
      const words = [proof, '--rpc', await openNode(t, endpoints.rpc_url, genesis)];
      await requireReport(t, words, { code: 0, report: /^VERIFIED: /m });
    }
    const other = [await proofFile({ ...posted, network: 'eip155:84532' }), '--rpc', endpoints.rpc_url];
    const report = await requireReport(t, other, { code: 1, steps: ['chain id'], report: /is not Base/ });
    t.equal(report.match(/^note rehearsal/gm)?.length, 1, 'noted once');
  });

  const other = await chain.deploy();
  const another = await chain.post(other, DAY, OTHER_ROOT);
  const empty = await chain.deploy();
  const nextDay = await chain.post(contract, '2026-01-11', OTHER_ROOT);
  const again = await chain.post(contract, DAY, `0x${day.root}`);
  // Code that returns the root for any question.
  const forged = '0x00000000000000000000000000000000000f0e0d';
  await chain.setCode(forged, `0x7f${day.root}60005260206000f3`);
  const nobody = '0x00000000000000000000000000000000000a0b0c';
  const block = posted.block as number;
  const cases: readonly (readonly [string, Partial<AnchorFacts>, readonly string[], RegExp])[] = [
    [
      'another value on the chain',
      another,
      ['chain root', 'transaction'],
      new RegExp(`another root for this day\\n {5}expected ${day.root}\\n {5}found {4}${OTHER_ROOT.slice(2)}`),
    ],
    [
      'a day that is not posted',
      { contract: empty, tx_hash: null },
      ['chain root'],
      /holds no root for this day\n.*\n {5}found {4}0{64}\n/,
    ],
    ['other code', { contract: forged, tx_hash: null }, ['contract code'], /other code \(SHA-256 of its bytes\)/],
    ['no code', { contract: nobody, tx_hash: null }, ['contract code', 'chain root'], /no contract at this address/],
    [
      'a contract that is none',
      { contract: contract.slice(0, -1), tx_hash: null },
      ['contract code', 'chain root'],
      /not 0x and 40 hex digits/,
    ],
    [
      'a contract that is not known yet',
      { contract: null, tx_hash: null },
      ['contract code', 'chain root'],
      /anchor\.contract is null: the day is not posted yet/,
    ],
    [
      'another chain',
      { network: 'eip155:84532' },
      ['chain id'],
      /another chain\n {5}expected eip155:84532\n {5}found {4}eip155:8453/,
    ],
    ['a network that is not known yet', { network: null }, ['chain id'], /network is null: the day is not posted yet/],
    ['a network that is none', { network: 'base' }, ['chain id'], /expected base\n/],
    [
      'another block',
      { block: block + 1 },
      ['transaction'],
      new RegExp(`another block\\n {5}expected ${block + 1}\\n {5}found {4}${block}\\n`),
    ],
    [
      'another time',
      { anchored_at: '2026-01-17T02:00:00.000Z' },
      ['transaction'],
      /block has another time\n {5}expected 2026-01-17T02:00:00.000Z\n/,
    ],
    [
      'a time with more behind it',
      { anchored_at: `${posted.anchored_at}0` },
      ['transaction'],
      new RegExp(
        `block has another time\\n {5}expected ${posted.anchored_at}0\\n {5}found {4}${posted.anchored_at}\\n`,
      ),
    ],
    [
      'the transaction of another day',
      { ...nextDay, contract },
      ['transaction'],
      /no event Anchored of this contract and day/,
    ],
    [
      'the transaction of another contract',
      { ...another, contract },
      ['transaction'],
      /no event Anchored of this contract and day/,
    ],
    ['a transaction that reverted', again, ['transaction'], /did not succeed\n {5}expected 0x1\n {5}found {4}0x0/],
    ['a transaction that is unknown', { tx_hash: OTHER_ROOT }, ['transaction'], /no such transaction/],
    ['a transaction that is none', { tx_hash: '0x12' }, ['transaction'], /not 0x and 64 hex digits/],
  ];
  for (const [what, facts, steps, report] of cases) {
    const words = [await proofFile({ ...posted, ...facts }), ...rpc];
    await t.test(what, (t) => requireReport(t, words, { code: 1, steps, report }));
  }
  await t.test('no transaction is given', async (t) => {
    const words = [await proofFile({ ...posted, tx_hash: null }), ...rpc];
    const report = await requireReport(t, words, { code: 0, report: /^VERIFIED: /m });
    t.match(report, /^skip transaction: the answer names no transaction$/m);
  });
});

/** Answers of an RPC that is broken: the same to every question. */
const BROKEN: readonly (readonly [number, string, RegExp])[] = [
  [500, '{}', /the RPC did not answer eth_chainId/],
  [200, 'hello', /the RPC did not answer eth_chainId/],
  [200, '['.repeat(200_000), /the RPC did not answer eth_chainId/],
  [200, '[]', /the RPC refused eth_chainId/],
  [200, '{"error":{"code":-32000,"message":"\\u001b[2J"}}', /the RPC refused eth_call/],
  [200, '{"result":"8453"}', /did not answer eth_chainId with a number/],
  [200, '{"result":null}', /did not answer eth_getCode with bytes/],
  [200, '{"result":"0x"}', /there is no contract at this address/],
  [200, '{"result":{"status":"0x1","blockNumber":"0x1","logs":[null,7,{}]}}', /did not answer eth_call with bytes/],
];

t.test('an RPC that is away or answers nonsense fails the steps on the chain', async (t) => {
  const facts = {
    network: 'eip155:8453',
    contract: `0x${'a'.repeat(40)}`,
    tx_hash: OTHER_ROOT,
    block: 1,
    anchored_at: null,
  };
  const words = [await proofFile(facts), '--rpc'];
  for (const [status, body, report] of BROKEN) {
    const server = createServer((_, response) => response.writeHead(status).end(body));
    await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await requireReport(t, [...words, url], { code: 1, steps: STEPS, report });
    server.closeAllConnections();
    await new Promise((settle) => server.close(settle));
    await requireReport(t, [...words, url], {
      code: 1,
      steps: STEPS,
      report: /the RPC did not answer eth_getTransactionReceipt/,
    });
  }
  await requireReport(t, [...words, 'http://'], { code: 2, report: /^$/ });
  await requireReport(t, [...words, 'http://['], {
    code: 1,
    steps: STEPS,
    report: /the RPC did not answer eth_chainId/,
  });
});
