// What pages have in place of files, their addresses and packed bytes: nothing. A program that is bundled for a page must not reach for them.

const refuseAbsent = (): never => {
  throw new Error('this is not there in a page');
};

export const closeSync = refuseAbsent;
export const openSync = refuseAbsent;
export const readFileSync = refuseAbsent;
export const realpathSync = refuseAbsent;
export const fileURLToPath = refuseAbsent;
export const zstdDecompressSync = refuseAbsent;
