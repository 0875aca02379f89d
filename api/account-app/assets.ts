// Scripts and styles of the pages: bundled once at start, named by their content, kept by browsers for ever.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync, stop as stopEsbuild } from 'esbuild';
import type { FastifyInstance } from 'fastify';
import { canUnpack, packAsset } from './packing.ts';

type AssetFiles = Readonly<Record<string, URL>>;
export type Assets = {
  /** The address of a script or a style sheet by its name; throws for a name that no module gave. */
  readonly script: (name: string) => string;
  readonly style: (name: string) => string;
  readonly icon: string;
  readonly serve: (app: FastifyInstance) => void;
};

type Asset = {
  readonly path: string;
  readonly type: string;
  readonly bytes: Buffer;
  /** The same by brotli: scripts are sent in a third of their bytes. */
  readonly packed: Buffer;
};

const PREFIX = '/assets/';
const YEAR_S = 31_536_000;

const nameAsset = (name: string, extension: 'js' | 'css' | 'svg', bytes: Buffer): Asset => {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
  const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
  return {
    path: `${PREFIX}${name}-${hash}.${extension}`,
    type: types[extension],
    bytes,
    packed: packAsset(bytes),
  };
};

const toPagePath = (name: string): string => fileURLToPath(new URL(`./islands/node/${name}.ts`, import.meta.url));
/** Programs for Node that pages run too, as the verifier is one. */
const STAND_INS = {
  inject: [toPagePath('buffer')],
  alias: {
    'node:crypto': toPagePath('crypto'),
    ...Object.fromEntries(['node:fs', 'node:url', 'node:zlib'].map((name) => [name, toPagePath('nothing')])),
  },
};

/** Each file is bundled for itself: islands are small and share nothing worth a request of its own. */
const bundleFiles = (files: AssetFiles, extension: 'js' | 'css'): ReadonlyMap<string, Asset> => {
  const entries = Object.entries(files).map(([name, url]) => ({ out: name, in: fileURLToPath(url) }));
  if (entries.length === 0) return new Map();
  const { outputFiles } = buildSync({
    entryPoints: entries,
    bundle: true,
    ...STAND_INS,
    minify: true,
    write: false,
    outdir: '/',
    format: 'esm',
    target: 'es2022',
    logLevel: 'silent',
  });
  return new Map(
    outputFiles.map(({ path, contents }) => {
      const name = basename(path, `.${extension}`);
      return [name, nameAsset(name, extension, Buffer.from(contents))];
    }),
  );
};

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6e5a"/>
<path d="M6 21h5l4-11 4 14 3-7h4" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

type Bundled = { readonly js: ReadonlyMap<string, Asset>; readonly css: ReadonlyMap<string, Asset> };
/** By their files: several sites of one process have the same, and a bundle takes a second of processor time. */
const bundled = new Map<string, Bundled>();

const bundleOnce = (scripts: AssetFiles, styles: AssetFiles): Bundled => {
  const files = JSON.stringify([scripts, styles]);
  const known = bundled.get(files);
  if (known !== undefined) return known;
  const made = { js: bundleFiles(scripts, 'js'), css: bundleFiles(styles, 'css') };
  // The bundler keeps a process of 70 MB for later calls; no other call runs during a synchronous function.
  void stopEsbuild();
  bundled.set(files, made);
  return made;
};

/** Bundles everything that the modules gave; throws when a file has an error. */
export const buildAssets = (scripts: AssetFiles, styles: AssetFiles): Assets => {
  const { js, css } = bundleOnce(scripts, styles);
  const icon = nameAsset('icon', 'svg', Buffer.from(ICON));
  const byPath = new Map([...js.values(), ...css.values(), icon].map((asset) => [asset.path, asset]));
  const findPath = (kind: ReadonlyMap<string, Asset>, name: string): string => {
    const asset = kind.get(name);
    if (asset === undefined) throw new Error(`no module has an asset "${name}"`);
    return asset.path;
  };
  return {
    script: (name) => findPath(js, name),
    style: (name) => findPath(css, name),
    icon: icon.path,
    serve: (app) => {
      app.get(`${PREFIX}:file`, { config: { isForeign: true } }, (request, reply) => {
        const asset = byPath.get(request.url.split('?')[0] ?? '');
        if (asset === undefined) return reply.callNotFound();
        const isPacked = canUnpack(request);
        if (isPacked) reply.header('content-encoding', 'br');
        return reply
          .header('cache-control', `public, max-age=${YEAR_S}, immutable`)
          .header('vary', 'accept-encoding')
          .type(asset.type)
          .send(isPacked ? asset.packed : asset.bytes);
      });
    },
  };
};
