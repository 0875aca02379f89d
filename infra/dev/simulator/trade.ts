// One trade of the simulated market.

export type Trade = {
  readonly id: number;
  readonly price: number;
  readonly qty: number;
  readonly buyerIsMaker: boolean;
  readonly atMs: number;
  /** The taker was forced. */
  readonly isLiquidation: boolean;
};
