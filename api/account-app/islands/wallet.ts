// Signs the shown message with the wallet of this browser (EIP-1193), where there is one.

type Wallet = { readonly request: (asked: { method: string; params?: readonly unknown[] }) => Promise<unknown> };

const { ethereum: wallet } = globalThis as unknown as { readonly ethereum?: Wallet };
const form = document.querySelector<HTMLFormElement>('form[data-wallet]');
const button = form?.querySelector<HTMLButtonElement>('[data-sign]');
const faultElement = form?.querySelector<HTMLElement>('[data-sign-fault]');
const shown = document.getElementById('wallet-message')?.textContent ?? '';

const toHex = (text: string): string =>
  `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;

if (wallet !== undefined && form && button && faultElement) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await wallet.request({ method: 'eth_requestAccounts' });
      const signature = await wallet.request({
        method: 'personal_sign',
        params: [toHex(shown), form.dataset['wallet']],
      });
      const field = form.elements.namedItem('signature') as HTMLInputElement;
      field.value = String(signature);
      form.requestSubmit();
    } catch (error) {
      faultElement.textContent = (error as Error).message ?? 'The wallet did not sign.';
    }
  });
}
