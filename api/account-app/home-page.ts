// The start page: what the service is and how to begin; redirects signed-in users to their keys.
import { html } from 'htm/preact';
import { isOpen } from './guards.ts';
import { SITE_NAME, sendPage } from './shell.ts';
import type { SiteModule } from './site.ts';

export const homePage: SiteModule = {
  name: 'home',
  register: (app, site) => {
    app.get('/', (request, reply) => {
      if (request.session !== null) return reply.redirect('/keys', 303);
      return sendPage(
        site,
        { request, reply },
        {
          title: 'Perpetual-futures market data',
          description:
            'Perpetual-futures market data that says how old each number is, who said it and whether it still holds.',
          body: html`<div class="hero">
          <h1>Market data that says how old it is</h1>
          <p class="lead">
            ${SITE_NAME} collects what perpetual-futures venues publish and serves each number with its age, its source and its validity.
            What is not current is withheld with the reason.
          </p>
          <p class="actions">
            <a class="button" href="/sign-up">Create a free account</a>
            ${isOpen(request, site) ? html`<a class="button quiet" href="/explore">Explore without an account</a>` : html`<a class="button quiet" href="/sign-in">Sign in</a>`}
            <a class="button quiet" href="/docs">Read the documentation</a>
          </p>
        </div>`,
        },
      );
    });
  },
};
