// The listings that the proof page offers: those with a file of a table on a day, as far as one page of the archive tells.

export type Files = {
  readonly items: readonly { readonly listing: string; readonly layer: string }[];
  readonly page: { readonly next_cursor: string | null };
};

/** Each once, ascending. */
export const listOffered = ({ items }: Files): string[] => [...new Set(items.map(({ listing }) => listing))].sort();

/** How many there are, where the page has all of them. */
export const describeOffered = (files: Files): string => {
  const { length } = listOffered(files);
  return files.page.next_cursor === null
    ? `${length} of this table on this day.`
    : `The first ${length} of this table on this day are offered; any other can be typed.`;
};
