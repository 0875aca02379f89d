// Changes for users: entries of CHANGELOG.md, as JSON and as an Atom feed (VER-02).

type ChangeKind = 'added' | 'changed' | 'deprecated' | 'removed' | 'data';
export type Change = {
  readonly date: string;
  readonly kind: ChangeKind;
  /** One sentence or more, in Markdown. */
  readonly text: string;
  /** Paths of the API that it names, each once. */
  readonly endpoints: readonly string[];
};

const KINDS: readonly string[] = ['added', 'changed', 'deprecated', 'removed', 'data'];
const ENDPOINT = /\/v2\/[a-z_{}/]*[a-z_}]/g;

/** Entries, newest day first, as the file has them within a day. Throws on a line that is no entry: the file is ours. */
export const parseChangelog = (text: string): readonly Change[] => {
  const changes: Change[] = [];
  let date = '';
  for (const line of text.split('\n')) {
    const heading = /^## (\d{4}-\d{2}-\d{2})$/.exec(line)?.[1];
    const entry = /^- (\w+): (.+)$/.exec(line);
    if (heading !== undefined) date = heading;
    else if (entry !== null) {
      const [, kind = '', words = ''] = entry;
      if (!KINDS.includes(kind))
        throw new Error(`CHANGELOG.md: "${kind}" is not a kind of entry; use ${KINDS.join(', ')}`);
      changes.push({ date, kind: kind as ChangeKind, text: words, endpoints: [] });
    } else if (/^ {2}\S/.test(line) && changes.length > 0) {
      const last = changes.pop() as Change;
      changes.push({ ...last, text: `${last.text} ${line.trim()}` });
    }
  }
  const whole = changes.map((change) => ({ ...change, endpoints: [...new Set(change.text.match(ENDPOINT) ?? [])] }));
  return [...Map.groupBy(whole, ({ date }) => date)].sort(([a], [b]) => (a < b ? 1 : -1)).flatMap(([, ofDay]) => ofDay);
};

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Its place within its day does not change when a day gets more entries: they are added at the end. */
const listEntryIds = (changes: readonly Change[], host: string): readonly string[] => {
  const seen = new Map<string, number>();
  return changes.map(({ date }) => {
    const place = (seen.get(date) ?? 0) + 1;
    seen.set(date, place);
    return `tag:${host},${date}:change-${place}`;
  });
};

/** An Atom feed (RFC 4287); `siteUrl` without a slash at its end. */
export const renderAtom = (changes: readonly Change[], siteUrl: string): string => {
  const { hostname } = new URL(siteUrl);
  const ids = listEntryIds(changes, hostname);
  const entries = changes.map(
    ({ date, kind, text }, i) => `  <entry>
    <id>${escapeXml(ids[i] ?? '')}</id>
    <title>${escapeXml(`${kind}: ${text.length > 90 ? `${text.slice(0, 89)}…` : text}`)}</title>
    <updated>${date}T00:00:00Z</updated>
    <category term="${kind}"/>
    <link href="${escapeXml(siteUrl)}/changelog#${date}"/>
    <content type="text">${escapeXml(text)}</content>
  </entry>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>tag:${escapeXml(hostname)},2026-11-21:changelog</id>
  <title>Changes of the market-data service</title>
  <updated>${changes[0]?.date ?? '2026-11-21'}T00:00:00Z</updated>
  <author><name>perp-market-data</name></author>
  <link rel="self" href="${escapeXml(siteUrl)}/changelog.atom"/>
  <link rel="alternate" href="${escapeXml(siteUrl)}/changelog"/>
${entries.join('\n')}
</feed>
`;
};
