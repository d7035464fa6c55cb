import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The build of this repository that the console uses; `scripts/build.mjs` names one in the making. */
const dist = process.env.REDUCERDB_DIST ?? fileURLToPath(new URL('../dist', import.meta.url));
/** With `npm run console:dev`, the service that answers the page. */
const service = process.env.REDUCERDB_URL ?? 'http://127.0.0.1:3000';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  plugins: [react()],
  resolve: {
    alias: [
      { find: /^reducerdb\/(client|react)$/, replacement: `${dist}/$1/index.js` },
      { find: /^reducerdb\/types\/(.+)$/, replacement: `${dist}/$1.js` },
    ],
    dedupe: ['react', 'react-dom'],
  },
  build: {
    target: 'es2022',
    outDir: `${dist}/console`,
    emptyOutDir: true,
    manifest: 'manifest.json',
    // The page's policy is `default-src 'self'`: no `data:` addresses, no inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: { '/v1': { target: service, ws: true, changeOrigin: true } },
  },
});
