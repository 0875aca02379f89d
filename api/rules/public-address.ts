// The addresses to which a webhook may be sent: only those of the public internet, regardless of what a name resolves to.
import { Resolver } from 'node:dns/promises';
import { BlockList, isIPv4, isIPv6 } from 'node:net';

export type Address = { readonly address: string; readonly family: 4 | 6 };

/** IANA special-purpose registries: nothing of these is reached over the public internet (RFC 6890 and its additions). */
const CLOSED_4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];
/** Of version 6 only global unicast is open, less the forms of a version 4 address (6to4, Teredo) and documentation. */
const OPEN_6 = ['2000::/3'];
const CLOSED_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const makeList = (subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net = '', prefix] = subnet.split('/');
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
};
const closed4 = makeList(CLOSED_4, 'ipv4');
const open6 = makeList(OPEN_6, 'ipv6');
const closed6 = makeList(CLOSED_6, 'ipv6');

export const isPublicAddress = (address: string): boolean => {
  if (isIPv4(address)) return !closed4.check(address, 'ipv4');
  return isIPv6(address) && open6.check(address, 'ipv6') && !closed6.check(address, 'ipv6');
};

const isLoopback = (address: string): boolean => address === '::1' || /^127\./.test(address);

export type Resolve = (host: string) => Promise<readonly Address[]>;

const toAddresses = (family: 4 | 6, texts: readonly string[]): Address[] =>
  texts.map((address) => ({ address, family }));

/** Names of the machine itself (RFC 6761), which are not resolved by a server. */
const OWN_NAME = /^(?:.+\.)?localhost\.?$/;
const OWN: readonly Address[] = [...toAddresses(4, ['127.0.0.1']), ...toAddresses(6, ['::1'])];
const DNS_TIMES = { timeout: 2_000, tries: 2 } as const;

/**
 * Every address of a host. Servers are asked by sockets of the process: `getaddrinfo` would hold one of its few threads, which also
 * compress answers, for as long as the servers of somebody's name are silent.
 */
export const openResolve = (servers?: readonly string[]): Resolve => {
  const resolver = new Resolver(DNS_TIMES);
  if (servers !== undefined) resolver.setServers(servers);
  return async (host) => {
    const name = host.replace(/^\[(.*)\]$/, '$1');
    if (isIPv4(name)) return toAddresses(4, [name]);
    if (isIPv6(name)) return toAddresses(6, [name]);
    if (OWN_NAME.test(name)) return OWN;
    const [four, six] = await Promise.all([
      resolver.resolve4(name).catch(() => []),
      resolver.resolve6(name).catch(() => []),
    ]);
    return [...toAddresses(4, four), ...toAddresses(6, six)];
  };
};
export const resolveHost: Resolve = openResolve();

/** A host that may not be sent to; the message may be shown to its owner, so it names no address. */
export class ClosedAddressError extends Error {
  override readonly name = 'ClosedAddressError';
}

/** The addresses of a host when all of them are public: one that is not spoils the rest. Throws ClosedAddressError. */
export const listPublicAddresses = async (
  host: string,
  { resolve, allowsLoopback }: { readonly resolve: Resolve; readonly allowsLoopback: boolean },
): Promise<readonly Address[]> => {
  const found = await resolve(host).catch(() => []);
  if (found.length === 0) throw new ClosedAddressError('the host has no address');
  const isOpen = ({ address }: Address): boolean => isPublicAddress(address) || (allowsLoopback && isLoopback(address));
  if (!found.every(isOpen)) throw new ClosedAddressError('the host has an address that is not public');
  return found;
};
