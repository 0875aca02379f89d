// GET /v2/anchors/{day}: root and partitions of a closed day, and how far its posting is (AN-01).
import Type, { type Static } from 'typebox';
import type { ApiError } from '../../schemas/errors.ts';
import { formatInstant, LOOSE_DAY_FORM } from '../../schemas/instants.ts';
import { InstantText } from '../contract/parameters.ts';
import {
  Anchor,
  describeNetwork,
  NetworkMembers,
  requireAnchors,
  requireClosedDay,
  showAnchor,
} from './anchor-answer.ts';
import { findDayFaults } from './archive-input.ts';
import answer from './examples/anchor-day.json' with { type: 'json' };
import { type Answer, type Context, defineOperation } from './operation.ts';

const Input = Type.Object(
  {
    day: Type.String({
      pattern: LOOSE_DAY_FORM,
      description: 'UTC day, with or without dashes.',
      examples: ['2026-01-10', '20260110'],
    }),
  },
  { additionalProperties: false },
);
type Input = Static<typeof Input>;

const Output = Type.Object({
  evaluated_at: InstantText,
  day: Type.String(),
  ...NetworkMembers,
  schema_version: Type.Integer(),
  closed_at: InstantText,
  day_root: Type.String(),
  partitions: Type.Array(
    Type.Object({
      table: Type.String(),
      rows: Type.Integer(),
      root: Type.String(),
      leaf: Type.String(),
      index: Type.Integer(),
    }),
  ),
  anchor: Anchor,
});

/** `20260110` as `2026-01-10`. */
const withDashes = (day: string): string => day.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');

/** Faults quote the text as it was sent (E-05). */
const refine = ({ day }: Partial<Input>): ApiError[] =>
  day === undefined || findDayFaults(withDashes(day), '/day').length === 0 ? [] : findDayFaults(day, '/day');

const run = async ({ day }: Input, context: Context): Promise<Answer> => {
  const { evaluatedAt } = context;
  const closed = await requireClosedDay(withDashes(day), requireAnchors(context), evaluatedAt);
  const { schemaVersion, closedAt, root, partitions } = closed;
  return {
    body: {
      evaluated_at: formatInstant(evaluatedAt),
      day: closed.day,
      ...describeNetwork(closed),
      schema_version: schemaVersion,
      closed_at: formatInstant(closedAt),
      day_root: root,
      partitions: partitions.map(({ table, rows, root, leaf }, index) => ({ table, rows, root, leaf, index })),
      anchor: showAnchor(closed),
    },
    numberFormat: 'json',
  };
};

export const anchorDay = defineOperation({
  name: 'anchor_day',
  method: 'GET',
  path: '/v2/anchors/{day}',
  key: 'open',
  class: 'reference',
  price: null,
  cacheS: null,
  summary: 'Root and partitions of a closed day, and the transaction that posted the root.',
  input: Input,
  output: Output,
  codes: ['ANCHOR_NOT_FOUND'],
  example: {
    question: 'What was posted on the chain for one day?',
    input: { day: '2026-01-10' },
    output: answer,
  },
  refine,
  run,
});
