import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: 'web',
  // Relative addresses: the page is at the root of a host of its own, or below another address.
  base: './',
  build: { outDir: '../dist/web', emptyOutDir: true },
  plugins: [react()],
  // Where the library comes from inside this repository is said in tsconfig.json, once.
  resolve: { tsconfigPaths: true },
});
