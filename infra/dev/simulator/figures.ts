// Decimal text of the integers in the market model (a price of 6180020 with 2 decimals is "61800.20").

/** Decimals of index, mark and funding rate in the model; a listing prints as many or fewer. */
export const FINE = 8;

/** With all decimals, as venues print prices and quantities. Decimals below zero count tens, hundreds, … */
export function formatFixed(units: number, decimals: number): string {
  if (decimals <= 0) return String(units * 10 ** -decimals);
  const digits = String(Math.abs(units)).padStart(decimals + 1, '0');
  const cut = digits.length - decimals;
  return `${units < 0 ? '-' : ''}${digits.slice(0, cut)}.${digits.slice(cut)}`;
}

/** Without insignificant zeros: the canonical form of N-05 rule 1. */
export function formatPlain(units: number, decimals: number): string {
  let rest = units;
  let places = decimals;
  while (places > 0 && rest % 10 === 0) {
    rest /= 10;
    places -= 1;
  }
  return formatFixed(rest, places);
}

/** Without insignificant zeros but with a decimal, as venues print floats: "105055.0", "0.1428". */
export function formatFloat(units: number, decimals: number): string {
  const text = formatPlain(units, decimals);
  return text.includes('.') ? text : `${text}.0`;
}

/** A figure in units of 10^-8, rounded to the decimals its venue prints. */
export function quantise(units: number, decimals: number): number {
  const step = 10 ** (FINE - decimals);
  return Math.round(units / step) * step;
}

/** Text of a quantised figure with the decimals its venue prints. */
export function formatFine(units: number, decimals: number): string {
  return formatFixed(units / 10 ** (FINE - decimals), decimals);
}
