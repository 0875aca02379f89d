// Members that have a value: readings and rows have no others.

export const keepPresent = <T>(members: Readonly<Record<string, T | null>>): Record<string, T> => {
  const kept: Record<string, T> = {};
  for (const [name, value] of Object.entries(members)) if (value !== null) kept[name] = value;
  return kept;
};
