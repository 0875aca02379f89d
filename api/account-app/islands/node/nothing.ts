// The empty replacement of files, their addresses and compressed bytes in pages: a program that is bundled for a page must not use them.

const refuseAbsent = (): never => {
  throw new Error('this is not there in a page');
};

export const closeSync = refuseAbsent;
export const openSync = refuseAbsent;
export const readFileSync = refuseAbsent;
export const realpathSync = refuseAbsent;
export const fileURLToPath = refuseAbsent;
export const zstdDecompressSync = refuseAbsent;
