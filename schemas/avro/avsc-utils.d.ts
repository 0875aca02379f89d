// The part of avsc that `write-text.ts` replaces; the package has no types for it.
declare module 'avsc/lib/utils.js';
