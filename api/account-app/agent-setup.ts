// The instructions that connect an agent's client to the tool server: by a sign-in in the browser, or with a key.
import { html } from 'htm/preact';
import { renderCopyable } from './components.ts';
import type { Content } from './shell.ts';
import type { SiteUrls } from './site.ts';

type Setup = { readonly id: string; readonly client: string; readonly hint: string; readonly text: string };

const withKey = (mcp: string, key: string): readonly Setup[] => [
  {
    id: 'claude-code',
    client: 'Claude Code',
    hint: 'Run this in a terminal.',
    text: `claude mcp add --transport http perp ${mcp} --header "Authorization: Bearer ${key}"`,
  },
  {
    id: 'cursor',
    client: 'Cursor',
    hint: 'Put this into .cursor/mcp.json.',
    text: JSON.stringify({ mcpServers: { perp: { url: mcp, headers: { Authorization: `Bearer ${key}` } } } }, null, 2),
  },
  {
    id: 'vs-code',
    client: 'VS Code',
    hint: 'Put this into .vscode/mcp.json.',
    text: JSON.stringify(
      { servers: { perp: { type: 'http', url: mcp, headers: { Authorization: `Bearer ${key}` } } } },
      null,
      2,
    ),
  },
];

/** Null where there is no tool server. */
export const renderAgentSetup = ({ mcp }: SiteUrls, key: string): Content =>
  mcp === null
    ? null
    : html`<section aria-labelledby="agents">
        <h2 id="agents">Give it to an agent</h2>
        <p>
          The same data as tools (MCP) at <code>${mcp}</code>. A client that can open a browser needs no key: give it this address alone and
          press Allow.
        </p>
        ${withKey(mcp, key).map(
          ({ id, client, hint, text }, index) =>
            html`<details open=${index === 0}>
              <summary>${client}</summary>
              <p class="muted">${hint}</p>
              ${renderCopyable(`setup-${id}`, text, { wraps: true })}
            </details>`,
        )}
      </section>`;
