// Closed days and the progress of their anchors, as a table.
import type { Pool } from 'pg';

type Row = {
  readonly day: string;
  readonly root: string;
  readonly partitions: string;
  readonly rows: string;
  readonly status: string;
  readonly network: string | null;
  readonly binding: boolean | null;
  readonly contract: string | null;
  readonly tx: string | null;
  readonly block: string | null;
  readonly anchored_at: Date | null;
  readonly problem: string | null;
};

const DAYS = `select to_char(d.day, 'YYYY-MM-DD') as day, d.day_root as root, count(p.*)::text as partitions,
  coalesce(sum(p.rows), 0)::text as rows, d.status, d.network, d.binding, d.contract, d.tx_hash as tx, d.block::text as block,
  d.anchored_at, d.problem
from anchor_days d left join anchor_partitions p using (day) group by d.day order by d.day`;
const HEAD = ['day', 'root', 'tables', 'rows', 'status', 'network', 'block', 'anchored at (UTC)', 'transaction'];

const shortenHash = (hash: string | null): string => (hash === null ? '-' : `${hash.slice(0, 12)}…`);

const toCells = ({ network, binding, anchored_at, ...row }: Row): string[] => [
  ...[row.day, shortenHash(row.root), row.partitions, row.rows, row.status],
  network === null ? '-' : `${network}${binding === true ? '' : ' (not binding)'}`,
  row.block ?? '-',
  anchored_at === null ? '-' : anchored_at.toISOString().slice(0, 19).replace('T', ' '),
  row.tx ?? '-',
];

const toTable = (lines: readonly (readonly string[])[]): string[] => {
  const widths = HEAD.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
};

/** Oldest first; a line below the table names the obstacle of a day. */
export const listAnchors = async (database: Pool): Promise<string> => {
  const { rows } = await database.query<Row>(DAYS);
  if (rows.length === 0) return 'no day is closed yet';
  const contracts = [...new Set(rows.flatMap(({ contract }) => contract ?? []))];
  const problems = rows.flatMap(({ day, problem }) => (problem === null ? [] : [`${day}: ${problem}`]));
  return [
    ...toTable([HEAD, ...rows.map(toCells)]),
    ...contracts.map((contract) => `contract ${contract}`),
    ...problems,
  ].join('\n');
};
