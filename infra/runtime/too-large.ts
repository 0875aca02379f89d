// Handles the connection after the refusal of a body that is too large.

/** The part of a Fastify reply that is used here. */
type Refusal = { readonly removeHeader: (name: string) => unknown };

/**
 * Fastify closes the connection with a 413: a client that is still sending would lose the answer. The rest is read and dropped instead, as after every
 * other refusal (D-693).
 */
export const keepConnection = (reply: Refusal, status: number | undefined): void => {
  if (status === 413) reply.removeHeader('connection');
};
