// Names of lanes as their place has room for them. Squeezed letters cannot be read, so a name that is too long is cut.

/** `binance BTCUSD_PERP` to `bin…USD_PERP`: symbols begin alike more often than they end alike. */
const keepEnd = (name: string, fits: (text: string) => boolean): string => {
  const cut = (from: number): string => `${name.slice(0, 3)}…${name.slice(from)}`;
  let from = 4;
  while (from < name.length - 1 && !fits(cut(from))) from += 1;
  return cut(from);
};

/** `deribit BTC_USDC-PERPETUAL` to `der BTC_USDC-P…`. */
const keepBeginning = (name: string, fits: (text: string) => boolean): string => {
  const [venue = '', symbol = ''] = name.split(' ');
  const whole = `${venue.slice(0, 3)} ${symbol}`;
  if (fits(whole)) return whole;
  let length = symbol.length - 1;
  const cut = (): string => `${venue.slice(0, 3)} ${symbol.slice(0, length)}…`;
  while (length > 1 && !fits(cut())) length -= 1;
  return cut();
};

/** Of a name that is too long the end is kept, or the beginning where two names would read alike. */
export const shortenNames = (names: readonly string[], fits: (text: string) => boolean): readonly string[] => {
  const cut = names.map((name) => (fits(name) ? name : keepEnd(name, fits)));
  return names.map((name, i) => {
    const own = cut[i] as string;
    return own === name || cut.indexOf(own) === cut.lastIndexOf(own) ? own : keepBeginning(name, fits);
  });
};
