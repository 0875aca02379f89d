// Which addresses a client may be sent back to (interface, Tool-server sign-in): https, or http on a loopback address.

/** Ports of loopback addresses vary: a program takes a free one each time. */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1)(:\d{1,5})?(\/|\?|$)/;
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]', '0.0.0.0']);
const LONGEST = 2_048;
/** Visible ASCII without a backslash: what browsers leave out or turn may not mean the same to everybody. */
const CLEAR = /^[\x21-\x5b\x5d-\x7e]+$/;

/** Looks at the text as it was sent, so that no other spelling of a loopback address passes. */
export const isRedirectAllowed = (text: string): boolean => {
  if (text.length > LONGEST || !CLEAR.test(text) || text.includes('#') || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' ? !LOOPBACK_HOSTS.has(hostname) && !hostname.startsWith('127.') : LOOPBACK.test(text);
};

/** The code goes to a program on the user's own machine, whichever listens there. */
export const isLoopbackRedirect = (text: string): boolean => LOOPBACK.test(text);
