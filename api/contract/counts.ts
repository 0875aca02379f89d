// Counts in sentences for people: one of a thing is not several.

/** `1 stream`, `2 streams`: nouns whose plural ends in s alone. */
export const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
