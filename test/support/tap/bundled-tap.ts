/** Where the bundle of tap is: a folder by whose name tap leaves its own lines out of the stacks of failures, as it does for its packages. */
export const BUNDLED_TAP = new URL('../../../.local/tap/node_modules/@tapjs/tap.mjs', import.meta.url);
