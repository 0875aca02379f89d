// The readonly type of state outside the store.
type Plain = string | number | boolean | bigint | null | undefined | (() => unknown);
/** A part of the state, readonly to its leaves: only the store (`store.ts`) returns mutable state. */
export type View<T> = unknown extends T
  ? T
  : T extends Plain
    ? T
    : T extends Map<infer K, infer V>
      ? ReadonlyMap<K, View<V>>
      : T extends Set<infer V>
        ? ReadonlySet<V>
        : { readonly [Name in keyof T]: View<T[Name]> };
