// The check of a webhook's signature, as its receiver makes it (AG-06).
import { createHmac, timingSafeEqual } from 'node:crypto';

const SIGNATURE = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/;

type Received = {
  readonly secret: string;
  readonly body: string;
  /** The receiver's clock, and how far the signature's may differ from it. */
  readonly seconds: number;
  readonly withinS: number;
};

/** Whether the signature was made with the secret for this body, within `withinS` of `seconds`. */
export const isSignedWebhook = (signature: string, { secret, body, seconds, withinS }: Received): boolean => {
  const [, made = '', mac = ''] = SIGNATURE.exec(signature) ?? [];
  if (made === '' || Math.abs(seconds - Number(made)) > withinS) return false;
  const wanted = createHmac('sha256', secret).update(`${made}.${body}`).digest();
  return timingSafeEqual(wanted, Buffer.from(mac, 'hex'));
};
