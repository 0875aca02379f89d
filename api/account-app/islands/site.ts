// On every page: buttons that copy a text, and forms that are sent once.

/** Buttons for copying are hidden until this script runs: without it they could do nothing. */
const enableCopying = (button: HTMLButtonElement): void => {
  const source = document.getElementById(button.dataset['copy'] ?? '');
  if (source === null) return;
  const label = button.textContent ?? '';
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(source.textContent ?? '');
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = label;
    }, 1_500);
  });
};

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) enableCopying(button);

/** A second press of the button sends nothing. */
document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  if (event.defaultPrevented) return;
  if (form.dataset['sent'] === 'yes') event.preventDefault();
  form.dataset['sent'] = 'yes';
});

/** A page that is restored from the browser's history may be sent again. */
addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form')) delete form.dataset['sent'];
});

for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-local]')) {
  time.title = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
}
