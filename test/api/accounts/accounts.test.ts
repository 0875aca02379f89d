// Addresses of mail: one form for every way to write one, and none that reads as another (AC-04, D-1050).
import t from 'tap';
import { normaliseEmail } from '../../../api/accounts/accounts.ts';

/** Readers of the output divide lines at more characters than JSON escapes. */
const show = (text: string): string =>
  JSON.stringify(text).replace(/[^ -~]/gu, (one) => `U+${one.codePointAt(0)?.toString(16)}`);

t.test('letters of either case and width are one address', (t) => {
  for (const written of [
    'ann@example.com',
    ' Ann@Example.COM\r\n',
    'ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ',
    'aｎn@example．com',
  ])
    t.equal(normaliseEmail(written), 'ann@example.com', show(written));
  t.equal(normaliseEmail('jürgen@example.com'), 'jürgen@example.com', 'letters of other languages stay');
  t.equal(normaliseEmail('ju\u0308rgen@example.com'), 'jürgen@example.com');
  t.end();
});

t.test('what a mail program could read as a second address, a name or a header is no address', (t) => {
  for (const written of [
    ...['a@example.com,b@example.com', 'a@example.com;b@example.com', 'a@example.com b@example.com'],
    ...['Ann <a@example.com>', '"a"@example.com', 'a(b)@example.com', 'group:a@example.com', 'a@[10.0.0.1]'],
    ...[
      'a@example.com\r\nBcc: b@example.com',
      'a@example.com\nb@example.com',
      'a@example.com\u2028b',
      'a\\@example.com',
    ],
    ...['a@example.com，b@example.com', 'a＜b＞@example.com'],
  ])
    t.equal(normaliseEmail(written), null, show(written));
  t.end();
});

t.test('an address with a character that nobody sees is no address', (t) => {
  const unseen = [
    ...['\0', '\x01', '\x1b', '\x7f', '\x85', '\xad', '\u034f', '\u061c', '\u115f', '\u180e', '\u200b', '\u200d'],
    ...['\u202e', '\u2060', '\u2066', '\u3164', '\ufe0f', '\ufff9', '\ue000', '\u{e0061}', '\ud800'],
    // Letters, marks and symbols that are drawn blank.
    ...['\u2800', '\u{13441}', '\u{13442}', '\u{16fe4}', '\u{1d159}'],
  ];
  for (const one of unseen) {
    for (const written of [`a${one}nn@example.com`, `ann@exam${one}ple.com`, `ann@example.c${one}om`])
      t.equal(normaliseEmail(written), null, show(written));
  }
  t.end();
});
