// Plain text in columns: a heading, a rule, rows.

/** `right` names the right-aligned columns. */
export const renderColumns = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number>,
): string => {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        right.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [line(head), rule, ...rows.map(line)].join('\n');
};
