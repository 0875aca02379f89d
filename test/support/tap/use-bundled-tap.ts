/** Loaded before a test file (`node --import`): its `tap` is the bundle. */
import { registerHooks } from 'node:module';
import { BUNDLED_TAP } from './bundled-tap.ts';

const bundle = { url: BUNDLED_TAP.href, format: 'module', shortCircuit: true };

registerHooks({ resolve: (name, context, next) => (name === 'tap' ? bundle : next(name, context)) });
