// Which addresses a client may be sent back to (interface, Tool-server sign-in): https, or http on a loopback address.

/** Ports of loopback addresses vary: a program takes a free one each time. */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1)(:\d{1,5})?(\/|\?|$)/;
const OWN_MACHINE: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/**
 * With its host after two slashes: `https:agent.example` names a host to one reader, and a path of the page it stands on to another. A host has no
 * character that ends a directive of the consent page's policy, in which it is named.
 */
const HTTPS = /^https:\/\/([\w.-]+|\[[\da-f:.]+\])(:\d*)?([/?]|$)/i;
const LONGEST = 2_048;
/** Visible ASCII without a backslash: what browsers leave out or turn may not mean the same to everybody. */
const CLEAR = /^[\x21-\x5b\x5d-\x7e]+$/;

/** Looks at the text as it was sent, so that no other spelling of a loopback address passes. */
export const isRedirectAllowed = (text: string): boolean => {
  if (text.length > LONGEST || !CLEAR.test(text) || text.includes('#') || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  // The browser goes there, never this service: https is allowed on any host.
  return HTTPS.test(text) || LOOPBACK.test(text);
};

const withoutPort = (text: string): string => text.replace(LOOPBACK, 'http://$1$3');

/** Whether a client may ask for an address as it is registered: the same text, but for the port of a loopback address (T-08). */
export const isSameRedirect = (registered: string, asked: string): boolean =>
  registered === asked ||
  (LOOPBACK.test(registered) && isRedirectAllowed(asked) && withoutPort(registered) === withoutPort(asked));

/** https on the user's own machine: of the kinds of clients that the provider knows, native ones may not have it. */
export const isOwnHttps = (text: string): boolean => {
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' && OWN_MACHINE.has(hostname);
};

/** The code goes to a program on the user's own machine, whichever listens there. */
export const isLoopbackRedirect = (text: string): boolean => LOOPBACK.test(text) || isOwnHttps(text);
