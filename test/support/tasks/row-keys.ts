// The key by which the store tells rows apart.
import { TABLES } from '../../../processors/sinks/tables.ts';
import type { Row } from '../../../schemas/topics.ts';

export const formatRowKey = ({ table, at, texts, instants, integers, flags }: Row): string => {
  const spec = TABLES[table];
  if (spec === undefined) throw new Error(`no table ${table}`);
  const cells: Readonly<Record<string, unknown>> = {
    ...texts,
    ...instants,
    ...integers,
    ...flags,
    [spec.designated]: at,
  };
  return [table, ...spec.keys.map((key) => String(cells[key]))].join('|');
};
