// GET /v2/anchors/proof: one stored row with its path to the root of its day, from which a stranger recomputes every step (AN-05, AN-06).
import Type from 'typebox';
import { type ApiError, ServiceError } from '../../schemas/errors.ts';
import { formatInstant, parseInstant } from '../../schemas/instants.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { ClosedDay } from '../anchors/closed-days.ts';
import type { Proof } from '../anchors/proof.ts';
import { findKind } from '../anchors/row-choice.ts';
import { findRowRefusals } from '../archive/plan.ts';
import { InstantText, SCOPE_CODES } from '../contract/parameters.ts';
import { throwAll } from '../contract/refusals.ts';
import { findSpelledCode, makeUnknownCode } from '../language/codes.ts';
import { findDirectory } from '../selection/directory.ts';
import {
  Anchor,
  describeNetwork,
  NetworkMembers,
  requireAnchors,
  requireClosedDay,
  showAnchor,
} from './anchor-answer.ts';
import { findProofFaults, findTable, ProofInput, toRowDay } from './anchor-input.ts';
import answer from './examples/anchor-proof.json' with { type: 'json' };
import { requirePlan } from './listing-input.ts';
import { type Answer, type Context, defineOperation, type InputContext } from './operation.ts';

const Hashes = Type.Array(Type.String());
const Output = Type.Object({
  evaluated_at: InstantText,
  day: Type.String(),
  ...NetworkMembers,
  schema_version: Type.Integer(),
  layer: Type.String(),
  table: Type.String(),
  row: Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean(), Type.Null()])),
  canonical: Type.String(),
  leaf_hash: Type.String(),
  index: Type.Integer(),
  rows: Type.Integer(),
  path: Hashes,
  partition: Type.Object({
    root: Type.String(),
    leaf: Type.String(),
    index: Type.Integer(),
    count: Type.Integer(),
    path: Hashes,
  }),
  day_root: Type.String(),
  anchor: Anchor,
  verify: Type.String(),
});

/** The venue in catalogue spelling; null when it is not to be read. */
const understand = ({ venue }: Partial<ProofInput>, { live }: InputContext): string | null => {
  if (venue === undefined) return null;
  const { codes } = findDirectory(live);
  const spelt = findSpelledCode('venue', venue, codes);
  if (spelt === undefined) throw new ServiceError([{ ...makeUnknownCode('venue', venue, codes), path: '/venue' }]);
  return spelt;
};

type RowQuestion = ReturnType<typeof readParameters>;

/** Reads parameters that have been checked. */
const readParameters = (input: ProofInput, venue: string | null) => {
  const table = findTable(input.layer);
  const at = parseInstant(input.at);
  if (table === undefined || at === null || venue === null)
    throw new Error('a proof with faulty parameters is refused before');
  const seq = input.seq ?? null;
  const isTraded = findKind(table) === 'candles' && seq === null;
  return {
    ...{ table, at, venue, seq },
    venueSymbol: input.symbol,
    id: input.id ?? null,
    priceType: input.price_type ?? (isTraded ? 'trade' : null),
    dayName: toRowDay(at, findKind(table)),
  };
};

/** Refusals of what the plan does not include (E-01 step 8). */
const listRefusals = async (asked: RowQuestion, context: Context): Promise<ApiError[]> => {
  const { venue, venueSymbol, dayName: day, table } = asked;
  const plan = requirePlan(context);
  const versions = context.live.venue(venue)?.listings.get(venueSymbol)?.versions ?? [];
  const named = { venue, venueSymbol, layer: table.layer, day };
  const instrument =
    versions.at(-1)?.record.values.instrument ?? (await context.anchors?.days.leavesOf(named))?.instrument ?? null;
  const scope = { plan, choice: context.scopeOf(plan) };
  return findRowRefusals({ venue, layer: table.layer, instrument }, scope, { venue: '/venue', instrument: '/symbol' });
};

const describePartition = (
  { partition, partitionIndex, partitionPath }: Proof,
  { partitions }: ClosedDay,
): JsonValue => ({
  root: partition.root,
  leaf: partition.leaf,
  index: partitionIndex,
  count: partitions.length,
  path: partitionPath,
});

const run = async (input: ProofInput, context: Context, venue: string | null): Promise<Answer> => {
  const { evaluatedAt } = context;
  const asked = readParameters(input, venue);
  throwAll(await listRefusals(asked, context));
  const anchors = requireAnchors(context);
  const day = await requireClosedDay(asked.dayName, anchors, evaluatedAt);
  const proof = await anchors.prove({ ...asked, day, evaluatedAt });
  const { cells, canonical, leaf, index } = proof.row;
  const { table } = asked;
  return {
    body: {
      evaluated_at: formatInstant(evaluatedAt),
      day: day.day,
      ...describeNetwork(day),
      schema_version: day.schemaVersion,
      layer: table.layer,
      table: table.table,
      row: Object.fromEntries(table.columns.map(({ name }, place) => [name, cells[place] ?? null])),
      canonical,
      leaf_hash: leaf.toString('hex'),
      index,
      rows: proof.partition.rows,
      path: proof.path,
      partition: describePartition(proof, day),
      day_root: day.root,
      anchor: showAnchor(day),
      verify: anchors.verifyUrl,
    },
    numberFormat: 'json',
  };
};

export const anchorProof = defineOperation({
  name: 'anchor_proof',
  method: 'GET',
  path: '/v2/anchors/proof',
  key: 'required',
  class: 'history',
  price: null,
  tool: true,
  cacheS: null,
  summary: 'Proof that one row was stored and is unchanged.',
  input: ProofInput,
  output: Output,
  codes: [...SCOPE_CODES, ...(['DQL_UNKNOWN_VENUE', 'ANCHOR_NOT_FOUND', 'ANCHOR_CHANGED'] as const)],
  example: {
    question: 'Was this funding rate held on the day it was posted, and is it unchanged?',
    input: { venue: 'binance', symbol: 'BTCUSDT', layer: 'funding', at: '2026-01-10T12:00:00Z' },
    output: answer,
  },
  refine: findProofFaults,
  understand,
  run,
});
