// Buttons that sign in with a passkey, prove one again or add one; hidden where the browser has no passkeys.
import { browserSupportsWebAuthn, startAuthentication, startRegistration } from '@simplewebauthn/browser';

type Options = { readonly optionsJSON: never };

/** Rejects with the site's own message when it refuses. */
const post = async (url: string, body: unknown = {}): Promise<Record<string, unknown>> => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  const json = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  if (!answer.ok)
    throw new Error(
      (json['errors'] as { message: string }[] | undefined)?.[0]?.message ?? 'The site does not respond.',
    );
  return json;
};

/** `data-to` takes the answer, `data-to` + `/options` gives the challenge unless the page holds it. */
const run = async ({ dataset }: HTMLElement): Promise<void> => {
  const { to = '', next = '/', adds, options: given } = dataset;
  const optionsJSON = given === undefined ? await post(`${to}/options`) : JSON.parse(given);
  const response =
    adds === undefined
      ? await startAuthentication({ optionsJSON } as Options)
      : await startRegistration({ optionsJSON } as Options);
  const name = adds === undefined ? undefined : (document.getElementById(adds) as HTMLInputElement | null)?.value;
  const answer = await post(to, { response, name, next });
  location.assign(typeof answer['next'] === 'string' ? answer['next'] : next);
};

const describeError = (error: unknown): string => {
  const { name, message } = error as Error;
  if (name === 'NotAllowedError') return 'No passkey was received. Try again, or sign in another way.';
  if (name === 'InvalidStateError') return 'This device has a passkey of this account already.';
  return message;
};

for (const box of document.querySelectorAll<HTMLElement>('[data-passkey]')) {
  const button = box.querySelector('button');
  const faultElement = box.querySelector<HTMLElement>('.passkey-fault');
  if (button === null || faultElement === null || !browserSupportsWebAuthn()) continue;
  box.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    faultElement.hidden = true;
    try {
      await run(box);
    } catch (error) {
      faultElement.textContent = describeError(error);
      faultElement.hidden = false;
      button.disabled = false;
    }
  });
}
