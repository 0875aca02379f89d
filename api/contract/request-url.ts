// The target of a request, divided and decoded as the router does it, so that every check of the address agrees with the route that is taken.

/** `http://host/path` is the path of a request too (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/i;

type Target = { readonly path: string; readonly query: string };

const divide = (url: string): Target => {
  const target = url.replace(ORIGIN, '');
  const at = target.search(/[?#]/);
  return at === -1 ? { path: target, query: '' } : { path: target.slice(0, at), query: target.slice(at + 1) };
};

/** Escapes of the characters that divide an address stay, as in the router: `%2F` is no slash. A malformed escape stays too. */
const decodeSegment = (segment: string): string => {
  try {
    return decodeURI(segment.replaceAll('%25', '%2525'));
  } catch {
    return segment;
  }
};

/** The path as the router compares it with its routes. */
export const readPath = (url: string): string => {
  const { path } = divide(url);
  return path.includes('%') ? path.split('/').map(decodeSegment).join('/') : path;
};

/** The path as it was sent. */
export const readSentPath = (url: string): string => divide(url).path;

/** Everything behind the path, as it was sent. */
export const readQueryText = (url: string): string => divide(url).query;

/** Its parameters: repeats are seen, nothing throws. */
export const readQuery = (url: string): URLSearchParams => new URLSearchParams(readQueryText(url));
