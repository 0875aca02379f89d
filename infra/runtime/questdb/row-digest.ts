// A digest of the stored rows of one listing, table and day, computed by the store, so that nothing but the digest is read (AN-05).
import { randomBytes } from 'node:crypto';
import { type AnchoredTable, listStored, type StoredColumn } from '../../../schemas/anchored.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { type LeafQuestion, type LeafSource, makeCondition, parseDaySlice } from './leaf-rows.ts';

/**
 * Odd, so that a change of any single number changes the sum for certain; drawn by each process, so that nobody can choose several changes
 * that cancel each other.
 */
const MULTIPLIER = (BigInt(`0x${randomBytes(8).toString('hex')}`) >> 2n) | 1n;

/** 2^62: a product with it is exact. */
const SHIFT = '4611686018427387904.0';
/** No fraction below one has it as its upper 62 bits. */
const NO_FRACTION = 4_611_686_018_427_387_905n;
/** No stored integer has it. */
const NO_INTEGER = -9_223_372_036_854_775_807n;

/** Numbers of columns that are compared as whole numbers. */
const toWholeNumber = (expression: string): string => `coalesce(${expression}, ${NO_INTEGER})`;

/** A double as its whole part and 124 bits of its fraction, which are all its bits unless `isWide`. */
const listDoubleParts = (column: string): string[] => {
  const fraction = `((${column} - ${column}::long) * ${SHIFT})`;
  return [
    `coalesce(${column}::long, 0)`,
    `coalesce(${fraction}::long, ${NO_FRACTION})`,
    `coalesce(((${fraction} - ${fraction}::long) * ${SHIFT})::long, 0)`,
  ];
};

/** Whether a double has bits beyond its parts: it is 9e18 or more, or less than 1e-21 apart from zero. */
const isWide = (column: string): string => `abs(${column}) >= 9.0E18 OR (abs(${column}) < 1.0E-21 AND ${column} <> 0)`;

const listNumbers = ({ stored, kind }: StoredColumn): string[] => {
  if (kind === 'text') return [];
  if (kind === 'boolean') return [`CASE WHEN ${stored} THEN 1 ELSE 0 END`];
  return kind === 'instant' ? [toWholeNumber(`${stored}::long`)] : listDoubleParts(stored);
};

/** The statement over a table's rows that satisfy a condition, without its WHERE. */
const selectDigest = (table: AnchoredTable, stored: string): string => {
  const columns = listStored(table);
  const texts = columns.filter(({ kind }) => kind === 'text').map((column) => column.stored);
  const doubles = columns.filter(({ kind }) => kind === 'figure' || kind === 'integer').map((column) => column.stored);
  const numbers = [toWholeNumber('recorded_at::long'), toWholeNumber('src_offset'), ...columns.flatMap(listNumbers)];
  const row = numbers.reduce((sum, number) => `(${sum}) * ${MULTIPLIER} + ${number}`);
  const wide =
    doubles.length === 0
      ? 'null::string'
      : `CASE WHEN ${doubles.map(isWide).join(' OR ')} THEN concat(${doubles.join(", ' ', ")}) END`;
  // x * (2x + 1) is a permutation of 64-bit integers and not linear: exchanged numbers of two rows change the sum.
  return `SELECT ${[...texts, 'digits', 'wide'].join(', ')}, count(), sum(x * (2 * x + 1)) FROM (
SELECT ${[...texts, 'digits'].join(', ')}, ${wide} wide, ${row} x FROM '${stored}' WHERE `;
};

/** Parts of the day that the store digests at the same time. */
const PARTS = 2;

/**
 * Equal digests are equal rows, except with negligible probability. Rows are grouped by their texts; of each group the digest has the number of
 * rows and the sum, modulo 2^64, of a permutation of 64-bit integers over a polynomial of all numbers of the row. The order of rows does not count.
 * Rejects with the store's own error.
 */
export const digestLeafRows = async ({ questdb, namespace }: LeafSource, question: LeafQuestion): Promise<string> => {
  const { table, listing, day } = question;
  const select = selectDigest(table, toTableName(namespace, table.table));
  const { from, to } = parseDaySlice(day);
  const width = (to - from) / PARTS;
  const parts = Array.from({ length: PARTS }, async (_, at) => {
    const condition = makeCondition(question, { from: from + at * width, to: from + (at + 1) * width });
    const groups = await questdb.query({ text: `${select}${condition})`, values: [listing] });
    return groups.map((group) => JSON.stringify(group)).sort();
  });
  return JSON.stringify(await Promise.all(parts));
};
