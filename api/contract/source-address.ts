// The part of a network address by which callers without a key are counted.

/** An IPv4 address whole, an IPv6 address by its /64: one host has all addresses of that network. */
export const toSource = (address: string): string => {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter((g) => g !== '');
  const tailGroups = tail.split(':').filter((g) => g !== '');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - tailGroups.length) }, () => '0');
  return [...groups, ...zeros, ...tailGroups].slice(0, 4).join(':');
};
