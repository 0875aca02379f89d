// Decimal text of the integers the market model counts in (a price of 6180020 with 2 decimals is "61800.20").

/** With all decimals, as Binance prints prices and quantities. */
export function fixed(units: number, decimals: number): string {
  if (decimals === 0) return String(units);
  const digits = String(Math.abs(units)).padStart(decimals + 1, '0');
  const cut = digits.length - decimals;
  return `${units < 0 ? '-' : ''}${digits.slice(0, cut)}.${digits.slice(cut)}`;
}

/** Without insignificant zeros: the spelling N-05 rule 1 serves. */
export function plain(units: number, decimals: number): string {
  let rest = units;
  let places = decimals;
  while (places > 0 && rest % 10 === 0) {
    rest /= 10;
    places -= 1;
  }
  return fixed(rest, places);
}
