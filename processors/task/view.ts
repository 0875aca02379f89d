// The type of state that is handed out: readonly to its leaves.
type Plain = string | number | boolean | bigint | null | undefined;
/** A part of the state as it is handed out, readonly to its leaves: only the store (`store.ts`) gives out what may be changed. */
export type View<T> = unknown extends T
  ? T
  : T extends Plain
    ? T
    : T extends Map<infer K, infer V>
      ? ReadonlyMap<K, View<V>>
      : T extends Set<infer V>
        ? ReadonlySet<V>
        : { readonly [Name in keyof T]: View<T[Name]> };
