// Content negotiation follows weights and the most specific range, as RFC 9110 (section 12.5) has them.
import t from 'tap';
import { chooseMediaType, isCodingTaken } from '../../../api/contract/negotiation.ts';

t.test('the media type that is liked best, by the most specific range of each', (t) => {
  const pages = ['text/html', 'text/markdown'] as const;
  for (const [accept, chosen] of [
    [undefined, undefined],
    ['', undefined],
    ['image/png', undefined],
    ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', 'text/html'],
    ['text/markdown', 'text/markdown'],
    ['text/markdown, text/html, */*', 'text/markdown'],
    ['text/html, text/markdown', 'text/html'],
    ['text/markdown;q=0.1, text/html', 'text/html'],
    ['text/markdown;q=0, text/*', 'text/html'],
    ['text/html;q=0.5, text/markdown;q=0.9', 'text/markdown'],
    ['TEXT/MARKDOWN; charset=utf-8; Q=0.4, text/html;q=0.3', 'text/markdown'],
    ['text/markdown;q=x', undefined],
    [',;q=,*', undefined],
  ] as const)
    t.equal(chooseMediaType(accept, pages), chosen, String(accept));
  t.end();
});

t.test('a content coding is used where it is taken', (t) => {
  for (const [header, taken] of [
    [undefined, false],
    ['gzip, deflate, br, zstd', true],
    ['br;q=0.1', true],
    ['br;q=0', false],
    ['br;q=0, *', false],
    ['gzip;q=1, *;q=0.5', true],
    ['*;q=0', false],
    ['identity', false],
    ['x-br', false],
  ] as const)
    t.equal(isCodingTaken(header, 'br'), taken, String(header));
  t.end();
});
