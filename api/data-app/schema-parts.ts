// The parts of a schema, for walks over schemas.
import type { Shape } from '../contract/json-schema.ts';

type Members = Readonly<Record<string, Shape>>;

/** Called with a part; `name` is the name of the member, and absent for a part that is not a member. */
type Change = (part: Shape, name?: string) => Shape;

const mapMembers = (members: Members, change: (part: Shape, name: string) => Shape): Members =>
  Object.fromEntries(Object.entries(members).map(([name, part]) => [name, change(part, name)]));

/** A shape with its direct parts changed, members in their order. */
export const withParts = (shape: Shape, change: Change): Shape => {
  const { properties, patternProperties, items, anyOf, allOf } = shape;
  const changeNameless = (part: Shape): Shape => change(part);
  return {
    ...shape,
    ...(properties === undefined ? {} : { properties: mapMembers(properties, change) }),
    ...(patternProperties === undefined ? {} : { patternProperties: mapMembers(patternProperties, changeNameless) }),
    ...(items === undefined ? {} : { items: change(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(changeNameless) }),
    ...(allOf === undefined ? {} : { allOf: allOf.map(changeNameless) }),
  };
};
