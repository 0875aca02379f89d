// Names of lanes, cut to the width of their place: compressed letters cannot be read.

type Fits = (text: string) => boolean;

/** Letters of a venue that no other of these names begins with, three at least: `bitg` and `bitm`. */
const shortenVenue = (name: string, names: readonly string[]): string => {
  const findVenue = (one: string): string => one.split(' ')[0] ?? '';
  const venue = findVenue(name);
  const others = names.map(findVenue).filter((other) => other !== venue);
  let length = 3;
  while (length < venue.length && others.some((other) => other.startsWith(venue.slice(0, length)))) length += 1;
  return venue.slice(0, length);
};

/** `binance BTCUSD_PERP` to `bin…USD_PERP`: symbols begin alike more often than they end alike. */
const keepEnd = (name: string, venue: string, fits: Fits): string => {
  const cut = (from: number): string => `${venue}…${name.slice(from)}`;
  let from = venue.length + 1;
  while (from < name.length - 1 && !fits(cut(from))) from += 1;
  return cut(from);
};

/** `deribit BTC_USDC-PERPETUAL` to `der BTC_USDC-P…`. */
const keepBeginning = (name: string, venue: string, fits: Fits): string => {
  const symbol = name.split(' ')[1] ?? '';
  const whole = `${venue} ${symbol}`;
  if (fits(whole)) return whole;
  let length = symbol.length - 1;
  const cut = (): string => `${venue} ${symbol.slice(0, length)}…`;
  while (length > 1 && !fits(cut())) length -= 1;
  return cut();
};

/** Of a name that is too long the end is kept, or the beginning where two names would read alike. */
export const shortenNames = (names: readonly string[], fits: Fits): readonly string[] => {
  const cut = names.map((name) => (fits(name) ? name : keepEnd(name, shortenVenue(name, names), fits)));
  return names.map((name, i) => {
    const own = cut[i] as string;
    const isAlone = own === name || cut.indexOf(own) === cut.lastIndexOf(own);
    return isAlone ? own : keepBeginning(name, shortenVenue(name, names), fits);
  });
};
