// What pages have in place of files, their addresses and packed bytes: nothing. A program that is bundled for a page must not reach for them.

const absent = (): never => {
  throw new Error('this is not there in a page');
};

export const closeSync = absent;
export const openSync = absent;
export const readFileSync = absent;
export const realpathSync = absent;
export const fileURLToPath = absent;
export const zstdDecompressSync = absent;
