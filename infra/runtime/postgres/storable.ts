// Texts that PostgreSQL cannot hold: to ask for one is an error of the statement, where the answer is that there is none.

/** False for a text with a zero character (PostgreSQL, section 8.3) or a lone surrogate, which no UTF-8 has and `jsonb` refuses. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Whether every text in a JSON value, names of members too, can be held. */
export const isStorableJson = (value: unknown): boolean => {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorableJson(member));
};
