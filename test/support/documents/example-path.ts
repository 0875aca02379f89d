// The path of an endpoint for the input of its example.

/** A path with its parameters filled in. */
export const fillPath = (path: string, input: Readonly<Record<string, unknown>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(input[name])));
