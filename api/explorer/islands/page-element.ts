// Elements of the page that an island needs.

/** Throws an Error for an element that the page does not have. */
export const findElement = <E extends HTMLElement = HTMLElement>(id: string): E => {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found as E;
};
