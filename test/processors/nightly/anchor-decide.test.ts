// Decisions of a posting as tables: what follows from what is stored and what the chain answers (AN-03).
import t from 'tap';
import type { Receipt } from '../../../processors/nightly/steps/anchor/chain.ts';
import {
  decideNext,
  decideNonce,
  type Seen,
  type Situation,
  STUCK_MS,
} from '../../../processors/nightly/steps/anchor/decide.ts';

const NOW = 1_800_000_000_000;
const market = { baseFee: 10n, maxFee: 22n, priorityFee: 2n };
const receipt: Receipt = { succeeded: true, block: 100, blockHash: '0xb', minedAt: new Date(NOW) };
const seen = (over: Partial<Seen> = {}): Seen => ({
  ...{ hash: '0x1', nonce: 7, raw: '0x', maxFee: 22n, priorityFee: 2n, state: 'open' },
  ...{ signedAtMs: NOW, receipt: null, isKnown: true },
  ...over,
});
const STUCK = { signedAtMs: NOW - STUCK_MS };

t.test('the open transactions of one nonce are waited for, sent again, replaced or given up', (t) => {
  type Row = readonly [name: string, transactions: [Seen, ...Seen[]], mined: number, action: object];
  const rows: readonly Row[] = [
    ['it waits in the node', [seen()], 7, { kind: 'wait' }],
    ['the node lost it: the same bytes', [seen({ isKnown: false })], 7, { kind: 'send', transaction: { hash: '0x1' } }],
    [
      'the node lost it, and it pays the base fee to the unit',
      [seen({ isKnown: false, maxFee: 10n })],
      7,
      { kind: 'send' },
    ],
    ['it pays less than the base fee, and the node still has it', [seen({ maxFee: 9n })], 7, { kind: 'wait' }],
    [
      'the dearer one is followed, whichever was signed last',
      [seen({ hash: '0x2', maxFee: 30n }), seen()],
      7,
      { kind: 'wait', transaction: { hash: '0x2' } },
    ],
    ['it is mined', [seen({ receipt })], 8, { kind: 'mined', transaction: { hash: '0x1' } }],
    [
      'the dearer one is mined',
      [seen(), seen({ hash: '0x2', maxFee: 30n, receipt })],
      8,
      { kind: 'mined', transaction: { hash: '0x2' } },
    ],
    [
      'the cheaper one is mined',
      [seen({ receipt }), seen({ hash: '0x2', maxFee: 30n })],
      8,
      { kind: 'mined', transaction: { hash: '0x1' } },
    ],
    ['its nonce is used, perhaps by itself: a node may be behind', [seen()], 8, { kind: 'wait' }],
    ['another one has the nonce', [seen(STUCK)], 8, { kind: 'lost' }],
    ['a block was removed, the nonce is free', [seen({ state: 'mined', isKnown: false })], 7, { kind: 'send' }],
    [
      'a block was removed, the nonce is taken',
      [seen({ ...STUCK, state: 'mined', isKnown: false })],
      8,
      { kind: 'lost' },
    ],
    ['stuck, and it offers what the market asks', [seen(STUCK)], 7, { kind: 'wait' }],
    [
      'stuck, and the market price is higher',
      [seen({ ...STUCK, maxFee: 20n })],
      7,
      { kind: 'replace', fees: { maxFee: 23n, priorityFee: 3n } },
    ],
    [
      'stuck, and the tip is too small',
      [seen({ ...STUCK, maxFee: 90n, priorityFee: 1n })],
      7,
      { kind: 'replace', fees: { maxFee: 102n, priorityFee: 2n } },
    ],
    ['not stuck yet', [seen({ signedAtMs: NOW - STUCK_MS + 1, maxFee: 12n })], 7, { kind: 'wait' }],
    [
      'dropped, no block can take it',
      [seen({ isKnown: false, maxFee: 9n })],
      7,
      { kind: 'replace', fees: { maxFee: 22n } },
    ],
    [
      'the newest of two is stuck',
      [seen({ maxFee: 10n }), seen({ ...STUCK, hash: '0x2', maxFee: 16n })],
      7,
      { kind: 'replace', transaction: { hash: '0x2' } },
    ],
  ];
  for (const [name, transactions, mined, action] of rows)
    t.match(decideNonce(transactions, { mined, market, nowMs: NOW }), action, name);
  t.end();
});

t.test('a higher fee is at least an eighth higher, whatever the amounts', (t) => {
  for (let held = 1n; held < 200n; held++) {
    const action = decideNonce([seen({ ...STUCK, maxFee: held, priorityFee: 1n })], { mined: 7, market, nowMs: NOW });
    if (action.kind !== 'replace') return t.fail(`${held} is not replaced`);
    if (action.fees.maxFee * 8n < held * 9n || action.fees.maxFee < market.maxFee)
      t.fail(`${held} -> ${action.fees.maxFee}`);
  }
  t.pass('199 amounts');
  t.end();
});

t.test('a day is signed once, and confirmed only by the root that the contract holds', (t) => {
  const landed = { hash: '0x1', receipt } as const;
  const base: Situation = { held: 'nothing', landed: null, reverted: null, open: null, head: 163, confirmations: 64 };
  type Row = readonly [name: string, over: Partial<Situation>, next: object];
  const rows: readonly Row[] = [
    ['nothing is there', {}, { kind: 'sign' }],
    ['a transaction is on its way', { open: '0x1' }, { kind: 'wait', hash: '0x1', landed: null }],
    ['64 blocks deep', { held: 'ours', landed }, { kind: 'confirmed', landed }],
    ['63 blocks deep', { held: 'ours', landed, head: 162 }, { kind: 'wait', hash: '0x1', landed }],
    [
      'one block deep where it does not bind',
      { held: 'ours', landed, head: 100, confirmations: 1 },
      { kind: 'confirmed' },
    ],
    ['the node is behind its own receipt', { landed }, { kind: 'wait', landed }],
    ['the root is there, its transaction not found yet', { held: 'ours' }, { kind: 'wait', landed: null }],
    ['the transaction reverted', { reverted: '0x1' }, { kind: 'reverted', hash: '0x1' }],
    ['one reverted, another posted it', { held: 'ours', landed, reverted: '0x2' }, { kind: 'confirmed' }],
  ];
  for (const [name, over, next] of rows) t.match(decideNext({ ...base, ...over }), next, name);
  t.end();
});
